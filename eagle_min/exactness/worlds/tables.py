"""Small worlds on which a sampler is judged: a target and a draft given as tables, and a draft tree.

A table gives the law of the next token for every text. Which of its rows that is depends on every token
of the text and on their order, so that a sampler that uses a law of the wrong place shows. Weights are
small integers, zeros among them: whatever goes wrong only in corners should find corners here. Hypothesis
draws the worlds and shrinks the one that refutes. Read next: `guarded.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from ...dice import Dice, Name
from ..law import Number

Text = tuple[int, ...]
Row = tuple[Fraction, ...]
MAX_WEIGHT = 4
HEAVY = (30, 3000)  # now and then a weight of so much: a token all but certain, the others rare
MAX_VOCAB = 3  # but where there is little to draw
# Token by token from one place to the next. With two rows or three, and up to five tokens, another token at any index
# gives at least half of the texts another row, and a token dropped or two swapped at least a third of them. A sum of
# weighted tokens does not: modulo two rows a weight is 0 or 1, so some token or no order counts. A search found this.
STEPS = ((1, 2, 3), (2, 5, 1), (3, 4, 0), (4, 3, 2), (5, 0, 1), (3, 5, 2))  # of places x tokens


@dataclass(frozen=True)
class Table:
    """Laws of the next token: `rows`, of which a text picks one by where its tokens lead in STEPS."""

    rows: tuple[Row, ...]

    def __call__(self, text: Text) -> Row:
        place = 0
        for token in text:
            place = STEPS[place][token % MAX_VOCAB]
        return self.rows[place % len(self.rows)]

    @property
    def vocab_size(self) -> int:
        return len(self.rows[0])


@dataclass(frozen=True)
class World:
    """A target, a draft, and the shape of what is drafted: node 0 is the root, a chain for chains."""

    target: Table
    draft: Table
    parents: tuple[int, ...]  # parents[0] is -1
    ranks: tuple[int, ...]  # for trees that are a function of the context: which child of its parent a node is
    sizes: tuple[int, ...] = (1, 0)  # for batches: drafts of each sequence
    num_cycles: int = 2  # that are played, batches apart

    @property
    def num_drafted(self) -> int:
        return len(self.parents) - 1

    @property
    def num_levels(self) -> int:
        """Drafts one behind the other."""
        return max(map(len, paths([0] * len(self.parents), self.parents)))


def batch(target: Table, draft: Table, sizes: tuple[int, ...]) -> World:
    """Sequences with so many drafts each; the shape is the longest one's chain."""
    return World(target, draft, tuple(range(-1, max(sizes))), (0,) * (max(sizes) + 1), sizes)


def likely(row: Row) -> list[int]:
    """Tokens by falling probability, ties to the smaller token."""
    return sorted(range(len(row)), key=lambda token: (-row[token], token))


def paths(tokens: list[int], parents: tuple[int, ...]) -> list[Text]:
    """The tokens from below the root down to each node; () for the root."""
    found: list[Text] = [()]
    for node in range(1, len(parents)):
        found.append((*found[parents[node]], tokens[node]))
    return found


def likeliest_tree(world: World, text: Text) -> list[int]:
    """Tokens of the tree behind `text` where it is a function of the text: the root is the last token (0 behind
    nothing), a node of rank r is the r-th likeliest token of the draft behind its parent."""
    tokens = [text[-1] if text else 0]
    for node in range(1, len(world.parents)):
        above = paths(tokens, world.parents[:node])[world.parents[node]]
        tokens.append(likely(world.draft((*text, *above)))[world.ranks[node]])
    return tokens


def drawn_tree(world: World, text: Text, dice: Dice, name: Name, *, replace: bool) -> tuple[list[int], list[int]]:
    """Tokens and parents of the tree behind `text` where children are drawn, with replacement or without. Nodes for
    which their parent's law has nothing left are left out, with all below them."""
    tokens, parents, number = [text[-1] if text else 0], [-1], {0: 0}  # node of the shape -> node of the tree
    left: dict[int, np.ndarray] = {}  # node -> what its law has left for the next child
    for node in range(1, len(world.parents)):
        parent = number.get(world.parents[node])
        if parent is None:
            continue
        above = paths(tokens, tuple(parents))[parent]
        weights = left.setdefault(parent, np.array(world.draft((*text, *above)), dtype=object))
        if not weights.any():
            continue
        number[node] = len(tokens)
        tokens.append(dice.categorical(weights, (*name, node)))
        parents.append(parent)
        if not replace:
            weights[tokens[-1]] = Fraction(0)
    return tokens, parents


def joint(target: Table, text: Text, length: int) -> Iterator[tuple[Text, Number]]:
    """The target's law of the next `length` tokens, by multiplication. Calls nothing under test."""
    if length == 0:
        yield (), Fraction(1)
        return
    for token, chance in enumerate(target(text)):
        if chance:
            yield from (((token, *rest), chance * more) for rest, more in joint(target, (*text, token), length - 1))


# --- what Hypothesis draws ---


def rows(vocab_size: int) -> st.SearchStrategy[Row]:
    """A law with small integer weights, not all 0."""
    weight = st.sampled_from([*range(MAX_WEIGHT + 1)] * 3 + [*HEAVY])
    weights = st.lists(weight, min_size=vocab_size, max_size=vocab_size).filter(any)
    return weights.map(lambda w: tuple(Fraction(weight, sum(w)) for weight in w))


def tables(vocab_size: int) -> st.SearchStrategy[Table]:
    """Two or three rows: fewer would hide which text a law belongs to."""
    return st.lists(rows(vocab_size), min_size=2, max_size=3).map(lambda found: Table(tuple(found)))


# sizes of vocabulary and chain, and cycles, as far as they are soon done; where nothing is drafted, too
CHAINS = ((2, 1, 2), (2, 2, 2), (2, 3, 2), (3, 0, 2), (3, 1, 2), (3, 2, 2), (4, 1, 2), (3, 3, 1))
# drafts of each sequence
BATCHES = (*((1, 1),) * 3, (2, 1), (1, 2), (0, 1), (1, 0), (0, 2), (1, 0, 1), (0, 1, 1), (1, 1, 1))
# Shapes that are rare among small ones, parents and ranks: two children of a node that is not the root; and three
# of the root, which leave a choice only where there are four tokens.
DEEP_SIBLINGS = (-1, 0, 1, 1), (0, 0, 0, 1)
THREE_SIBLINGS = (-1, 0, 0, 0), (0, 0, 1, 2)


@st.composite
def chains(draw: st.DrawFn) -> World:
    """A world whose drafts are chains."""
    vocab_size, size, num_cycles = draw(st.sampled_from(CHAINS))
    target, draft = draw(tables(vocab_size)), draw(tables(vocab_size))
    return World(target, draft, tuple(range(-1, size)), (0,) * (size + 1), num_cycles=num_cycles)


@st.composite
def batches(draw: st.DrawFn) -> World:
    """A world in which several sequences are judged at once; three of them, or many drafts, with two tokens only."""
    sizes = draw(st.sampled_from(BATCHES))
    vocab_size = draw(st.sampled_from((2, 3, 3, 3))) if len(sizes) == 2 >= sum(sizes) else 2
    target, draft = draw(tables(vocab_size)), draw(tables(vocab_size))
    return batch(target, draft, sizes)


@st.composite
def trees(draw: st.DrawFn, max_drafted: int = 4, repeated: bool = False) -> World:
    """A world whose drafts are trees, perhaps a root alone; no node has more children than there are tokens, unless
    `repeated`. Every fourth or so has siblings below a child of the root, some have three below it, and one cycle."""
    shape = draw(st.sampled_from((None,) * 7 + (DEEP_SIBLINGS,) * 3 + (THREE_SIBLINGS,))) if max_drafted >= 3 else None
    if shape is THREE_SIBLINGS:
        return World(draw(tables(MAX_VOCAB + 1)), draw(tables(MAX_VOCAB + 1)), *shape, num_cycles=1)
    vocab_size = draw(st.integers(2, MAX_VOCAB))
    if shape is not None:
        return World(draw(tables(vocab_size)), draw(tables(vocab_size)), *shape)
    parents, ranks, counts = [-1], [0], [0]
    for _ in range(draw(st.sampled_from((*range(1, max_drafted + 1), *range(2, max_drafted + 1), 2, 0)))):
        open_nodes = [node for node, count in enumerate(counts) if repeated or count < vocab_size]
        parent = draw(st.sampled_from(open_nodes))
        parents.append(parent)
        ranks.append(counts[parent])
        counts[parent] += 1
        counts.append(0)
    return World(draw(tables(vocab_size)), draw(tables(vocab_size)), tuple(parents), tuple(ranks))


@st.composite
def siblings(draw: st.DrawFn) -> World:
    """A world whose drafts are two children of the root; of a vocabulary of two they would be all of it."""
    return World(draw(tables(MAX_VOCAB)), draw(tables(MAX_VOCAB)), (-1, 0, 0), (0, 0, 1))


def independent(strategy: st.SearchStrategy) -> st.SearchStrategy:
    """The same worlds, each drawn anew.

    Of a value that it has drawn, Hypothesis makes up to six more by copying one part of it over another of its
    kind: of forty worlds most would be alike, and some corner in none of them. It leaves the elements of
    a list alone that may not repeat, so each world is drawn as the one element of such a list.
    """
    return st.lists(strategy, min_size=1, max_size=1, unique=True).map(lambda drawn: drawn[0])


# --- how hard a world is ---


def hard_cases(world: World) -> set[str]:
    """Which corners the laws behind nothing, behind 0 and behind 1 have, and whether the root has two children: a
    verdict is worth what its worlds contain."""
    found = set()
    for text in ((), (0,), (1,)):
        p, q = world.target(text), world.draft(text)
        pairs = list(zip(p, q))
        if sum(a > b for a, b in pairs) >= 2:
            found.add("residual of two tokens or more")
        if any(a == 0 < b for a, b in pairs):
            found.add("a draft the target forbids")
        if any(b == 0 < a for a, b in pairs):
            found.add("a token the draft cannot propose")
    if world.parents.count(0) >= 2:
        found.add("siblings")
    return found
