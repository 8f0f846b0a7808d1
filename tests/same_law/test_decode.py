"""The loop's bookkeeping: where a text ends and why, what a cycle reports, what is refused.

The stopping rule has an oracle of its own: a long plain text without limits, cut by hand.
"""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from loops import KINDS, TableDrafter, TableTarget, adversarial, loops, random_table
from networks import CONFIG, random_drafter, random_target
from strategies import TableModel, fewer

from eagle_min import generate, stream
from eagle_min.config import TreeConfig
from eagle_min.decode import Reading
from eagle_min.ending import Ending
from eagle_min.tree import DraftTree

SEEDS = ({}, {"seed": 0}, {"seed": 1})
CONTEXT_KINDS = [kind for kind in KINDS if kind != "static_sampled"]
COUNTING = TableModel(((0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, 0, 0, 0), (1, 2, 3, 4)))


def unlimited(loop, seed: int) -> list[int]:
    """Twenty tokens of plain decoding, no stop token, no limit in reach."""
    how = loop.options() | {"max_new_tokens": 20, "stop": (), "seed": seed}
    return generate(TableTarget(loop.world.target, 99), loop.world.history, **how).tokens


def cut(loop, tokens: list[int]) -> tuple[list[int], str]:
    """The stopping rule by hand: the earliest end wins, a stop token before a limit, length before context."""
    room = loop.context - len(loop.world.history)
    ends = [(place + 1, 0, "stop") for place, token in enumerate(tokens) if token in loop.stop]
    ends += [(loop.max_new_tokens, 1, "length"), (room, 2, "context")]
    ends = [end for end in ends if end[2] != "stop" or end[0] <= min(loop.max_new_tokens, room)]
    length, _, reason = min(ends)
    return tokens[:length], reason


@pytest.mark.parametrize("kind", ["plain", *CONTEXT_KINDS])
def test_a_text_is_the_unlimited_one_cut_by_the_stopping_rule(kind):
    @given(loops(kinds=[kind], vocab_size=4, most_new=8, max_nodes=12), st.integers(0, 2**32))
    def check(loop, seed):
        drafter = None if kind == "plain" else loop.drafter()
        result = generate(loop.target(), loop.world.history, drafter, seed=seed, **loop.options())
        assert (result.tokens, result.finish_reason) == cut(loop, unlimited(loop, seed))

    check()


@pytest.mark.parametrize("kind", ["plain", *KINDS])
def test_cycles_add_up_to_the_text(kind):
    """Streamed pieces concatenate; only the last one carries a reason; calls and tau are counted."""

    @fewer(2)
    @given(loops(kinds=[kind], vocab_size=4, most_new=8, max_nodes=12), st.integers(0, 2**32))
    def check(loop, seed):
        target, calls = loop.target(), []
        start = target.start

        def counted_start(*arguments):
            session = start(*arguments)
            read = session.read
            session.read = lambda *arguments: calls.append(1) or read(*arguments)
            return session

        target.start = counted_start
        drafter = None if kind == "plain" else loop.drafter()
        result = generate(target, loop.world.history, drafter, seed=seed, **loop.options())
        pieces = list(stream(loop.target(), loop.world.history, drafter, seed=seed, **loop.options()))
        assert pieces == result.cycles
        assert [token for piece in pieces for token in piece.tokens] == result.tokens
        assert [piece.finish_reason for piece in pieces] == [None] * (len(pieces) - 1) + [result.finish_reason]
        assert result.target_calls == len(calls)
        if len(calls) > 1:
            assert all(piece.tokens for piece in pieces)
            assert result.tau == (len(result.tokens) - 1) / (len(calls) - 1)
        else:
            assert result.tau is None

    check()


@pytest.mark.parametrize("kind", ["plain", *KINDS])
def test_a_cycle_tells_which_tokens_were_drafted(kind):
    @fewer(2)
    @given(loops(kinds=[kind], vocab_size=4, most_new=8, max_nodes=12), st.integers(0, 2**32))
    def check(loop, seed):
        drafter, text = None if kind == "plain" else loop.drafter(), list(loop.world.history)
        for cycle in stream(loop.target(), text, drafter, seed=seed, **loop.options()):
            if cycle.tree is None:
                assert cycle.num_accepted == 0 and cycle.path == ()
            else:
                assert cycle.tree.tokens[0] == text[-1] and cycle.path[0] == 0
                assert [cycle.tree.parents[node] for node in cycle.path[1:]] == list(cycle.path[:-1])
                drafted = [cycle.tree.tokens[node] for node in cycle.path[1:]]
                assert list(cycle.tokens[: cycle.num_accepted]) == drafted
                assert len(drafted) == cycle.num_accepted <= len(cycle.tokens)
                assert len(cycle.tokens) <= len(drafted) + 1
                if cycle.finish_reason is None:
                    assert len(cycle.tokens) == len(drafted) + 1
            text += cycle.tokens
        if drafter is not None:
            assert drafter.num_nodes >= max([1, *(len(tree) for _, tree in drafter.seen)])

    check()


@pytest.mark.parametrize("drafter", [None, "chain"])
@pytest.mark.parametrize(
    ("prompt", "limit", "context", "stop", "tokens", "reason"),
    [
        ([0], 0, 9, (), [], "length"),  # nothing asked for
        ([0], 1, 9, (), [1], "length"),
        ([0], 5, 9, (), [1, 2, 3, 0, 1], "length"),  # in the middle of an accepted run
        ([0], 6, 9, {3}, [1, 2, 3], "stop"),  # in the middle of an accepted run
        ([0], 6, 9, {1}, [1], "stop"),  # the first token of all
        ([0], 3, 9, {3}, [1, 2, 3], "stop"),  # where both coincide the stop token wins
        ([0], 9, 4, (), [1, 2, 3], "context"),  # the last position of the context is filled
        ([0], 3, 4, (), [1, 2, 3], "length"),  # length goes before context
        ([0, 1, 2, 3], 5, 4, (), [], "context"),  # the prompt fills the context
        ([0, 1, 2, 3], 0, 4, (), [], "length"),
        ([0, 1, 2], 5, 4, (), [3], "context"),
    ],
)
def test_ends_of_a_text(drafter, prompt, limit, context, stop, tokens, reason):
    target = CountingTarget(context)
    drafter = drafter and Chain(lambda text: (text[-1] + 1) % 4, 3)
    result = generate(target, prompt, drafter, max_new_tokens=limit, stop=stop)
    assert (result.tokens, result.finish_reason) == (tokens, reason)
    assert bool(result.target_calls) == bool(tokens)


class CountingTarget(TableTarget):
    """Its greedy text is 0 1 2 3 0 1 2 3 ..."""

    def __init__(self, context: int) -> None:
        super().__init__(COUNTING, context)

    def row(self, history):
        return COUNTING.weights(()) * 0 + [int(token == (history[-1] + 1) % 4) for token in range(4)]


class Chain:
    """A drafter that follows `guess(text)`, at most `longest` tokens, and as far as it is allowed."""

    layers = ()

    def __init__(self, guess, longest: int, obedient: bool = True) -> None:
        self.guess, self.longest, self.obedient = guess, longest, obedient
        self.num_nodes = longest + 1

    def start(self, prompt_ids) -> "Chain":
        self.text = [prompt_ids[0]]
        return self

    def learn(self, reading) -> None:
        self.text += reading.following

    def propose(self, root, depth, dice, cycle, sampling) -> DraftTree:
        tokens, size = [root], min(depth, self.longest) if self.obedient else self.longest
        for _ in range(size):
            tokens.append(self.guess([*self.text, *tokens[1:]]))
        return DraftTree(tuple(tokens), tuple(range(-1, size)), (0.0,) * (size + 1))


@given(st.integers(1, 5), st.integers(1, 17))
def test_a_perfect_drafter_gets_its_whole_chain_and_the_bonus_every_cycle(longest, length):
    drafter = Chain(lambda text: (text[-1] + 1) % 4, longest)
    result = generate(CountingTarget(99), [0], drafter, max_new_tokens=length)
    assert result.tokens == [(place + 1) % 4 for place in range(length)]
    assert result.target_calls == 1 + math.ceil((length - 1) / (longest + 1))
    assert all(cycle.num_accepted == longest for cycle in result.cycles[1:-1])


@given(st.integers(1, 5), st.integers(1, 17))
def test_an_always_wrong_drafter_costs_no_call_and_no_token(longest, length):
    drafter = Chain(lambda text: (text[-1] + 2) % 4, longest)
    result = generate(CountingTarget(99), [0], drafter, max_new_tokens=length)
    assert result.tokens == [(place + 1) % 4 for place in range(length)]
    assert result.target_calls == length
    assert all(cycle.num_accepted == 0 for cycle in result.cycles)


class Faulty(Chain):
    """A chain drafter whose tree is spoiled before it is handed over."""

    def __init__(self, changes: dict) -> None:
        super().__init__(lambda text: (text[-1] + 1) % 4, 2)
        self.changes = changes

    def propose(self, *arguments) -> DraftTree:
        """The first tree is (1, 2, 3), a chain."""
        return dataclasses.replace(super().propose(*arguments), **self.changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": (2, 3, 0)}, "root of the draft tree must be the last token chosen, 1, got 2"),
        ({"tokens": (1, 2, 4)}, "tokens of the draft tree must be below 4, got 4"),
        ({"parents": (-1, 2, 0)}, "parent of node 1 must be between 0 and 0, got 2"),
        ({"parents": (-1, 0, 0), "tokens": (1, 2, 2)}, "tokens below node 0 must be distinct"),
        (
            {"tokens": (1, 2, 3, 0), "parents": (-1, 0, 1, 0), "log_confidence": (0.0,) * 4},
            "nodes of the draft tree must be at most 3, got 4",
        ),
    ],
)
def test_a_tree_that_is_none_or_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        generate(CountingTarget(99), [0], Faulty(changes), max_new_tokens=9)


@given(st.integers(1, 6), st.integers(2, 9))
@example(6, 9)
@example(3, 6)
def test_a_draft_deeper_than_the_room_is_refused(longest, length):
    """The drafter does not heed the room it is told: one place less than is left, for the bonus."""
    drafter = Chain(lambda text: (text[-1] + 1) % 4, longest, obedient=False)
    num_whole, left = divmod(length - 1, longest + 1)
    cycles = stream(CountingTarget(99), [0], drafter, max_new_tokens=length)
    for _ in range(1 + num_whole):  # the prefill, and the cycles with room for a whole draft
        next(cycles)
    if left > 1:
        with pytest.raises(ValueError, match=f"depth of the draft tree must be at most {left - 1}, got {longest}"):
            next(cycles)
    else:  # one token is drawn without asking the drafter
        assert [len(cycle.tokens) for cycle in cycles] == [1] * left


def test_perfect_and_adversarial_tables_bound_every_drafter():
    """At temperature 0 on a random table: the perfect chain is never wrong, the adversary never right."""

    @given(st.randoms(use_true_random=False), st.integers(1, 4))
    def check(rng, depth):
        table = random_table(rng, 4)
        config = TreeConfig(num_nodes=depth + 1, depth=depth, top_k=1)
        for draft, accepted in ((table, depth), (adversarial(table), 0)):
            result = generate(TableTarget(table, 99), [0], TableDrafter(draft, "chain", config), max_new_tokens=16)
            assert {cycle.num_accepted for cycle in result.cycles[1:-1]} <= {accepted}

    check()


@given(st.integers(0, 3), st.integers(1, 6))
def test_a_useless_head_never_needs_more_calls_than_plain_decoding(seed, length):
    result = generate(random_target(seed), [1, 2], random_drafter("confidence", seed), max_new_tokens=length)
    assert len(result.tokens) == length and result.target_calls <= length


@pytest.mark.parametrize(
    ("prompt", "change", "message"),
    [
        ([], {}, r"prompt length must be 1 to 40 tokens, got 0"),
        ([0] * 41, {}, r"prompt length must be 1 to 40 tokens, got 41"),
        ([0, CONFIG.vocab_size], {}, r"token ids of the prompt must be between 0 and 5, got \[6\]"),
        ([-1], {}, r"token ids of the prompt must be between 0 and 5, got \[-1\]"),
        ([0], {"max_new_tokens": 2.5}, "max_new_tokens must be an integer of at least 0, got 2.5"),
        ([0], {"max_new_tokens": -1}, "max_new_tokens must be an integer of at least 0, got -1"),
        ([0], {"temperature": -0.1}, r"temperature must be finite and at least 0, got -0\.1"),
        ([0], {"temperature": math.inf}, "temperature must be finite and at least 0, got inf"),
        ([0], {"temperature": math.nan}, "temperature must be finite and at least 0, got nan"),
        ([0], {"top_k": 0}, "top_k must be at least 1, got 0"),
        ([0], {"top_p": 0.0}, r"top_p must be above 0 and at most 1, got 0\.0"),
        ([0], {"top_p": 1.5}, r"top_p must be above 0 and at most 1, got 1\.5"),
        ([0], {"seed": -1}, r"seed must be between 0 and 2\*\*64 - 1, got -1"),
    ],
)
@pytest.mark.parametrize("drafter", [None, "confidence"])
def test_bad_values_are_refused_before_anything_runs(drafter, prompt, change, message):
    """`stream` raises when it is called, not when its first cycle is asked for."""
    drafter = drafter and random_drafter(drafter)
    with pytest.raises(ValueError, match=message) as error:
        stream(random_target(0), prompt, drafter, **{"max_new_tokens": 3} | change)
    assert "\n" not in str(error.value)


def test_a_drafter_is_told_the_number_of_the_cycle_counted_from_the_first_draft():
    class Noting(Chain):
        def propose(self, root, depth, dice, cycle, sampling) -> DraftTree:
            numbers.append(cycle)
            return super().propose(root, depth, dice, cycle, sampling)

    numbers: list[int] = []
    generate(CountingTarget(99), [0], Noting(lambda text: 0, 2), max_new_tokens=9)
    assert numbers == list(range(len(numbers))) and len(numbers) > 3


def test_without_a_seed_the_seed_is_zero():
    texts = [generate(random_target(0), [1], max_new_tokens=30, temperature=1.0, **seed).tokens for seed in SEEDS]
    assert texts[0] == texts[1] != texts[2]


def test_what_is_over_cannot_be_changed():
    result = generate(CountingTarget(99), [0], max_new_tokens=2)
    for record in (result, result.cycles[0], Reading(None, np.zeros((0, 4)), [], [])):
        with pytest.raises(dataclasses.FrozenInstanceError):
            record.tokens = ()


def test_numpys_integers_are_integers():
    plain = {"max_new_tokens": 6, "temperature": 1.0, "top_k": 3, "seed": 2**63 + 5}
    others = {"max_new_tokens": np.int64(6), "temperature": 1.0, "top_k": np.int32(3), "seed": np.uint64(2**63 + 5)}
    for drafter in (None, random_drafter("confidence")):
        texts = [generate(random_target(0), [1, 2], drafter, **options).tokens for options in (plain, others)]
        assert texts[0] == texts[1]


@given(st.integers(0, 9), st.integers(0, 9), st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), max_size=9))
def test_ending_takes_the_same_tokens_in_any_pieces(limit, room, pieces):
    """One rule, asked in runs or one by one."""
    tokens = [token for piece in pieces for token in piece]
    assume(limit and room)

    def feed(runs) -> tuple[list[int], str | None]:
        ending, taken = Ending(1, limit, 1 + room, {3}), []
        for run in runs:
            if ending.reason is None:
                taken += ending.take(run)
        return taken, ending.reason

    assert feed(pieces) == feed([[token] for token in tokens])
