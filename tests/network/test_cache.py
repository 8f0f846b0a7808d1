"""The caches of target and head hold exactly the rows of the text, whatever was drafted.

A state machine drives `KVCache` against a plain list; then the real loop runs, and after each
cycle both caches are compared with fresh ones that read the text from its beginning.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from networks import CONFIG, TREES, cache_rows, random_drafter, random_head, random_target

from eagle_min import stream
from eagle_min.cache import KVCache
from eagle_min.config import ModelConfig

SMALL = ModelConfig(vocab_size=5, width=8, num_layers=2, num_heads=2, hidden=4, context=8)
CAPACITY = 9
TOLERANCE = 1e-10  # float64, sums taken in another order


def row_content(number: int, num_rows: int = 1) -> np.ndarray:
    """Distinct content for rows number, number + 1, ...: (2, layers, H, rows, D/H)."""
    shape = (2, SMALL.num_layers, SMALL.num_heads, num_rows, SMALL.head_dim)
    places = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    return places / 1000 + np.arange(number, number + num_rows)[:, None]


class CacheMachine(RuleBasedStateMachine):
    """The list holds the content of each row in use; each rule changes list and cache alike."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = KVCache(SMALL, SMALL.num_layers, CAPACITY, torch.zeros(0, dtype=torch.float64))
        self.rows: list[np.ndarray] = []
        self.next_number = 0

    def write(self, num_rows: int) -> np.ndarray:
        content = row_content(self.next_number, num_rows)
        self.next_number += num_rows
        for layer in range(SMALL.num_layers):
            keys, values = self.cache.write(layer, *torch.from_numpy(content[:, layer]))
            seen = [*(row[:, layer] for row in self.rows), *np.split(content[:, layer], num_rows, axis=2)]
            expected = np.concatenate(seen, axis=2)
            assert np.array_equal(keys.numpy(), expected[0]) and np.array_equal(values.numpy(), expected[1])
        return content

    @precondition(lambda self: len(self.rows) < CAPACITY)
    @rule(data=st.data())
    def append(self, data) -> None:
        num_rows = data.draw(st.integers(1, CAPACITY - len(self.rows)))
        content = self.write(num_rows)
        self.cache.advance(num_rows)
        self.rows += np.split(content, num_rows, axis=3)

    @precondition(lambda self: len(self.rows) < CAPACITY)
    @rule()
    def write_without_advance_counts_for_nothing(self) -> None:
        self.write(1)

    @rule(data=st.data())
    def keep(self, data) -> None:
        start = data.draw(st.integers(0, len(self.rows)))
        tail = self.rows[start:]
        chosen = data.draw(st.lists(st.integers(0, len(tail) - 1), unique=True) if tail else st.just([]))
        self.cache.keep(start, chosen)
        self.rows[start:] = [tail[row] for row in chosen]

    @rule(data=st.data())
    def truncate(self, data) -> None:
        length = data.draw(st.integers(0, len(self.rows)))
        self.cache.truncate(length)
        del self.rows[length:]

    @rule(start=st.integers(-2, CAPACITY + 2), excess=st.integers(0, 2), repeated=st.booleans())
    def refused_calls_change_nothing(self, start, excess, repeated) -> None:
        free = CAPACITY - len(self.rows)
        with pytest.raises(ValueError, match=f"at most {CAPACITY}"):
            self.cache.write(0, *torch.from_numpy(row_content(0, free + 1 + excess)[:, 0]))
        with pytest.raises(ValueError, match="between 0 and"):
            self.cache.truncate(len(self.rows) + 1 + excess)
        with pytest.raises(ValueError, match="between 0 and"):
            self.cache.truncate(-1 - excess)
        if not 0 <= start <= len(self.rows):
            with pytest.raises(ValueError, match="first row"):
                self.cache.keep(start, [])
            return
        bad = [0, 0] if repeated and start < len(self.rows) else [len(self.rows) - start + excess]
        with pytest.raises(ValueError, match="rows to keep"):
            self.cache.keep(start, bad)
        with pytest.raises(ValueError, match="rows to keep"):
            self.cache.keep(start, [-1])

    @invariant()
    def cache_equals_the_list(self) -> None:
        self.cache.check_invariants()
        assert self.cache.length == len(self.rows)
        if self.rows:
            assert np.array_equal(cache_rows(self.cache), np.concatenate(self.rows, axis=3))


TestCacheMachine = CacheMachine.TestCase


class Watched:
    """A target or a drafter that lets a test see the session the loop is using."""

    def __init__(self, model) -> None:
        self.model = model

    def __getattr__(self, name: str):
        return getattr(self.model, name)

    def start(self, *arguments):
        self.session = self.model.start(*arguments)
        return self.session


@pytest.mark.parametrize("spoil", ["length beyond the capacity", "length below 0", "a number in the last row"])
def test_broken_invariants_are_noticed(spoil):
    cache = KVCache(SMALL, SMALL.num_layers, CAPACITY, torch.zeros(0, dtype=torch.float64))
    cache.advance(3)
    cache.rows[..., 3:, :] = float("nan")  # rows that are not in use may hold anything
    cache.check_invariants()
    if spoil == "a number in the last row":
        cache.rows[0, 1, 0, 2, 0] = float("inf")
    else:
        cache.rows.zero_()
        cache.length = CAPACITY + 1 if spoil == "length beyond the capacity" else -1
    with pytest.raises(AssertionError):
        cache.check_invariants()


@torch.no_grad()
def fresh_caches(seed: int, text: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of target and head after one pass over `text`: (2, layers, H, T, D/H), and T - 1 rows."""
    target, head = random_target(seed), random_head(seed)
    ids, places = torch.tensor(text), torch.arange(len(text))
    target_cache = KVCache(CONFIG, CONFIG.num_layers, len(text), target.lm_head.weight)
    features = target.features(ids, places, None, target_cache)
    head_cache = KVCache(CONFIG, 1, len(text), target.lm_head.weight)
    head(features[:-1], target.embed(ids[1:]), places[:-1], None, head_cache)
    return cache_rows(target_cache), cache_rows(head_cache)


prompts = st.lists(st.integers(0, CONFIG.vocab_size - 1), min_size=1, max_size=6)


@given(prompts, st.sampled_from([*TREES, "static_sampled"]), st.integers(0, 3), st.sampled_from([0.0, 1.0]))
def test_after_each_cycle_both_caches_equal_those_of_a_fresh_prefill(prompt, kind, seed, temperature):
    target, drafter = Watched(random_target(seed)), Watched(random_drafter(kind, seed))
    text = list(prompt)
    cycles = stream(target, prompt, drafter, max_new_tokens=14, temperature=temperature, seed=seed)
    for number, cycle in enumerate(cycles):
        text += cycle.tokens
        if cycle.finish_reason:
            break  # the last run may have been cut, and its rows need not be
        target_rows, head_rows = fresh_caches(seed, text)
        # the last token was chosen and not yet read
        assert target.session.length == len(text) - 1
        assert np.abs(cache_rows(target.session.cache) - target_rows[:, :, :, :-1]).max() < TOLERANCE
        if number:  # the head learns a cycle at the start of the next one, and drops its tree at once
            known = len(text) - len(cycle.tokens) - 1
            assert drafter.session.cache.length == known
            assert np.abs(cache_rows(drafter.session.cache) - head_rows[:, :, :, :known]).max() < TOLERANCE


@pytest.mark.parametrize("kind", [*TREES, "static_sampled"])
def test_caches_are_compared_after_cycles_that_accept_tokens(kind):
    """The property above would be empty if a random head were never right."""
    lengths = set()
    for seed in range(8):
        cycles = stream(random_target(seed), [1], random_drafter(kind, seed), max_new_tokens=14, temperature=1.0)
        lengths.update(cycle.num_accepted for cycle in cycles)
    assert {0, 1, 2} <= lengths
