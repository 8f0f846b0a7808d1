"""Which path of the draft tree survives, and the bonus token after it. No network here.

The target has read the tree; `law_at(node)` is its processed law of the token after a node.
Starting at the root, each rule decides at the current node whether to descend to a child or
to stop with a bonus token. All are exact: whatever the tree, the token chosen at a node has
exactly the law `law_at(node)`, so the text has the target's law.

* `match_walk`: children are a function of the context (EAGLE-2's tree, greedy chains).
* `rejection_walk`: the loop EAGLE-2's code publishes, for the same trees; the same law.
* `recursive_rejection`: children were sampled (EAGLE-1 above temperature 0, draft models).

All arithmetic runs unchanged on float64 and on `fractions.Fraction` arrays. Temperature 0 is
the same code with a one-hot law. Deliberately left out: rules with a higher acceptance for sampled
children (block verification 2403.10444, traversal verification 2505.12398). Read next: `grow.py`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .config import require
from .dice import Dice, Name, coin, residual_draw, target_draw
from .tree import DraftTree, children

Law = np.ndarray  # (V,) probabilities, float64 or Fraction objects
LawAt = Callable[[int], Law]


class Verification(NamedTuple):
    """What a rule decided."""

    path: list[int]  # accepted nodes, root first: [0, ...]
    bonus: int  # the token the target adds after the last of them


def verify(tree: DraftTree, law_at: LawAt, dice: Dice, position: int, cycle: int) -> Verification:
    """The rule that fits the tree: recursive rejection for sampled children, else the match walk.

    position: absolute position of the token after the root. cycle: number of this cycle, for
    the names of draws. `law_at` is asked for visited nodes only.
    """
    if tree.child_laws:
        return recursive_rejection(tree, law_at, dice, position, cycle)
    return match_walk(tree, law_at, dice, position)


def match_walk(tree: DraftTree, law_at: LawAt, dice: Dice, position: int) -> Verification:
    """Draw the target's own token; descend while a child carries it; else it is the bonus.

    Lossless: every token of the text is a draw from the target's law at its place, under the
    name plain decoding uses for that place; the tree decides only how many of them one cycle
    gets. So the same seed gives the same text as plain decoding. The tree must not depend on
    these draws. A child set S is hit with probability p(S), and no rule can do better for
    children that are not random: it emits a token x with probability p(x), and so one of S with p(S).
    Checked by `test_match_walk_emits_the_target_law_for_any_tree` in tests/same_law/test_eight_properties.py.
    """
    below = children(tree.parents)
    path = [0]
    while True:
        node, depth = path[-1], len(path) - 1
        token = dice.categorical(law_at(node), target_draw(position + depth))
        match = [child for child in below[node] if tree.tokens[child] == token]
        if not match:
            return Verification(path, token)
        path += match  # siblings carry distinct tokens: there is one


def rejection_walk(tree: DraftTree, law_at: LawAt, dice: Dice, position: int, cycle: int) -> Verification:
    """EAGLE-2's loop (`evaluate_posterior`): accept a child with p(x), else zero and renormalise.

    Lossless: let a node try x1, x2, ... in turn. x1 is taken with p(x1); x2 with
    (1 - p(x1)) * p(x2) / (1 - p(x1)) = p(x2); and so on; each remaining token y gets
    (1 - p(x1) - p(x2) - ...) * p(y) / (1 - p(x1) - p(x2) - ...) = p(y). This is the match
    walk's law of path and bonus, drawn in pieces. Dividing p(x) by a draft probability would
    be wrong here: the children were not drawn, so their draft law is one-hot.
    Checked by `test_match_walk_and_rejection_walk_have_one_path_law` in tests/same_law/test_eight_properties.py.
    """
    below = children(tree.parents)
    path = [0]
    while True:
        node = path[-1]
        weights = law_at(node).copy()  # left unnormalised: if one token alone has mass, its ratio is exactly 1
        for child in below[node]:
            token = tree.tokens[child]
            if dice.accept(weights[token] / weights.sum(), coin(cycle, child)):
                path.append(child)
                break
            weights[token] = 0
        else:
            name = _final_draw(tried=bool(below[node]), position=position, path=path, cycle=cycle)
            return Verification(path, dice.categorical(weights, name))


def recursive_rejection(tree: DraftTree, law_at: LawAt, dice: Dice, position: int, cycle: int) -> Verification:
    """Children sampled without replacement: accept x with min(1, p(x) / q(x)), else p <- (p - q)+.

    q is the law the child was drawn from: the node's draft law without the earlier siblings,
    renormalised (EAGLE-1's code; Jeon et al. 2402.14160; the recursion is SpecInfer's, 2305.09781, whose
    draws are independent).

    Lossless, by induction over the children left: x ~ q is taken with min(p(x), q(x)); the
    mass refused is r = sum of (p - q)+, and what is left to realise is (p - q)+ = p - min(p, q),
    which has sum r. So if the rest (next children, or the final draw when none is left) has the
    law (p - q)+ / r, token y comes out with min(p, q)(y) + r * (p - q)+(y) / r = p(y). That
    needs the number of children not to depend on the draws, and their order to be the order
    of drawing: sorting or pruning them by probability breaks it.
    If r = 0 then p = q, and a coin of probability 1 never rejects; in floats it may by rounding,
    and then p stays as it is. ValueError when a child has draft probability 0.
    Checked by `test_recursive_rejection_emits_the_target_law` in tests/same_law/test_eight_properties.py.
    """
    below = children(tree.parents)
    path = [0]
    while True:
        node = path[-1]
        p = law_at(node)
        q = tree.child_laws[node].copy() if below[node] else None
        for child in below[node]:
            token = tree.tokens[child]
            require(bool(q[token] > 0), f"draft probability of node {child}", q[token], "above 0")
            q = q / q.sum()
            if dice.accept(min(p[token], q[token]) / q[token], coin(cycle, child)):
                path.append(child)
                break
            residual = np.maximum(p - q, 0)
            if residual.any():
                p = residual / residual.sum()
            q[token] = 0
        else:
            name = _final_draw(tried=bool(below[node]), position=position, path=path, cycle=cycle)
            return Verification(path, dice.categorical(p, name))


def _final_draw(tried: bool, position: int, path: list[int], cycle: int) -> Name:
    """The name of the bonus draw after `path`.

    Below a node without children nothing was tried, and the draw is the target's own for that
    position. So a cycle without a draft gives plain decoding's token under every rule.
    """
    return residual_draw(cycle, path[-1]) if tried else target_draw(position + len(path) - 1)
