"""What makes EAGLE-2's tree good: growers that leave out one part of its rule, or both.

EAGLE-2 ranks a node by its *value*, the confidence of the whole path, and after expanding reranks all
candidates. Without the value a node is ranked by its own confidence, given its parent. Without the rerank
the tree is made of the nodes that were chosen for expanding: `top_k` a level, level by level until the places
are used up, so that the last level may be cut to its best; a second row has levels just so narrow
that the nodes last for the whole depth.

A node's own confidence may exceed its parent's, so the best of these need not be connected. They are taken
from the root on, the best one next whose parent was taken, which for values is the same as sorting.
Read next: `short_trainings.py`.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from .... import grow
from ....config import TreeConfig
from ....drafters.registry import REGISTRY
from ....grow import Expand, Sapling, top_children
from ....head import Grow
from ....tree import DraftTree, children, select
from ...experiment import Experiment, Setting
from ...figures.svg import Bar, bars
from ...figures.tables import Column, number, word
from ...instruments.measures import all_cycles, gap_figures, mean_nodes, tau_figures
from ...options import HEAD, SEED, count
from ...record import Row
from .claim import TAU, num_prefixes, ranked

COLUMNS: list[Column] = [("tree", word("variant")), *TAU, ("nodes", number("nodes", 1))]


def ablated(
    root: int, expand: Expand, config: TreeConfig, depth: int, *, value: bool, rerank: bool, narrow: bool = False
) -> DraftTree:
    """EAGLE-2's tree, without the value or the rerank unless they are asked for; with both it is
    `grow.confidence`. narrow: `top_k` is lowered until the nodes last for the whole depth."""
    budget, room = config.num_nodes - 1, min(depth, config.depth)
    width = max(1, min(config.top_k, math.ceil(budget / max(1, room)))) if narrow else config.top_k
    sapling, own, beam, levels = Sapling(root), [0.0], [0], []

    def rank(node: int) -> float:
        return sapling.values[node] if value else own[node]

    for _ in range(min(room, budget)):
        first = len(sapling)
        rows = expand(sapling.tokens, sapling.parents, beam)
        for node, best in zip(beam, top_children(rows, width)):
            for token, log_probability in best:
                sapling.add(node, token, log_probability)
                own.append(log_probability)
        beam = sorted(range(first, len(sapling)), key=rank, reverse=True)[:width]  # stable: ties to the smaller node
        if not beam:
            break
        levels += beam
    kept = best_connected(sapling.parents, rank, budget) if rerank else levels[:budget]
    return select(sapling.tree(), [0, *sorted(kept)])


def best_connected(parents: Sequence[int], rank: Callable[[int], float], budget: int) -> list[int]:
    """At most `budget` nodes: again and again the best whose parent was taken, ties to the smaller node."""
    below, taken = children(parents), []
    waiting = [(-rank(node), node) for node in below[0]]
    heapq.heapify(waiting)
    while waiting and len(taken) < budget:
        taken.append(heapq.heappop(waiting)[1])
        for node in below[taken[-1]]:
            heapq.heappush(waiting, (-rank(node), node))
    return taken


GROWERS: dict[str, Grow] = {
    "EAGLE-2": grow.confidence,
    "no rerank": partial(ablated, value=True, rerank=False),
    "no rerank, narrow levels": partial(ablated, value=True, rerank=False, narrow=True),
    "no path product": partial(ablated, value=False, rerank=True),
    "neither": partial(ablated, value=False, rerank=False),
    "fixed shape (EAGLE-1)": grow.static,
}


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each grower, all with the same head and as many nodes; greedy, as in the paper's table."""
    best = None
    for name, grower in GROWERS.items():
        drafter = setting.drafter("eagle2", replace(REGISTRY["eagle2"].tree, num_nodes=setting.options.nodes))
        drafter.grow = grower
        starts = setting.first_cycles(drafter, 0.0)
        nodes = mean_nodes(all_cycles(starts))
        gap = gap_figures("EAGLE-2", best, starts, setting.seed)
        yield {"variant": name, **tau_figures(starts, setting.seed), "nodes": nodes, **gap}
        best = best or starts


def picture(rows: Sequence[Row]) -> str:
    """A bar for each grower."""
    chart = [Bar(row["variant"], row["tau"], row["tau_low"], row["tau_high"], int("behind" in row)) for row in rows]
    return bars("tau behind held-out code with as many nodes, T=0", chart)


EXPERIMENT = Experiment(
    name="tree",
    question="Which part of EAGLE-2's rule makes its tree good?",
    claim="Ranking by the confidence of the whole path and reranking all candidates both lengthen what is accepted, "
    "and the tree beats one of fixed shape (EAGLE-2, 2406.16858, table 3 and section 4).",
    options=[HEAD, num_prefixes(500), count("nodes", 24, "of a tree, the root included"), SEED],
    rows=measured,
    tables=[COLUMNS],
    verdict=ranked,
    pictures={"study_tree.svg": picture},
)
