# %% [markdown]
# # It looks exact, and is biased
#
# What people say is on the page `myths.md`; `myths.py` is the command.

# %%
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from myths_tables import P, Q, drawn, line, myth, next_token, off_by, siblings, tenths

from eagle_min.dice import Dice
from eagle_min.exactness.law import law, total_variation
from eagle_min.exactness.worlds.tables import Table
from eagle_min.tree import DraftTree, ancestor_mask, path_to
from eagle_min.verify import match_walk, recursive_rejection


@myth
def medusa() -> None:
    """Medusa is lossless."""
    entropy = -sum(float(x) * math.log(x) for x in P)
    threshold = min(0.09, 0.3 * math.exp(-entropy))  # epsilon and delta as its code has them

    def typical(dice: Dice, draft: int) -> int:
        return draft if P[draft] > threshold else dice.categorical(P, ("own",))

    laws = [law(lambda dice, draft=draft: typical(dice, draft)) for draft in (1, 2)]
    offs = [line(f"typical acceptance, draft says {draft}", found) for draft, found in zip((1, 2), laws)]
    assert min(offs) > Fraction(1, 2) and laws[0] != laws[1], "the text is the drafter's"


@myth
def grandparent() -> None:
    """A tree node sees its parent and its grandparent."""
    target = Table((P, tenths(1, 6, 3), tenths(4, 2, 4)))  # its law depends on every token that it sees

    def text(dice: Dice, mask: np.ndarray, tree: DraftTree) -> tuple:
        def law_at(node: int) -> np.ndarray:
            return target(tuple(tree.tokens[other] for other in np.flatnonzero(mask[node])))

        path, bonus = match_walk(tree, law_at, dice, position=1)
        found = [tree.tokens[0], *(tree.tokens[node] for node in path[1:]), bonus]
        while len(found) < 5:
            found.append(dice.categorical(target(tuple(found)), ("own", len(found))))
        return tuple(found)

    offs = {}
    for deepest in (2, 3):
        tree = DraftTree((0, 1, 2, 0)[: deepest + 1], tuple(range(-1, deepest)), (0.0,) * (deepest + 1))
        full, near = ancestor_mask(tree.parents), ancestor_mask(tree.parents)
        for node in range(len(tree)):
            near[node, path_to(tree.parents, node)[:-3]] = False  # itself, parent, grandparent, no further
        wanted = law(lambda dice: text(dice, np.eye(1, dtype=bool), DraftTree((0,), (-1,), (0.0,))))
        for name, mask in (("all ancestors", full), ("parent and grandparent", near)):
            off = total_variation(law(lambda dice, mask=mask, tree=tree: text(dice, mask, tree)), wanted)
            offs[name, deepest] = off
            print(f"draft {deepest} deep, {name:<22}  {off_by(off)}")
    assert [off for off in offs.values() if off] == [offs["parent and grandparent", 3]]


@myth
def sorted_children() -> None:
    """The order in which drawn children are verified does not matter."""

    def program(dice: Dice, rule: Callable, likelier_first: bool) -> int:
        children = drawn(dice, Q, count=2)
        if likelier_first:
            children.sort(key=lambda token: -Q[token])
        return next_token(rule, siblings(*children, q=None if rule is match_walk else Q), dice)

    offs = [
        line("p/q in the order of drawing", law(lambda dice: program(dice, recursive_rejection, False))),
        line("p/q, the likelier child first", law(lambda dice: program(dice, recursive_rejection, True))),
        line("match walk, the likelier first", law(lambda dice: program(dice, match_walk, True))),
    ]
    assert offs[0] == 0 == offs[2] < offs[1]
