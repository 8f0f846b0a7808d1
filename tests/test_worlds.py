"""What the certifier's worlds contain: a verdict is worth no more than the worlds it rests on.

Shares are among the worlds that `certify` tries, in searches from several seeds; they are printed.
"""

import functools
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import Phase, given, seed, settings

from eagle_min.exactness.certify import SEARCH, WORLDS
from eagle_min.exactness.whole import Decoding
from eagle_min.exactness.worlds import World

SEEDS = range(1, 4)
NUM_WORLDS = 40  # of a search, as `certify` has it unless it is told otherwise


@functools.cache
def drawn(kind: str, number: int) -> list[World | Decoding]:
    """The worlds of one search."""
    found = []

    @seed(number)
    @settings(SEARCH, max_examples=NUM_WORLDS, phases=[Phase.generate])
    @given(WORLDS[kind])
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


@pytest.mark.parametrize("kind", WORLDS)
def test_worlds_are_no_variants_of_one_another(kind):
    """Left alone, Hypothesis makes most of its values from parts of others: of 40 worlds 25 differ in the target."""
    for number in SEEDS:
        worlds = [world.world if isinstance(world, Decoding) else world for world in drawn(kind, number)]
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


@pytest.mark.parametrize("kind", [kind for kind in WORLDS if kind != "loop"])
def test_worlds_of_one_cycle_reach_the_corners(kind):
    found = shares(kind, first_node)
    least = dict.fromkeys(found, 0.25) | {"a residual of two tokens or more": 0.1}  # which takes three tokens
    assert len(found) == {"chain": 4, "batch": 3}.get(kind, 5)
    assert all(sum(figures) / len(figures) >= least[part] for part, figures in found.items())


def told(decoding: Decoding) -> dict[str, bool]:
    """What a decoder is put through."""
    parents, sampling, vocab_size = decoding.world.parents, decoding.sampling, len(decoding.world.target(()))
    facts = {
        "siblings": parents.count(0) >= 2,
        "three tokens or more": decoding.max_new_tokens >= 3,
        "temperature 1": sampling.temperature == 1,
    }
    return facts | {
        "all of these": all(facts.values()),
        "a single draft": len(parents) == 2,
        "a draft behind a draft": any(parent > 0 for parent in parents),
        "one token only": decoding.max_new_tokens == 1,
        "temperature 0": sampling.temperature == 0,
        "a top_k that cuts": sampling.top_k is not None and sampling.top_k < vocab_size,
        "a stop token": bool(decoding.stop),
        "children that are drawn": decoding.sampled,
        "siblings that are all there is": parents.count(0) == vocab_size,
    }


def test_a_third_of_the_loops_goes_on_behind_siblings():
    """Behind the first cycle, and with either child taken: else nobody sees which rows a cache has kept."""
    assert min(shares("loop", told)["all of these"]) >= 1 / 3


def test_loops_reach_the_corners_too():
    found = shares("loop", told)
    least = {"siblings that are all there is": 0.02} | dict.fromkeys(("a top_k that cuts", "a stop token"), 0.25)
    assert len(found) == 12
    assert all(sum(figures) / len(figures) >= least.get(part, 0.05) for part, figures in found.items())
