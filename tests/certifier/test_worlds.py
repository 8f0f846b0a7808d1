"""What the certifier's worlds contain: a verdict is worth no more than the worlds it rests on.

Shares are among the worlds that `certify` tries, in searches from several seeds; they are printed.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import Phase, given, seed, settings

from eagle_min.config import SamplingConfig
from eagle_min.exactness.judge.kinds import KINDS
from eagle_min.exactness.judge.search import SEARCH
from eagle_min.exactness.law import law
from eagle_min.exactness.worlds.decodings import SAMPLINGS, Decoding, processed, with_squared_weights, world_of
from eagle_min.exactness.worlds.drawn import LARGE_WEIGHTS, MAX_WEIGHT
from eagle_min.exactness.worlds.tables import MAX_VOCAB, Table, Text, World, drawn_tree, likeliest_tree
from eagle_min.sampling import next_token_law

SEEDS = range(1, 4)
NUM_WORLDS = 40  # of a search, as `certify` has it unless it is told otherwise


@functools.cache
def drawn(kind: str, number: int) -> list[World | Decoding]:
    """The worlds of one search."""
    found = []

    @seed(number)
    @settings(SEARCH, max_examples=NUM_WORLDS, phases=[Phase.generate])
    @given(KINDS[kind].drawn)
    def keep(world):
        found.append(world)

    keep()
    return found


def shares(kind: str, parts_of: Callable[[World | Decoding], dict[str, bool]]) -> dict[str, list[float]]:
    """Part -> the share of worlds that have it, a figure a search."""
    counts = [Counter(p for world in drawn(kind, n) for p, true in parts_of(world).items() if true) for n in SEEDS]
    found = {part: [count[part] / NUM_WORLDS for count in counts] for part in sorted(set().union(*counts))}
    for part, figures in found.items():
        print(f"{kind}: {', '.join(f'{figure:.0%}' for figure in figures)} of worlds have {part}")
    return found


@pytest.mark.parametrize(("num_rows", "vocab_size"), list(product((2, 3), (2, 3))))
def test_which_row_comes_depends_on_every_token_and_on_their_order(num_rows, vocab_size):
    """At each index of each text of up to five tokens; the shares that `NEXT_STATE` is said to reach."""
    row = Table(tuple((Fraction(number),) for number in range(num_rows)))

    def share(pairs: Iterable[tuple[Text, Text]]) -> float:
        unlike = [(text, other) for text, other in pairs if text != other]
        return sum(row(text) != row(other) for text, other in unlike) / len(unlike)

    for length in range(1, 6):
        texts = list(product(range(vocab_size), repeat=length))
        for i in range(length):
            assert share((t, (*t[:i], token, *t[i + 1 :])) for t in texts for token in range(vocab_size)) >= 1 / 2
            assert length < 2 or share((t, (*t[:i], *t[i + 1 :])) for t in texts) >= 1 / 3
        swapped = ((t, (*t[:i], t[i + 1], t[i], *t[i + 2 :])) for t in texts for i in range(length - 1))
        assert length < 3 or share(swapped) >= 1 / 3


@pytest.mark.parametrize("replaced", [False, True])
def test_children_are_drawn_from_the_law_behind_their_parent(replaced):
    """Two children of the root and one below the first, by multiplication: of a draft without zeros."""
    draft = Table(tuple(tuple(Fraction(w, 10) for w in ws) for ws in ((5, 3, 2), (1, 8, 1), (2, 2, 6))))
    world = World(draft, draft, (-1, 0, 0, 1), (0, 0, 1, 0))
    found = law(lambda dice: tuple(drawn_tree(world, (1,), dice, ("drafted",), replace=replaced)[0]))
    wanted = {}
    for a, b, c in product(range(3), repeat=3):
        q = draft((1,))
        second = q[b] if replaced else q[b] / (1 - q[a]) if a != b else Fraction(0)
        wanted[1, a, b, c] = q[a] * second * draft((1, a))[c]
    assert found == {text: chance for text, chance in wanted.items() if chance}


def test_nodes_that_the_draft_cannot_fill_are_left_out_with_all_below():
    one_hot = Table(((Fraction(0), Fraction(1)),))
    world = World(one_hot, one_hot, (-1, 0, 0, 2, 1), (0, 0, 1, 0, 0))
    found = law(lambda dice: tuple(map(tuple, drawn_tree(world, (), dice, (), replace=False))))
    assert found == {((0, 1, 1), (-1, 0, 1)): 1}


def test_likeliest_children_are_ranked_behind_their_parent():
    rows = tuple(tuple(Fraction(w, 10) for w in ws) for ws in ((5, 3, 2), (1, 8, 1), (2, 2, 6)))
    world = World(Table(rows), Table(rows), (-1, 0, 0, 1, 2), (0, 0, 1, 0, 2))
    # behind 2 comes the first row; behind 2, 0 the second; behind 2, 1 the first again
    assert likeliest_tree(world, (2,)) == [2, 0, 1, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_worlds_are_no_variants_of_one_another(kind):
    """Left alone, Hypothesis makes most of its values from parts of others: of 40 worlds 25 differ in the target."""
    for number in SEEDS:
        worlds = [world_of(world) for world in drawn(kind, number)]
        assert len({world.target for world in worlds}) >= 0.9 * NUM_WORLDS


def first_node(world: World) -> dict[str, bool]:
    """How the laws of target and draft meet at the root, where nothing is drafted yet."""
    pairs = list(zip(world.target(()), world.draft(()), strict=True))
    return {
        "a residual of two tokens or more": sum(p > q for p, q in pairs) >= 2,
        "a draft the target forbids": any(p == 0 < q for p, q in pairs),
        "a token the draft cannot propose": any(q == 0 < p for p, q in pairs),
        "siblings": world.parents.count(0) >= 2,
        "a draft behind a draft": any(parent > 0 for parent in world.parents),
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "loop"])
def test_worlds_of_one_cycle_reach_the_corners(kind):
    found = shares(kind, first_node)
    least = dict.fromkeys(found, 0.2) | {"a residual of two tokens or more": 0.1}  # which takes three tokens
    assert len(found) == {"chain": 4, "batch": 4}.get(kind, 5)
    assert all(sum(figures) / len(figures) >= least[part] for part, figures in found.items())


def test_batches_are_even_and_uneven_and_some_have_three_sequences_with_drafts():
    for number in SEEDS:
        sizes = {world.sizes for world in drawn("batch", number)}
        assert {(1, 1), (1, 1, 1)} <= sizes and any(0 in each for each in sizes) and len(sizes) >= 7


def told(decoding: Decoding) -> dict[str, bool]:
    """What a decoder is put through."""
    parents, sampling, vocab_size = decoding.world.parents, decoding.sampling, len(decoding.world.target(()))
    law, without_top_p = (
        processed(decoding.world.target(decoding.prompt), each) for each in (sampling, replace(sampling, top_p=1.0))
    )
    facts = {
        "siblings": parents.count(0) >= 2,
        "three tokens or more": decoding.max_new_tokens >= 3,
        "a temperature above 0": sampling.temperature > 0,
    }
    return facts | {
        "all of these": all(facts.values()),
        "a single draft": len(parents) == 2,
        "a draft behind a draft": any(parent > 0 for parent in parents),
        "one token only": decoding.max_new_tokens == 1,
        "temperature 0": sampling.temperature == 0,
        "temperature 1/2 between unlike tokens": sampling.temperature == 0.5 and len({*law} - {0}) >= 2,
        "a top_p that cuts": law != without_top_p,
        "a top_k that cuts": sampling.top_k is not None and sampling.top_k < vocab_size,
        "a stop token": bool(decoding.stop),
        "two stop tokens": len(decoding.stop) == 2 < vocab_size,
        "temperature 2": sampling.temperature == 2,
        "a top_k and a top_p": sampling.top_k is not None and sampling.top_p < 1,
        "a token behind which nothing is drafted": decoding.silent is not None,
        "a node below one of two siblings": parents.count(0) == 2 and len(parents) == 4,
        "children that are drawn": decoding.sampled,
        "siblings that are all there is": parents.count(0) == vocab_size,
    }


def test_a_third_of_the_loops_goes_on_behind_siblings():
    """Behind the first cycle, and with either child taken: else nobody sees which rows a cache has kept."""
    assert min(shares("loop", told)["all of these"]) >= 1 / 3


def test_loops_reach_the_corners_too():
    found = shares("loop", told)
    least = {"siblings that are all there is": 0.02, "a single draft": 0.03, "a stop token": 0.25}
    assert len(found) == 19
    assert all(sum(figures) / len(figures) >= least.get(part, 0.05) for part, figures in found.items())


def test_filters_are_those_of_the_package():
    """Two definitions, written apart, on every law of small weights."""
    for weights in product(range(5), repeat=3):
        if any(weights):
            row = tuple(Fraction(weight, sum(weights)) for weight in weights)
            for sampling in SAMPLINGS:
                if sampling.temperature <= 1:
                    assert processed(row, sampling) == tuple(next_token_law(np.array(row), sampling)), (row, sampling)
            flat = SamplingConfig(2.0)  # of squares: takes roots, so in floats
            [square] = with_squared_weights(Table((row,))).rows
            with np.errstate(divide="ignore"):
                logits = np.log(np.array(square, dtype=float))
            assert np.allclose(np.array(processed(square, flat), dtype=float), next_token_law(logits, flat))
            assert processed(square, flat) == row


def test_no_share_of_small_weights_is_the_top_p_that_is_tried():
    """Else rounding would decide which tokens a decoder keeps, and a right one would be refuted."""
    tried = {Fraction(sampling.top_p).limit_denominator(1000) for sampling in SAMPLINGS} - {1}
    assert tried
    for weights, power in product(product((*range(MAX_WEIGHT + 1), *LARGE_WEIGHTS), repeat=MAX_VOCAB), (1, 2)):
        falling = sorted((weight**power for weight in weights if weight), reverse=True)
        for kept in range(1, len(falling) + 1):  # as top_k leaves them
            parts = list(accumulate(falling[:kept]))
            assert not {Fraction(part, parts[-1]) for part in parts} & tried
