"""Medusa's typical acceptance, and its exact distance from the target's law.

Typical acceptance (Cai et al. 2401.10774, section 2.3.1) is *lossy*: a draft x is taken when the target finds
it likely enough, p(x) > min(epsilon, delta exp(-H(p))) with H the entropy, where an exact rule takes it with
probability p(x). The longest accepted path wins; among equally long ones, as in the official code, the one
the target finds likeliest. Then comes a bonus token: the official code takes the target's likeliest one, and
drawing it from the target's law would be the other choice.

Nothing here is random but the bonus, so the law of a cycle is known exactly, and so is its distance from the
target's law, without sampling a text. The expected number of drafts that the exact rule (the match walk)
accepts is a sum over the nodes of the tree.
Shapes: N nodes of a tree, V vocabulary; laws (N, V), float64 or Fraction. Read next: `../judge/verdict.py`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...config import require
from ...tree import DraftTree, children, depths, path_to
from ..law import Number

Law = np.ndarray
Bonus = Callable[[Law], Law]  # the target's law at the last accepted node -> the law of the token after it


@dataclass(frozen=True)
class Typical:
    """The thresholds; the defaults are as in the official code, where delta is the root of epsilon."""

    epsilon: float = 0.09
    delta: float = 0.3

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            require(0 < value <= 1, name, value, "above 0 and at most 1")

    def threshold(self, law: Law) -> float:
        """A draft is taken when its probability under `law` (V,) is above this."""
        p = law.astype(np.float64)
        entropy = -(p * np.log(np.where(p > 0, p, 1))).sum()
        return min(self.epsilon, self.delta * math.exp(-entropy))


def likeliest(law: Law) -> Law:
    """All on the first maximum of a law (V,)."""
    chosen = law * 0
    chosen[np.argmax(law)] += 1
    return chosen


BONUSES: dict[str, Bonus] = {"argmax": likeliest, "draw": lambda law: law}


def reach(tree: DraftTree, laws: np.ndarray) -> list[Number]:
    """For each node the target's probability of the tokens from below the root down to it; 1 at the root."""
    result: list[Number] = [laws[0].sum() * 0 + 1]
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        result.append(result[parent] * laws[parent][tree.tokens[node]])
    return result


def accepted_exactly(tree: DraftTree, laws: np.ndarray) -> Number:
    """Drafts that the match walk accepts of a cycle, expected: it comes through a node as often as the target does."""
    return sum(reach(tree, laws)[1:])


def accepted_path(tree: DraftTree, laws: np.ndarray, rule: Typical) -> list[int]:
    """The nodes that typical acceptance takes, root first."""
    taken, level, mass, below = {0}, depths(tree.parents), reach(tree, laws), children(tree.parents)
    for node in range(len(tree)):
        if node in taken:
            least = rule.threshold(laws[node])
            taken |= {child for child in below[node] if laws[node][tree.tokens[child]] > least}
    last = max(sorted(taken), key=lambda node: (level[node], mass[node]))  # ties: the first
    return path_to(tree.parents, last)


def first_token_law(tree: DraftTree, laws: np.ndarray, rule: Typical, bonus: Bonus) -> Law:
    """The law (V,) of the token after the root under typical acceptance. The exact one is `laws[0]`."""
    path = accepted_path(tree, laws, rule)
    if len(path) == 1:
        return bonus(laws[0])
    law = laws[0] * 0
    law[tree.tokens[path[1]]] += 1
    return law


def first_token_error(tree: DraftTree, laws: np.ndarray, rule: Typical, bonus: Bonus) -> Number:
    """Total variation between the law of the token after the root and the target's."""
    return abs(first_token_law(tree, laws, rule, bonus) - laws[0]).sum() / 2


def cycle_error(tree: DraftTree, laws: np.ndarray, rule: Typical, bonus: Bonus) -> Number:
    """Total variation between the law of all tokens that the cycle commits, and the target's law of as many.

    Their number does not depend on the bonus, and all but the last are certain; so the two laws have in common what
    min() leaves of the texts that begin with the accepted path.
    """
    path = accepted_path(tree, laws, rule)
    law = laws[path[-1]]
    return 1 - np.minimum(bonus(law), reach(tree, laws)[path[-1]] * law).sum()
