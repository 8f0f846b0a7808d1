# %% [markdown]
# # It is not EAGLE-2
#
# What people say is on the page `myths.md`; `myths.py` is the command.

# %%
from fractions import Fraction

import numpy as np
from myths_tables import myth, tenths

from eagle_min.config import TreeConfig
from eagle_min.exactness.law import law
from eagle_min.grow import confidence, ratio
from eagle_min.tree import DraftTree, draw
from eagle_min.verify import match_walk


@myth
def ratio_rule() -> None:
    """EAGLE-2 branches where the ratio of the two best probabilities is low."""
    rows = tenths(3, 7), tenths(1, 9)  # the draft's law after a and after b; the target agrees with it

    def expand(tokens: list[int], parents: list[int], nodes: list[int]) -> np.ndarray:
        return np.log(np.array([rows[tokens[node]] for node in nodes], dtype=float))

    def accepted(tree: DraftTree) -> Fraction:
        counts = law(lambda dice: len(match_walk(tree, lambda node: rows[tree.tokens[node]], dice, 1).path) - 1)
        return sum(count * share for count, share in counts.items())

    means = []
    for name, grow in (("EAGLE-2", confidence), ("ratio rule", ratio)):
        tree = grow(0, expand, TreeConfig(num_nodes=6, depth=3), 3)
        means.append(accepted(tree))
        print(f"{name}, {tree.num_drafted} drafts, {float(means[-1]):.3f} accepted")
        print(draw(tree, lambda node, tree=tree: "ab"[tree.tokens[node]]))
    assert means[0] > means[1]
