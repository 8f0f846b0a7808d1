"""How much of a draft each exact rule accepts, in closed form, for vocabularies too large to enumerate.

Drafts are two children of one node, sampled from q with or without replacement, or q's two likeliest tokens; or a chain
of two. What is left of p after a refusal is the same whichever token was refused, so acceptance is a sum over
the first child of sums over the second. Fractions stay Fractions, and a test compares each form with the
enumerated law of its rule.

Shapes: V vocabulary; p, q (V,) laws of target and draft at the node; second_p, second_q (V, V) the same behind each
first token. Read next: `bounds.py`.
"""

import numpy as np

from ..law import Number
from .rules import factor


def one_draft(p: np.ndarray, q: np.ndarray) -> Number:
    """Leviathan et al. 2211.17192, theorem 3.5: 1 - TV(p, q)."""
    return np.minimum(p, q).sum()


def two_likeliest(p: np.ndarray, q: np.ndarray) -> Number:
    """The match walk on the two likeliest tokens of the draft: what EAGLE-2 does. No rule accepts more of them."""
    return p[np.argsort(-q, kind="stable")[:2]].sum()


def match_walk(p: np.ndarray, q: np.ndarray, *, replace: bool) -> Number:
    """The target's own draw is among two sampled children."""
    if replace:
        return (p * (1 - (1 - q) ** 2)).sum()
    odds = _odds(q)
    return (p * q * (1 + odds.sum() - odds)).sum()


def recursive(p: np.ndarray, q: np.ndarray, *, replace: bool) -> Number:
    """Recursive rejection of two sampled children (2305.09781 with, 2402.14160 without replacement)."""
    refused = np.maximum(q - p, 0)  # the chance that this token came first and was refused
    rest = np.maximum(p - q, 0)
    if not rest.any():
        return one_draft(p, q)
    rest = rest / rest.sum()
    if replace:
        return one_draft(p, q) + refused.sum() * np.minimum(rest, q).sum()
    second = q[None, :] / np.where(q < 1, 1 - q, 1)[:, None]  # (V, V): behind each refused token, which has no rest
    return one_draft(p, q) + (refused * (q < 1) * np.minimum(rest[None, :], second).sum(axis=1)).sum()


def k_seq(p: np.ndarray, q: np.ndarray) -> Number:
    """K-SEQ of SpecTr (2310.15141) on two children drawn with replacement."""
    _, beta = factor(p, q, 2)
    return 1 - (1 - beta) ** 2


def best_of_two(p: np.ndarray, q: np.ndarray, *, replace: bool) -> Number:
    """`bounds.accepted_at_node` for two children, all cuts H at once from cumulated sums over H."""
    p, q = (row[_by_ratio(p, q)] for row in (p, q))
    mass, within = _from_zero(p), _from_zero(q)
    if replace:
        inside = within**2
    else:
        # First a, then b != a, comes with q(a) q(b) / (1 - q(a)) = odds(a) q(b). Summed over both in H that is the sum
        # of odds(a) (q(H) - q(a)). A token with q = 1 is the only child there can be, and has no odds: it counts alone.
        odds = _odds(q)
        inside = within * _from_zero(odds) - _from_zero(odds * q) + _from_zero(q * (q == 1))
    return (mass + 1 - inside).min()


def chain_token_by_token(p: np.ndarray, q: np.ndarray, second_p: np.ndarray, second_q: np.ndarray) -> Number:
    """Drafts accepted of two, the usual rule."""
    return (np.minimum(p, q) * (1 + np.minimum(second_p, second_q).sum(axis=1))).sum()


def chain_block(p: np.ndarray, q: np.ndarray, second_p: np.ndarray, second_q: np.ndarray) -> Number:
    """Drafts accepted of two by block verification (2403.10444, algorithm 2)."""
    taken = np.minimum(p, q)  # q times rho, the part of each first draft that p can take over
    both = np.minimum(q[:, None] * second_q, taken[:, None] * second_p).sum(axis=1)
    rho = taken / np.where(q > 0, q, 1)
    mass = np.maximum(rho[:, None] * second_p - second_q, 0).sum(axis=1)
    whole = mass + 1 - rho
    chance = np.where(whole > 0, mass / np.where(whole > 0, whole, 1), 1)
    return (both + (q - both) * chance).sum() + both.sum()


def chain_bound(p: np.ndarray, q: np.ndarray, second_p: np.ndarray, second_q: np.ndarray) -> Number:
    """No exact rule accepts more: one overlap of laws for each length."""
    return one_draft(p, q) + np.minimum(p[:, None] * second_p, q[:, None] * second_q).sum()


def _odds(q: np.ndarray) -> np.ndarray:
    """q / (1 - q): what it takes for a second child to come behind this one; 0 where none can."""
    return np.where(q < 1, q / np.where(q < 1, 1 - q, 1), 0)


def _by_ratio(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The tokens in the order of falling q / p, those with p = 0 first."""
    ratio = np.array([q[token] / p[token] if p[token] > 0 else np.inf for token in range(len(p))])
    return np.argsort(-ratio, kind="stable")


def _from_zero(row: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, ... entries."""
    return np.concatenate([row[:1] * 0, np.cumsum(row)])
