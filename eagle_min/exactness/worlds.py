"""Small worlds on which a sampler is judged: a target and a draft given as tables, and a draft tree.

A table gives the law of the next token for every text; which of its rows is a function of the whole
text, so that a sampler that uses a law of the wrong place shows. Weights are small integers, zeros
among them: whatever goes wrong only in corners should find corners here. Hypothesis draws the
worlds and shrinks the one that refutes. Read next: `guarded.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from .law import Number

Text = tuple[int, ...]
Row = tuple[Fraction, ...]
MAX_WEIGHT = 4
MAX_VOCAB = 3


@dataclass(frozen=True)
class Table:
    """Laws of the next token: `rows`, of which a text picks one."""

    rows: tuple[Row, ...]

    def __call__(self, text: Text) -> Row:
        place = sum((number + 1) * (token + 1) for number, token in enumerate(text))
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

    @property
    def num_drafted(self) -> int:
        return len(self.parents) - 1


def likely(row: Row) -> list[int]:
    """Tokens by falling probability, ties to the smaller token."""
    return sorted(range(len(row)), key=lambda token: (-row[token], token))


def paths(tokens: list[int], parents: tuple[int, ...]) -> list[Text]:
    """The tokens from below the root down to each node; () for the root."""
    found: list[Text] = [()]
    for node in range(1, len(parents)):
        found.append((*found[parents[node]], tokens[node]))
    return found


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
    weights = st.lists(st.integers(0, MAX_WEIGHT), min_size=vocab_size, max_size=vocab_size).filter(any)
    return weights.map(lambda w: tuple(Fraction(weight, sum(w)) for weight in w))


def tables(vocab_size: int) -> st.SearchStrategy[Table]:
    """Two or three rows: fewer would hide which text a law belongs to."""
    return st.lists(rows(vocab_size), min_size=2, max_size=3).map(lambda found: Table(tuple(found)))


@st.composite
def chains(draw: st.DrawFn, max_drafted: int = 2, min_drafted: int = 1) -> World:
    """A world whose drafts are chains."""
    vocab_size = draw(st.integers(2, MAX_VOCAB))
    size = draw(st.integers(min_drafted, max_drafted))
    target, draft = draw(tables(vocab_size)), draw(tables(vocab_size))
    return World(target, draft, tuple(range(-1, size)), (0,) * (size + 1))


@st.composite
def trees(draw: st.DrawFn, max_drafted: int = 4, repeated: bool = False) -> World:
    """A world whose drafts are trees; no node has more children than there are tokens, unless `repeated`."""
    vocab_size = draw(st.integers(2, MAX_VOCAB))
    parents, ranks, counts = [-1], [0], [0]
    for _ in range(draw(st.integers(1, max_drafted))):
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
    """Which corners the first node of a world has; a verdict is worth what its worlds contain."""
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
