"""Faults that samplers were seen to have, each under its name: a wrong law is easier to mend when it has one.

Every function here is wrong in one way, on purpose. When a sampler is refuted, the faults of its kind are run in the
same world, and those that have the same law are named in the report, with the place where they were met.
Read next: `closed_forms.py`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...dice import Dice
from .rules import chain_by, ratio, residual, token_by_token


class KnownFault(NamedTuple):
    """A fault by name."""

    name: str
    origin: str  # where it was met
    sampler: Callable[..., list[int]]


def residual_there_only(p: np.ndarray, q: np.ndarray, token: int) -> np.ndarray:
    """q is subtracted at the refused token and nowhere else."""
    left = p.copy()
    left[token] = max(p[token] - q[token], 0)
    return left


def one_place_on(draft_tokens: Any, draft_probs: Any, target_probs: Any, *, dice: Dice) -> list[int]:
    """Each draft is judged by the law one place on."""
    return token_by_token(draft_tokens, draft_probs, np.concatenate([target_probs[1:], target_probs[-1:]]), dice=dice)


def tree_by(refused: Callable[[np.ndarray, int], np.ndarray]) -> Callable[..., list[int]]:
    """EAGLE-2's loop with p(x) as the chance of every sibling; `refused(weights, token)` is what is left."""

    def sampler(tokens: Any, parents: Any, target_probs: Any, *, dice: Dice) -> list[int]:
        node, out = 0, []
        while True:
            p = weights = target_probs[node]
            for child in (n for n in range(len(tokens)) if parents[n] == node):
                if dice.accept(p[tokens[child]], ("coin", child)):
                    out.append(int(tokens[child]))
                    node = child
                    break
                weights = refused(weights, tokens[child])
            else:
                return [*out, dice.categorical(weights if weights.any() else p, ("rest", node))]

    return sampler


def struck_out(weights: np.ndarray, token: int) -> np.ndarray:
    """Without the token."""
    left = weights.copy()
    left[token] = 0
    return left


def raw_siblings(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, *, dice: Dice) -> list[int]:
    """Children drawn without replacement are judged by q as it was before any of them was drawn."""
    node, out = 0, []
    while True:
        p, q = target_probs[node], draft_probs[node]
        for child in (n for n in range(len(tokens)) if parents[n] == node):
            token = int(tokens[child])
            if dice.accept(min(p[token] / q[token], 1), ("coin", child)):
                out.append(token)
                node = child
                break
            left = np.maximum(p - q, 0)
            p = left / left.sum() if left.any() else p
        else:
            return [*out, dice.categorical(p, ("rest", node))]


OF_CHAINS = (
    KnownFault("every draft is accepted", "huggingface/transformers PR #28508", chain_by(lambda p, q, t: 1, residual)),
    KnownFault("after a refusal the token comes from p", "common", chain_by(ratio, lambda p, q, t: p)),
    KnownFault(
        "q is subtracted at the refused token only", "SafeAILab/EAGLE #20", chain_by(ratio, residual_there_only)
    ),
    KnownFault(
        "accepts with p(x), the rule of drafts that are not random",
        "SafeAILab/EAGLE #20",
        chain_by(lambda p, q, t: p[t], residual),
    ),
    KnownFault(
        "accepts with 2 p(x) / q(x)",
        "leniency, SGLang thresholds",
        chain_by(lambda p, q, t: 2 * ratio(p, q, t), residual),
    ),
    KnownFault("each draft is judged by the law one place on", "ohdearquant/lattice #243", one_place_on),
)
OF_TREES = (
    KnownFault("siblings are not renormalised after a refusal", "a rewritten EAGLE-2 loop", tree_by(struck_out)),
    KnownFault("p stays as it is after a refusal", "a rewritten EAGLE-2 loop", tree_by(lambda weights, token: weights)),
)
OF_SAMPLED_TREES = (KnownFault("siblings are judged by the raw q", "SafeAILab/EAGLE #50", raw_siblings),)
