"""A drafter of a table that checks what every grower owes it, and the trees that come of it."""

import numpy as np
from oracles import best_candidates, candidate_pool, token_path
from strategies import TableModel

from eagle_min.config import TreeConfig
from eagle_min.grow import confidence

ROOT = 1


class Draft:
    """`expand` over a table; checks what every grower owes it and counts calls and their widths."""

    def __init__(self, model: TableModel) -> None:
        self.model, self.widths, self.expanded = model, [], set()

    def __call__(self, tokens, parents, nodes):
        assert len(tokens) == len(parents) and len(nodes) > 0
        assert nodes == [0] if not self.widths else all(parents[node] in self.expanded for node in nodes)
        assert not self.expanded & set(nodes) and len(set(nodes)) == len(nodes)
        self.expanded |= set(nodes)
        self.widths.append(len(nodes))
        return np.stack([self.model.log_weights((ROOT, *token_path(tokens, parents, node))) for node in nodes])


def paths(tree) -> dict[tuple[int, ...], float]:
    """Token path of each drafted node -> its log-confidence."""
    nodes = range(1, len(tree))
    return {token_path(tree.tokens, tree.parents, node): tree.log_confidence[node] for node in nodes}


def assert_the_best_are_kept(model: TableModel, config: TreeConfig, depth: int) -> None:
    """The tree that `confidence` grows is the best by brute force, connected, and grown in few narrow passes."""
    draft = Draft(model)
    tree = confidence(ROOT, draft, config, depth)
    room = min(depth, config.depth)
    pool = candidate_pool(lambda path: model.log_weights((ROOT, *path)), config.top_k, room)
    kept = paths(tree)
    assert kept == best_candidates(pool, config.num_nodes - 1)
    assert len(kept) == min(config.num_nodes - 1, len(pool))
    assert all(path[:-1] in kept or len(path) == 1 for path in kept)
    assert len(draft.widths) <= room and all(width <= config.top_k for width in draft.widths)
