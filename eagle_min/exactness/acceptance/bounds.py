"""How many drafted tokens any exact rule can accept, in a world of tables.

One node. Children are drawn with law Q(S) over sets S. A rule that keeps the target's law p accepts at most the
minimum over sets H of p(H) + 1 - Q(S inside H): the mass that p can take from the children is a flow, and this is its
smallest cut (Sun et al. 2310.15141; Hu et al. 2502.18779). Only prefixes of the tokens in the order of
falling q/p need be tried as H.

A chain. The first i tokens are all accepted with probability at most 1 - TV between the laws that draft and target
give to i tokens (2403.10444). Not all of these can be reached at once: the best rule, block verification, may stay
below their sum.

The `bound_of_...` functions are about one call in a world: the expected number of drafts accepted, behind nothing.
Read next: `typical.py`.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product

from ..law import Number, total_variation
from ..worlds.tables import Text, World, joint_law, likeliest_tree, paths


def accepted_at_node(p: Sequence[Number], q: Sequence[Number], num_children: int, *, replace: bool) -> Number:
    """The most that any exact rule accepts at one node with so many sampled children."""
    order = sorted(range(len(p)), key=lambda token: (p[token] > 0, -q[token] / p[token] if p[token] else 0))
    inside = with_replacement if replace else without_replacement
    cuts = (order[:size] for size in range(len(order) + 1))
    return min(sum(p[token] for token in cut) + 1 - inside(q, cut, num_children) for cut in cuts)


def with_replacement(q: Sequence[Number], cut: Sequence[int], num_children: int) -> Number:
    """Probability that all children are in `cut`."""
    return sum(q[token] for token in cut) ** num_children if num_children else Fraction(1)


def without_replacement(q: Sequence[Number], cut: Sequence[int], num_children: int) -> Number:
    """The same for children drawn one after the other; as many as the draft can propose."""
    count = min(num_children, sum(weight > 0 for weight in q))
    total: Number = Fraction(0)
    for drawn in permutations([token for token in cut if q[token] > 0], count):
        chance, left = Fraction(1), sum(q)
        for token in drawn:
            chance, left = chance * q[token] / left, left - q[token]
        total += chance
    return total


def bound_of_chain(world: World) -> Number:
    """Sum over i of 1 - TV of the i-token laws."""
    lengths = range(1, world.num_drafted + 1)
    return sum(1 - total_variation(joint_law(world.draft, (), i), joint_law(world.target, (), i)) for i in lengths)


def bound_of_tree(world: World) -> Number:
    """A tree that is a function of the context: the mass the target gives to its paths."""
    return sum(probability(world, path) for path in paths(likeliest_tree(world, ()), world.parents)[1:])


def probability(world: World, path: Text) -> Number:
    """What the target gives to a path behind the empty text."""
    chance: Number = Fraction(1)
    for depth, token in enumerate(path):
        chance *= world.target(path[:depth])[token]
    return chance


def bound_of_sampled_tree(world: World, *, replace: bool) -> Number:
    """Level by level: at most the bound of each node is accepted there, whatever was drawn above. The largest bound
    over all texts is taken, so trees deeper than one level need not reach the sum."""
    total, reach = Fraction(0), {0: Fraction(1)}
    for node in range(len(world.parents)):
        below = [child for child in range(node + 1, len(world.parents)) if world.parents[child] == node]
        if not below:
            continue
        depth = len(paths([0] * len(world.parents), world.parents)[node])
        texts = product(range(world.vocab_size), repeat=depth)
        most = max(accepted_at_node(world.target(t), world.draft(t), len(below), replace=replace) for t in texts)
        total += reach[node] * most
        reach |= {child: reach[node] * most for child in below}
    return total
