"""What Hypothesis draws: small worlds, trees of any shape, configs.

A world is a target and a draft over 3 or 4 tokens, each a table of a few laws with small
integer weights, so that zeros, certain tokens and ties are common; which law applies is a pure
function of the whole token history. `tests/same_law/test_verify_sampled.py` checks how far the worlds reach.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.tree import DraftTree

WEIGHTS = (0, 0, 0, 1, 1, 2, 3, 5)


def fewer(divisor: int, fast: int | None = None) -> settings:
    """For expensive properties: the profile's number of examples over `divisor`, or `fast` in the fast profile."""
    number = settings.default.max_examples
    if fast is not None and number == settings.get_profile("fast").max_examples:
        return settings(max_examples=fast)
    return settings(max_examples=max(5, number // divisor))


@dataclass(frozen=True)
class TableModel:
    """Laws (V,) in Fractions; the history picks one, order and length of the history included."""

    rows: tuple[tuple[int, ...], ...]  # integer weights, not normalised

    @property
    def vocab_size(self) -> int:
        return len(self.rows[0])

    def weights(self, history: tuple[int, ...]) -> np.ndarray:
        """(V,) Fractions of sum one, what `sampling.next_token_law` takes as a row."""
        place = 0
        for token in history:
            place = (place * 3 + token + 1) % len(self.rows)
        row = self.rows[place]
        return np.array([Fraction(weight, sum(row)) for weight in row], dtype=object)

    def log_weights(self, history: tuple[int, ...]) -> np.ndarray:
        """(V,) float64 log-probabilities; -inf where the weight is 0."""
        return np.array([math.log(weight) if weight else -math.inf for weight in self.weights(history)])


@dataclass(frozen=True)
class World:
    target: TableModel
    draft: TableModel
    history: tuple[int, ...]  # the text so far; its last token is the root

    @property
    def vocab_size(self) -> int:
        return self.target.vocab_size

    def law_at(self, tree: DraftTree, history: tuple[int, ...]):
        """node -> the target's law after that node, when `history` ends in the tree's root."""

        def law(node: int) -> np.ndarray:
            path = []
            while node > 0:
                path.append(tree.tokens[node])
                node = tree.parents[node]
            return self.target.weights(history + tuple(path[::-1]))

        return law


def rows(vocab_size: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Integer weights with at least one above 0."""
    return st.sampled_from([row for row in product(sorted(set(WEIGHTS)), repeat=vocab_size) if any(row)])


def table_models(vocab_size: int) -> st.SearchStrategy[TableModel]:
    return st.lists(rows(vocab_size), min_size=5, max_size=5).map(lambda table: TableModel(tuple(table)))


@st.composite
def worlds(draw: st.DrawFn, vocab_sizes: tuple[int, ...] = (3, 4)) -> World:
    """A third of the worlds is drawn law by law and shrinks well; the others come from a seed.

    Hypothesis likes to repeat a value, which makes target and draft too much alike: drawn law by
    law only, a fifth of the worlds has a residual of two tokens.
    """
    vocab_size = draw(st.sampled_from(vocab_sizes))
    history = draw(st.lists(st.integers(0, vocab_size - 1), min_size=1, max_size=3))
    if draw(st.sampled_from([False, True, True])):
        random = np.random.default_rng(draw(st.integers(0, 2**32)))
        weights = random.choice(WEIGHTS, size=(2, 5, vocab_size))
        weights[weights.sum(axis=2) == 0] = 1
        target, draft = (TableModel(tuple(map(tuple, table))) for table in weights.tolist())
    else:
        target, draft = draw(table_models(vocab_size)), draw(table_models(vocab_size))
    return World(target, draft, tuple(history))


def parent_lists(max_nodes: int = 12) -> st.SearchStrategy[list[int]]:
    """Any tree: each node below the root hangs under an earlier one."""
    later = st.integers(0, max_nodes - 1).flatmap(
        lambda number: st.tuples(*[st.integers(0, node) for node in range(number)])
    )
    return later.map(lambda parents: [-1, *parents])


@st.composite
def trees(draw: st.DrawFn, vocab_size: int, root: int | None = None, max_nodes: int = 7, max_depth: int = 3):
    """A draft tree of any shape whose children are a function of the context; siblings differ."""
    tokens = [draw(st.integers(0, vocab_size - 1)) if root is None else root]
    parents, values, depths = [-1], [0.0], [0]
    for _ in range(draw(st.integers(0, max_nodes - 1))):
        parent = draw(st.sampled_from([node for node, depth in enumerate(depths) if depth < max_depth]))
        taken = {tokens[node] for node in range(1, len(tokens)) if parents[node] == parent}
        free = sorted(set(range(vocab_size)) - taken)
        if free:
            tokens.append(draw(st.sampled_from(free)))
            parents.append(parent)
            depths.append(depths[parent] + 1)
            values.append(values[parent] - draw(st.sampled_from([0.0, 0.5, 1.0])))
    return DraftTree(tuple(tokens), tuple(parents), tuple(values))


@st.composite
def worlds_and_trees(draw: st.DrawFn, max_nodes: int = 7) -> tuple[World, DraftTree]:
    """A world and a tree below the end of its history."""
    world = draw(worlds())
    return world, draw(trees(world.vocab_size, root=world.history[-1], max_nodes=max_nodes))


@st.composite
def tree_configs(draw: st.DrawFn, max_nodes: int = 12, max_depth: int = 4) -> TreeConfig:
    return TreeConfig(
        num_nodes=draw(st.integers(1, max_nodes)),
        depth=draw(st.integers(1, max_depth)),
        top_k=draw(st.integers(1, 5)),
        ratio_threshold=draw(st.sampled_from([1.1, 1.9, 3.1, 7.3])),  # no quotient of small integers
    )


@st.composite
def sampling_configs(draw: st.DrawFn, vocab_size: int, greedy: bool = True) -> SamplingConfig:
    """Configs whose arithmetic is exact on Fraction weights; `greedy` allows temperature 0."""
    temperatures = [1.0, 1 / 2, 1 / 3] + ([0.0] if greedy else [])
    return SamplingConfig(
        temperature=draw(st.sampled_from(temperatures)),
        top_k=draw(st.none() | st.integers(1, vocab_size + 1)),
        top_p=draw(st.sampled_from([1, Fraction(9, 10), Fraction(3, 5), Fraction(1, 2), Fraction(1, 10)])),
    )


@st.composite
def level_trees(draw, tokens: st.SearchStrategy[int]) -> tuple[list[int], list[int], list[list[int]]]:
    """A tree in level order with its levels: tokens (the root's is 0) and parents, and the nodes of each level."""
    nodes, parents, result = [0], [-1], [[0]]
    for _ in range(draw(st.integers(1, 5))):
        level = []
        for _ in range(draw(st.integers(1, 4))):
            level.append(len(nodes))
            parents.append(draw(st.sampled_from(result[-1])))
            nodes.append(draw(tokens))
        result.append(level)
    return nodes, parents, result
