"""Exact rules of verification that the decoding loop does not use, from the papers that gave them.

    token_by_token   chain: Leviathan et al. 2211.17192, the rule of most engines
    block            chain: block verification (Sun et al. 2403.10444), optimal for one chain
    traversal        tree, children without replacement: from the leaves up (Weng et al. 2505.12398)
    k_seq            tree, children with replacement: K-SEQ of SpecTr (Sun et al. 2310.15141)

On the same drafts as `recursive_rejection` of `verify.py`, token_by_token accepts as much, block never less, traversal
more on some trees, k_seq more for some pairs of laws and less for others. Block and traversal need all laws of
a draft before the first decision, and k_seq needs children that may repeat: so the loop has none of them.

Each is called as the certifier calls samplers (`judge/kinds.py`) and draws through `dice`. Shapes: N nodes, n drafts,
V vocabulary; chains get (n,), (n, V), (n + 1, V), trees (N,), (N,), (N, V), (N, V); floats or Fractions.
Read next: `known_faults.py`.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ...dice import Dice

GRID = 64  # K-SEQ's factor is taken from multiples of 1 / GRID: any that fits is exact


def ratio(p: np.ndarray, q: np.ndarray, token: int) -> Any:
    """The chance of acceptance that keeps the law, before it is cut at 1."""
    return p[token] / q[token]


def residual(p: np.ndarray, q: np.ndarray, token: int) -> np.ndarray:
    """The weights after a refusal that keep the law."""
    return np.maximum(p - q, 0)


def chain_by(
    chance: Callable[[np.ndarray, np.ndarray, int], Any], rest: Callable[[np.ndarray, np.ndarray, int], np.ndarray]
) -> Callable[..., list[int]]:
    """A rule for chains: accept x with min(1, `chance(p, q, x)`); at the first refusal draw with the weights
    `rest(p, q, x)`, or from p where they are all 0, as happens to faulty rules only."""

    def sampler(draft_tokens: Sequence[int], draft_probs: Any, target_probs: Any, *, dice: Dice) -> list[int]:
        out: list[int] = []
        for place, token in enumerate(draft_tokens):
            p, q = target_probs[place], draft_probs[place]
            if not dice.accept(min(chance(p, q, token), 1), ("coin", place)):
                weights = rest(p, q, token)
                return [*out, dice.categorical(weights if weights.any() else p, ("rest", place))]
            out.append(int(token))
        return [*out, dice.categorical(target_probs[-1], ("bonus",))]

    return sampler


token_by_token = chain_by(ratio, residual)  # min(1, p(x) / q(x)); after a refusal (p - q)+


def block(draft_tokens: Sequence[int], draft_probs: Any, target_probs: Any, *, dice: Dice) -> list[int]:
    """Keep the longest prefix whose own coin says so: a prefix may be kept though a shorter one was not.

    rho is how much of a prefix the target can take over, the product of p / q cut at 1 on the way.
    """
    count, rho, kept = len(draft_tokens), target_probs[0].sum(), 0
    rests = [np.maximum(target_probs[0] - draft_probs[0], 0)] if count else []
    for place, token in enumerate(draft_tokens, 1):
        rho = min(1, rho * target_probs[place - 1][token] / draft_probs[place - 1][token])
        chance = rho
        if place < count:
            rests.append(np.maximum(rho * target_probs[place] - draft_probs[place], 0))
            mass = rests[-1].sum()
            chance = mass / (mass + 1 - rho) if mass + 1 - rho > 0 else 1
        if dice.accept(chance, ("coin", place)):
            kept = place
    weights = target_probs[-1] if kept == count else rests[kept]
    return [*map(int, draft_tokens[:kept]), dice.categorical(weights, ("bonus", kept))]


def traversal(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, *, dice: Dice) -> list[int]:
    """Try the deepest node of the first branch; what is refused leaves its parent a smaller law."""

    def visit(node: int, reach: Any) -> list[int] | None:
        """The tokens below `node` that are kept, a bonus last; None when the node itself is refused."""
        p, q = target_probs[node], draft_probs[node].copy()
        for child in (n for n in range(len(tokens)) if parents[n] == node):
            token, q = int(tokens[child]), q / q.sum()
            found = visit(child, min(1, reach * p[token] / q[token]))
            if found is not None:
                return [token, *found]
            rest = np.maximum(reach * p - q, 0)
            mass = rest.sum()
            if mass > 0:
                p, reach = rest / mass, mass / (mass + 1 - reach)
            else:
                reach = 0 * reach
            q[token] = 0
        return [dice.categorical(p, ("bonus", node))] if dice.accept(reach, ("coin", node)) else None

    kept = visit(0, target_probs[0].sum())  # 1, as a Fraction or as a float
    assert kept is not None, "the root is always kept"
    return kept


def k_seq(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, *, dice: Dice) -> list[int]:
    """Each of k children x is accepted with min(1, p(x) / (r q(x))), the first one accepted is taken."""
    node, out = 0, []
    while True:
        p, q = target_probs[node], draft_probs[node]
        below = [n for n in range(len(tokens)) if parents[n] == node]
        if not below:
            return [*out, dice.categorical(p, ("bonus", node))]
        r, beta = factor(p, q, len(below))
        for child in below:
            token = int(tokens[child])
            if dice.accept(min(1, p[token] / (r * q[token])), ("coin", child)):
                out.append(token)
                node = child
                break
        else:
            accepted = 1 - (1 - beta) ** len(below)
            taken = np.minimum(q, p / r) * accepted / beta if beta else 0 * p
            return [*out, dice.categorical(np.maximum(p - taken, 0), ("rest", node))]


def factor(p: np.ndarray, q: np.ndarray, count: int) -> tuple[Any, Any]:
    """The smallest r on the grid with 1 - (1 - beta)^k <= r beta, and beta, the chance that one child passes."""
    for step in range(GRID, count * GRID + 1):
        r = Fraction(step, GRID) if isinstance(p[0], Fraction) else step / GRID
        beta = np.minimum(q, p / r).sum()
        if 1 - (1 - beta) ** count <= r * beta:
            return r, beta
    return r, beta  # r = k always fits
