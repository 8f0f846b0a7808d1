"""Faults that have been seen before: a wrong law is easier to mend when it has a name.

Each function here is wrong in one way, on purpose. When a sampler is refuted, those of its kind are run
in the same world, and those whose law is the same are named, with their origin. Read next: `sample.py`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...dice import Dice
from ..judge.call import BrokenContract
from ..judge.cycles import all_cycles
from ..judge.kinds import TOLERANCE, Law, Sampler
from ..law import BranchLimit, total_variation
from ..worlds.tables import World
from .rules import chain_by, ratio, residual, token_by_token


class Known(NamedTuple):
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


CHAIN = (
    Known("every draft is accepted", "huggingface/transformers PR #28508", chain_by(lambda p, q, t: 1, residual)),
    Known("after a refusal the token comes from p", "common", chain_by(ratio, lambda p, q, t: p)),
    Known("q is subtracted at the refused token only", "SafeAILab/EAGLE #20", chain_by(ratio, residual_there_only)),
    Known(
        "accepts with p(x), the rule of drafts that are not random",
        "SafeAILab/EAGLE #20",
        chain_by(lambda p, q, t: p[t], residual),
    ),
    Known(
        "accepts with 2 p(x) / q(x)",
        "leniency, SGLang thresholds",
        chain_by(lambda p, q, t: 2 * ratio(p, q, t), residual),
    ),
    Known("each draft is judged by the law one place on", "ohdearquant/lattice #243", one_place_on),
)
TREE = (
    Known("siblings are not renormalised after a refusal", "a rewritten EAGLE-2 loop", tree_by(struck_out)),
    Known("p stays as it is after a refusal", "a rewritten EAGLE-2 loop", tree_by(lambda weights, token: weights)),
)
SAMPLED = (Known("siblings are judged by the raw q", "SafeAILab/EAGLE #50", raw_siblings),)
KNOWN = {"chain": CHAIN, "tree": TREE, "tree-sampled": SAMPLED}


def name_of(sampler: Sampler, world: World, got: Law) -> str | None:
    """The known faults of the sampler's kind whose law in this world is `got` too, which in a small world may be more
    than one; None when there is none."""
    found = []
    for known in KNOWN.get(sampler.kind, ()):
        other = Sampler(known.sampler, sampler.kind, sampler.exact, sampler.limits)
        try:
            law, _ = all_cycles(other, world)
        except (BrokenContract, BranchLimit):
            continue
        if total_variation(law, got) <= TOLERANCE:
            found.append(f"{known.name} ({known.origin})")
    return ", or: ".join(found) or None
