"""Does the drafter's confidence track acceptance? Draft probability against acceptance, in bins.

EAGLE-2 (2406.16858, figure 6) grows its trees by the draft's confidence because confidence and
acceptance lie nearly on a line. Here the same is counted on trees as they were decoded. A node
is *tried* when its parent was accepted, for only then did the target decide about it. Its draft
probability is that of its token behind its parent's path, untempered; it was accepted when
it lies on the accepted path. Evenly wide bins; an empty one has no figure.

At temperature 0 a node is accepted when it carries the target's likeliest token, and a drafter
that knows its own errors still lies on the diagonal. Read next: `counted.py`.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from ...decode import Cycle

NUM_BINS = 10


class Bin(NamedTuple):
    """Nodes whose draft probability is in [low, high); the last bin takes 1 as well."""

    low: float
    high: float
    num_tried: int
    mean_probability: float | None  # None when nothing was tried
    acceptance: float | None


def tried_nodes(cycle: Cycle) -> list[tuple[float, bool]]:
    """(draft probability, accepted) of each node whose parent was accepted."""
    if cycle.tree is None:
        return []
    accepted, tree = set(cycle.path), cycle.tree
    confidence = tree.log_confidence
    return [
        (math.exp(confidence[node] - confidence[parent]), node in accepted)
        for node, parent in enumerate(tree.parents)
        if parent in accepted
    ]


def calibration(cycles: Iterable[Cycle]) -> list[Bin]:
    """The NUM_BINS bins, in rising order of draft probability."""
    members: list[list[tuple[float, bool]]] = [[] for _ in range(NUM_BINS)]
    for cycle in cycles:
        for probability, accepted in tried_nodes(cycle):
            members[min(int(probability * NUM_BINS), NUM_BINS - 1)].append((probability, accepted))
    bins = []
    for place, pairs in enumerate(members):
        mean, share = (sum(column) / len(pairs) for column in zip(*pairs)) if pairs else (None, None)
        bins.append(Bin(place / NUM_BINS, (place + 1) / NUM_BINS, len(pairs), mean, share))
    return bins
