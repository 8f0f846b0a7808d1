"""Lookahead decoding against a slow oracle that has no window to shift: it asks, by place and cycle, where a token
came from, and the table what it says after it.
"""

import functools
import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from loops import TableTarget, random_table
from oracles import token_path
from strategies import TableModel, fewer

from eagle_min import generate
from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.decode import Reading
from eagle_min.dice import SeededDice
from eagle_min.drafters.lookahead import LookaheadDrafter
from eagle_min.tree import DraftTree, ancestor_mask

UNKNOWN = None


@dataclass
class Recorder:
    """A drafter, and all it was told and proposed."""

    drafter: LookaheadDrafter
    layers: tuple[int, ...] = ()
    texts: list[list[int]] = field(default_factory=list)  # before each proposal
    rooms: list[int] = field(default_factory=list)
    trees: list[DraftTree] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)

    @property
    def num_nodes(self) -> int:
        return self.drafter.num_nodes

    def start(self, prompt_ids) -> "Recorder":
        self.session, self.text = self.drafter.start(prompt_ids), [prompt_ids[0]]
        return self

    def learn(self, reading) -> None:
        self.readings.append(reading)
        self.text += reading.following
        self.session.learn(reading)

    def propose(self, root, depth, *chance) -> DraftTree:
        self.texts.append(list(self.text))
        self.rooms.append(min(depth, self.drafter.tree.depth))
        self.trees.append(self.session.propose(root, depth, *chance))
        return self.trees[-1]


class Oracle:
    """What has to be proposed in each cycle, from the texts alone and a target that answers for any history."""

    def __init__(self, recorder: Recorder, target: TableTarget) -> None:
        self.texts, self.rooms, self.target = recorder.texts, recorder.rooms, target
        self.size, self.width, self.guesses = recorder.drafter.ngram, recorder.drafter.window, recorder.drafter.guesses
        self.num_nodes = recorder.num_nodes
        self.token, self.beginnings = functools.cache(self.token), functools.cache(self.beginnings)

    def token(self, cycle: int, level: int, place: int) -> int:
        """The token of a level at a place of the text: it was a guess some cycles ago, or is a filler."""
        text = self.texts[cycle]
        if (level, place) == (0, len(text) - 1):
            return text[-1]
        known = UNKNOWN
        if cycle and level < self.size - 2:  # the same token, when its level was one above
            before = len(self.texts[cycle - 1]) - 1
            if before + level + 1 <= place < before + level + 1 + self.width:
                known = self.token(cycle - 1, level + 1, place)
        elif cycle:
            known = self.guess(cycle - 1, place)
        return self.again(text)[place - (len(text) - 1)] if known is UNKNOWN else known

    def again(self, text: list[int]) -> list[int]:
        """What stands where nothing is known, from the root's place on: as many of the last tokens as there are."""
        num_places = self.width + self.size - 2
        return (text * num_places)[-num_places:]

    def diagonal(self, cycle: int, column: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Tokens below the root that a column's youngest token is read behind: of level 0, and of its own."""
        root = len(self.texts[cycle]) - 1
        chain = tuple(self.token(cycle, 0, root + i) for i in range(1, column + 1))
        return chain, tuple(self.token(cycle, level, root + column + level) for level in range(1, self.size - 1))

    def guess(self, cycle: int, place: int) -> int | None:
        """The target's best token for a place, behind a column of that cycle; None where there is no such node."""
        column = place - (len(self.texts[cycle]) - 1) - (self.size - 1)
        if not 0 <= column < self.width:
            return UNKNOWN
        path = sum(self.diagonal(cycle, column), ())
        if path and path not in self.beginnings(cycle):
            return UNKNOWN
        return self.best((*self.texts[cycle], *path))

    def best(self, history: tuple[int, ...]) -> int:
        row = list(self.target.row(history))
        return row.index(max(row))

    def ngrams(self, cycle: int) -> list[tuple[int, ...]]:
        """All that were collected before a cycle, the latest first: of the text, then of the window by column."""
        found, known = [], 0
        for now in range(cycle + 1):
            for column in reversed(range(self.width if now else 0)):
                root = len(self.texts[now - 1]) - 1
                last = self.guess(now - 1, root + column + self.size - 1)
                if last is not UNKNOWN:
                    first = self.token(now - 1, 0, root + column)
                    found.append((first, *self.diagonal(now - 1, column)[1], last))
            text = tuple(self.texts[now])
            for end in range(max(known, self.size - 1), len(text)):
                found.append((*text[end - self.size + 1 : end], self.best(text[:end])))
            known = len(text)
        return found[::-1]

    def beginnings(self, cycle: int) -> list[tuple[int, ...]]:
        """The paths to all nodes below the root, in their order."""
        paths = [sum(self.diagonal(cycle, column), ()) for column in range(self.width)]
        mine = [ngram[1:] for ngram in self.ngrams(cycle) if ngram[0] == self.texts[cycle][-1]]
        paths += list(dict.fromkeys(mine))[: self.guesses]
        parts = [path[:length] for path in paths for length in range(1, min(len(path), self.rooms[cycle]) + 1)]
        return list(dict.fromkeys(parts))[: self.num_nodes - 1]


def decoded(rng: random.Random, temperature: float, floats: bool = True) -> tuple[Recorder, TableTarget]:
    """A text of a random table, which ends in the middle of things, drafted with random limits."""
    target = TableTarget(random_table(rng, 4), context=40, floats=floats)
    tree = TreeConfig(num_nodes=rng.choice([1, 4, 9, 16, 99]), depth=rng.choice([2, 5, 9]))
    recorder = Recorder(LookaheadDrafter(tree, rng.randint(1, 4), rng.randint(2, 4), rng.randint(1, 3)))
    prompt = [rng.randrange(4) for _ in range(rng.randint(1, 6))]
    how = {"max_new_tokens": rng.randint(2, 24), "temperature": temperature, "seed": rng.randrange(99)}
    plain = generate(target, prompt, **how)
    assert generate(target, prompt, recorder, **how).tokens == plain.tokens
    return recorder, target


randoms = st.integers(0, 2**32).map(random.Random)


@fewer(1)
@given(randoms, st.sampled_from([0.0, 1.0]), st.booleans())
def test_the_window_and_the_pool_are_those_of_the_slow_oracle(rng, temperature, floats):
    """Node by node, whatever the limits, the temperature, and the number of tokens a cycle commits."""
    recorder, target = decoded(rng, temperature, floats)
    oracle = Oracle(recorder, target)
    for cycle, tree in enumerate(recorder.trees):
        tree.check_invariants()
        paths = [token_path(tree.tokens, tree.parents, node) for node in range(1, len(tree))]
        assert paths == oracle.beginnings(cycle)


@given(randoms, st.sampled_from([0.0, 1.0]))
def test_every_ngram_of_the_pool_was_said_by_the_target(rng, temperature):
    """Its last token is the best one of a recorded row, and the others lead to that row."""
    recorder, _ = decoded(rng, temperature)
    assume(recorder.readings)  # some texts are over before anything is drafted
    size, first = recorder.drafter.ngram, recorder.readings[0]
    prompt = DraftTree((recorder.text[0], *first.following[:-1]), tuple(range(-1, len(first.rows) - 1)), ())
    said = set()
    for text, tree, reading in zip([[], *recorder.texts], [prompt, *recorder.trees], recorder.readings):
        for node in range(len(tree)):
            history = (*text[:-1], tree.tokens[0], *token_path(tree.tokens, tree.parents, node))
            said.add((*history[-(size - 1) :], int(np.argmax(reading.rows[node]))))
    pool = recorder.session.pool
    assert {(first, *rest) for first, others in pool.items() for rest in others} <= said
    assert all(len(set(others)) == len(others) <= recorder.drafter.guesses for others in pool.values())


@given(st.integers(1, 6), st.integers(2, 5), st.data())
def test_the_tree_mask_is_the_attention_mask_of_the_paper(width, size, data):
    """Figure 2b: a token of level l in column c sees the root, level 0 up to column c, and column c up to level l."""
    draft = LookaheadDrafter(TreeConfig(num_nodes=99, depth=99), width, size).start([1])
    draft.learn(Reading(None, np.zeros((1, 2)), [0], [0]))  # no n-gram begins with the root, 0
    numbers = iter(data.draw(st.permutations(range(1, width * (size - 1)))))
    slots = [(level, column) for level in range(size - 1) for column in range(width)]
    for level, column in slots[1:]:
        draft.levels[level][column] = next(numbers)  # all different, so that no two are one node
    tree = draft.propose(0, 99, SeededDice(0), 0, SamplingConfig())
    order = [tree.tokens.index(draft.levels[level][column]) for level, column in slots]
    mask = np.array([[b == 0 and d <= c or d == c and b <= a for b, d in slots] for a, c in slots])
    assert sorted(order) == list(range(len(tree)))
    assert np.array_equal(ancestor_mask(tree.parents)[np.ix_(order, order)], mask)


class Cycling(TableTarget):
    """Its greedy text goes round and round through `order`; whatever else it reads, it goes on from there."""

    def __init__(self, order: list[int]) -> None:
        super().__init__(TableModel((tuple(range(len(order))),)), context=999, floats=True)
        self.after = dict(zip(order, [*order[1:], order[0]]))

    def row(self, history):
        return np.array([float(token == self.after[history[-1]]) for token in range(self.vocab_size)])


@given(st.permutations(range(7)), st.integers(0, 3), st.integers(2, 5))
def test_in_a_text_that_cycles_the_ngrams_are_found(order, more, size):
    """Plain at first; after a few rounds each cycle commits at least N tokens: the rest of an n-gram, and the bonus."""
    drafter = LookaheadDrafter(TreeConfig(num_nodes=40, depth=12), size + more, size)
    cycles = generate(Cycling(order), order[:3], drafter, max_new_tokens=150).cycles[1:]
    assert cycles[0].num_accepted < size - 1
    assert all(cycle.num_accepted >= size - 1 for cycle in cycles[12:-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": 0}, "window must be an integer of at least 1, got 0"),
        ({"ngram": 1}, "ngram must be an integer of at least 2, got 1"),
        ({"guesses": 0}, "guesses must be an integer of at least 1, got 0"),
        ({"window": 2.0}, r"window must be an integer of at least 1, got 2\.0"),
    ],
)
def test_bad_sizes_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        LookaheadDrafter(TreeConfig(), **change)
