"""Worlds as Hypothesis draws them, one strategy for each shape of drafts, and makes them smaller when one refutes.

Weights are small integers, zeros among them, so that what goes wrong only in corners finds corners: a draft that the
target forbids, a token that the draft never proposes, a residual of two tokens. Shapes are small, for
everything in a world is enumerated: two to four tokens, up to four drafts. Shapes and settings that small
worlds would rarely have come more often here than chance has it; `tests/certifier/test_worlds.py` counts how often.

Every draw is a choice among listed values. What is listed first is simplest, and shrinking moves towards it.
Read next: `always_tried.py`.
"""

from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from .decodings import SAMPLINGS, Decoding, with_squared_weights
from .tables import MAX_VOCAB, Row, Table, World, batch

MAX_WEIGHT = 4
LARGE_WEIGHTS = (30, 3000)  # now and then a token is all but certain, and the others are rare
# (size of vocabulary, of chain, cycles), as far as they are soon enumerated; with nothing drafted, too
CHAINS = ((2, 1, 2), (2, 2, 2), (2, 3, 2), (3, 0, 2), (3, 1, 2), (3, 2, 2), (4, 1, 2), (3, 3, 1))
# drafts of each sequence
BATCHES = (*((1, 1),) * 3, (2, 1), (1, 2), (0, 1), (1, 0), (0, 2), (1, 0, 1), (0, 1, 1), (1, 1, 1))
# Parents and ranks of trees that are rare among small ones: two children of a node that is not the root; and three
# of the root, which leave the sampler a choice only where there are four tokens.
DEEP_SIBLINGS = (-1, 0, 1, 1), (0, 0, 0, 1)
THREE_SIBLINGS = (-1, 0, 0, 0), (0, 0, 1, 2)
TWO_LEVELS = (-1, 0, 0, 1), (-1, 0, 0, 1), (-1, 0, 0, 2)  # parents of a decoder's larger trees


def rows(vocab_size: int) -> st.SearchStrategy[Row]:
    """A law with small integer weights, not all 0."""
    weight = st.sampled_from([*range(MAX_WEIGHT + 1)] * 3 + [*LARGE_WEIGHTS])
    weights = st.lists(weight, min_size=vocab_size, max_size=vocab_size).filter(any)
    return weights.map(lambda w: tuple(Fraction(weight, sum(w)) for weight in w))


def tables(vocab_size: int) -> st.SearchStrategy[Table]:
    """Two or three rows: fewer would hide which text a law belongs to."""
    return st.lists(rows(vocab_size), min_size=2, max_size=3).map(lambda found: Table(tuple(found)))


@st.composite
def chains(draw: st.DrawFn) -> World:
    """Drafts are a chain."""
    vocab_size, size, num_cycles = draw(st.sampled_from(CHAINS))
    target, draft = draw(tables(vocab_size)), draw(tables(vocab_size))
    return World(target, draft, tuple(range(-1, size)), (0,) * (size + 1), num_cycles=num_cycles)


@st.composite
def batches(draw: st.DrawFn) -> World:
    """Several sequences are verified at once. Three of them, or many drafts, have a vocabulary of two tokens."""
    sizes = draw(st.sampled_from(BATCHES))
    vocab_size = draw(st.sampled_from((2, 3, 3, 3))) if len(sizes) == 2 >= sum(sizes) else 2
    target, draft = draw(tables(vocab_size)), draw(tables(vocab_size))
    return batch(target, draft, sizes)


@st.composite
def trees(draw: st.DrawFn, max_drafted: int = 4, repeated: bool = False) -> World:
    """Drafts are a tree, perhaps its root alone; no node has more children than there are tokens, unless `repeated`.
    About every fourth has siblings below a child of the root; some have three below the root, and play one cycle."""
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
    """Drafts are two children of the root, of three tokens: of two they would be all there is."""
    return World(draw(tables(MAX_VOCAB)), draw(tables(MAX_VOCAB)), (-1, 0, 0), (0, 0, 1))


@st.composite
def decodings(draw: st.DrawFn) -> Decoding:
    """Small worlds with a prompt, a limit, one of SAMPLINGS, perhaps stop tokens and one behind which nothing is
    drafted.

    Nearly half of them are forks: above temperature 0 either of two children may be taken, and the text goes on behind
    the first cycle. Only there does it show which rows a decoder has kept in its cache. Drawn children multiply the
    branches of a cycle, so texts are shorter with them, and the larger trees are functions of the text.
    """
    shape = draw(st.sampled_from(("any",) * 3 + ("fork",) * 4 + ("larger",) * 3))
    fork, larger = shape == "fork", shape == "larger"
    world = draw(trees(max_drafted=2) if shape == "any" else siblings())
    if larger:
        world = replace(world, parents=draw(st.sampled_from(TWO_LEVELS)), ranks=(0, 0, 1, 0))
    vocab_size = world.vocab_size
    # a law without zeros: any number of children can be drawn from it
    sampled = not larger and draw(st.booleans()) and all(0 not in row for row in world.draft.rows)
    sampling = draw(st.sampled_from([each for each in SAMPLINGS if each.temperature > 0] if fork else SAMPLINGS))
    if sampling.temperature == 2:
        world = replace(world, target=with_squared_weights(world.target))
    prompt = tuple(draw(st.lists(st.integers(0, vocab_size - 1), min_size=1, max_size=2)))
    stop = frozenset(draw(st.lists(st.integers(0, vocab_size - 1), max_size=2)))
    silent = draw(st.sampled_from([None] * 3 + [*range(vocab_size)]))
    limit = draw(st.integers(3 if shape != "any" else 1, 3 if sampled else 4))
    return Decoding(world, prompt, limit, stop, sampling, sampled, silent)


def independent(strategy: st.SearchStrategy) -> st.SearchStrategy:
    """The same worlds, each drawn anew.

    Of a value that it has drawn, Hypothesis makes up to six more by copying one part of it over another of its kind.
    Of forty worlds most would then be alike, and no world would have some of the corners. It leaves the elements of a
    list alone whose elements must differ, so each world is drawn as the one element of such a list.
    """
    return st.lists(strategy, min_size=1, max_size=1, unique=True).map(lambda drawn: drawn[0])
