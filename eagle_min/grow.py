"""Which tree: chain, EAGLE-1's fixed tree, the articles' ratio rule, EAGLE-2's confidence.

A grower asks `expand` for the draft's log-probabilities below some nodes, one call a head
pass, and decides which children to keep. Confidence is the untempered draft probability
(EAGLE-2 2406.16858 section 3.2: it tracks acceptance), and the value of a node
is the sum of its log along the path. All growers but `static_sampled` make a tree that is a
function of the context, at every temperature. No network here.

Shapes: N nodes, V vocabulary. `depth` is the room: the longest draft allowed now, 0 or more.
Deliberately left out: trees tuned to data offline (Sequoia 2402.12374). Read next: `cache.py`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from .config import SamplingConfig, TreeConfig, require
from .dice import Dice, draft_draw
from .sampling import next_token_law
from .tree import DraftTree, select

Pick = Callable[[int, np.ndarray, int], list[tuple[int, float]]]  # node, row, width -> its (token, log-probability)


class Expand(Protocol):
    """Runs the drafter on `nodes` of a tree under construction: one pass of the head."""

    def __call__(self, tokens: list[int], parents: list[int], nodes: list[int]) -> np.ndarray:
        """Untempered log-probabilities (len(nodes), V) of the children of `nodes`; -inf: never one.

        The first call of a tree is for [0], the root; later ones for children of nodes that were
        expanded before. The lists may hold further nodes, and belong to the grower.
        """
        ...


class Sapling:
    """The tree under construction: three lists that grow together."""

    def __init__(self, root: int) -> None:
        self.tokens, self.parents, self.values = [root], [-1], [0.0]

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, parent: int, token: int, log_probability: float) -> int:
        """Append a node; its number. A log-probability rounded to above 0 counts as 0."""
        self.tokens.append(token)
        self.parents.append(parent)
        self.values.append(self.values[parent] + min(log_probability, 0.0))
        return len(self.tokens) - 1

    def tree(self, child_laws: Mapping[int, np.ndarray] | None = None) -> DraftTree:
        return DraftTree(tuple(self.tokens), tuple(self.parents), tuple(self.values), child_laws or {})


def top_children(rows: np.ndarray, k: int) -> list[list[tuple[int, float]]]:
    """For each row (V,) its min(k, V) best (token, log-probability) pairs, falling.

    Ties go to the smaller token; tokens at -inf are left out; ValueError for NaN.
    A full sort of every row would cost more than the rest of growing: find the k-th largest
    value, then sort the few tokens that reach it.
    """
    k = min(k, rows.shape[1])
    best = np.partition(rows, -k, axis=1)[:, -k:]  # (n, k), its first column the k-th largest; NaN would be last
    require(not np.isnan(best).any(), "log-probabilities", math.nan, "numbers")
    threshold = np.maximum(best[:, :1], np.finfo(rows.dtype).min)  # above -inf
    row, token = np.nonzero(rows >= threshold)
    value = rows[row, token]
    order = np.lexsort((-value, row))  # by row, then falling value; stable, so then by token
    result: list[list[tuple[int, float]]] = [[] for _ in rows]
    for r, t, v in zip(row[order].tolist(), token[order].tolist(), value[order].tolist()):
        if len(result[r]) < k:
            result[r].append((t, v))
    return result


def chain(root: int, expand: Expand, config: TreeConfig, depth: int) -> DraftTree:
    """The draft's best token, its best token after that, and so on: one branch, one call a token."""
    sapling = Sapling(root)
    for node in range(min(depth, config.depth, config.num_nodes - 1)):
        [best] = top_children(expand(sapling.tokens, sapling.parents, [node]), 1)
        if not best:
            break
        sapling.add(node, *best[0])
    return sapling.tree()


def static(root: int, expand: Expand, config: TreeConfig, depth: int) -> DraftTree:
    """EAGLE-1's fixed tree: a node with rank r is the r-th best child of its parent.

    The shape is the first num_nodes - 1 of `config.paths` (level order, so parents stay), no
    deeper than `depth` and config.depth. A rank the vocabulary cannot fill is left out with all
    that hangs on it, and not made up for elsewhere.
    """
    return _static(root, expand, config, depth, lambda node, row, width: top_children(row[None], width)[0]).tree()


def static_sampled(
    root: int, expand: Expand, config: TreeConfig, depth: int, dice: Dice, cycle: int, sampling: SamplingConfig
) -> DraftTree:
    """EAGLE-1 above temperature 0: the same shape, child r the r-th draw without replacement.

    The draws come from the draft law under the target's `sampling`, which goes into child_laws:
    verification needs the very law that was used. A node has fewer children only when its law
    has fewer tokens, so their number does not depend on the draws, as exactness requires.
    At temperature 0 nothing is drawn, and the tree is `static`'s.
    """
    if sampling.temperature == 0:
        return static(root, expand, config, depth)
    child_laws: dict[int, np.ndarray] = {}

    def pick(node: int, row: np.ndarray, width: int) -> list[tuple[int, float]]:
        if row.max() == -math.inf:
            return []  # the draft ends here
        child_laws[node] = next_token_law(row, sampling)
        weights = child_laws[node].copy()
        drawn = []
        for rank in range(min(width, np.count_nonzero(weights))):
            token = dice.categorical(weights, draft_draw(cycle, node, rank))
            drawn.append((token, float(row[token])))
            weights[token] = 0
        return drawn

    return _static(root, expand, config, depth, pick).tree(child_laws)


def _static(root: int, expand: Expand, config: TreeConfig, depth: int, pick: Pick) -> Sapling:
    """Fill the fixed shape level by level; `pick(node, row, width)` names the children of a node."""
    limit = min(depth, config.depth)
    paths = [path for path in config.paths if len(path) <= limit][: config.num_nodes - 1]
    sapling, node_at = Sapling(root), {"": 0}
    for level in range(1, limit + 1):
        widths: dict[str, int] = {}  # path of a parent -> how many children the shape gives it
        for path in paths:
            if len(path) == level and path[:-1] in node_at:
                widths[path[:-1]] = widths.get(path[:-1], 0) + 1
        if not widths:
            break
        rows = expand(sapling.tokens, sapling.parents, [node_at[parent] for parent in widths])
        for (parent, width), row in zip(widths.items(), rows):
            for rank, (token, value) in enumerate(pick(node_at[parent], row, width)):
                node_at[f"{parent}{rank}"] = sapling.add(node_at[parent], token, value)
    return sapling


def ratio(root: int, expand: Expand, config: TreeConfig, depth: int) -> DraftTree:
    """The rule popular articles give (it is not EAGLE-2's): deep when sure, wide when not.

    With p1, p2 the two best draft probabilities below a node: p1 / p2 above
    config.ratio_threshold gives one child, so that a run of sure nodes is a chain. Otherwise 2, 3 or
    4 children as log(p1 / p2) lies in the upper, middle or lower third of [0, log threshold], but
    at most config.top_k. Level by level, in level order, until num_nodes or the depth is reached.
    """
    sapling, level = Sapling(root), [0]
    sure = math.log(config.ratio_threshold)
    for _ in range(min(depth, config.depth)):
        level = level[: config.num_nodes - len(sapling)]  # each gets a child, so more have no room
        if not level:
            break
        pairs = top_children(expand(sapling.tokens, sapling.parents, level), 4)
        parents, level = level, []
        for parent, best in zip(parents, pairs):
            gap = best[0][1] - best[1][1] if len(best) > 1 else math.inf
            width = 1 if gap > sure else 2 if gap > sure * 2 / 3 else 3 if gap > sure / 3 else 4
            room = config.num_nodes - len(sapling)
            level += [sapling.add(parent, *pair) for pair in best[: min(width, config.top_k, room)]]
    return sapling.tree()


def confidence(root: int, expand: Expand, config: TreeConfig, depth: int) -> DraftTree:
    """EAGLE-2 (2406.16858 section 4): expand the likeliest nodes, then rerank all candidates.

    Expand: a level's top_k best values (of the whole path) are expanded, each into its top_k
    children; all of these are candidates. Rerank: keep the num_nodes - 1 best values. With a
    config.min_confidence (not in the paper), those of them whose confidence is below it are left out:
    such a node is accepted so rarely that its place in the target call may cost more than it brings.

    Connected: a child's value is at most its parent's, because log-probabilities are at most 0,
    and candidates are listed level by level. A stable sort by falling value therefore puts every
    parent before its children, ties included (the official code uses `torch.topk`, which
    promises nothing about ties), and any prefix of that order is a tree with the root.
    For the same reason a node that is not among the num_nodes - 1 best so far never will be, nor
    will any node below it: neither is it expanded here, which changes the cost and not the tree. And
    what is below min_confidence is outranked by what is not, so leaving it out changes nothing else.
    Checked by `test_rerank_keeps_the_best_and_stays_connected` in tests/same_law/test_eight_properties.py.
    """
    sapling, beam, kept = Sapling(root), [0], []
    budget = config.num_nodes - 1
    least = math.log(config.min_confidence) if config.min_confidence else -math.inf
    for _ in range(min(depth, config.depth, budget)):
        first = len(sapling)
        rows = expand(sapling.tokens, sapling.parents, beam)
        for node, best in zip(beam, top_children(rows, config.top_k)):
            for token, value in best:
                sapling.add(node, token, value)
        new = [node for node in range(first, len(sapling)) if sapling.values[node] >= least]
        kept = sorted([*kept, *new], key=sapling.values.__getitem__, reverse=True)[:budget]
        beam = [node for node in kept if node >= first][: config.top_k]
        if not beam:
            break
    return select(sapling.tree(), [0, *sorted(kept)])


GROWERS = {"chain": chain, "static": static, "ratio": ratio, "confidence": confidence}
