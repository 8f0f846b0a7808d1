"""Heads trained like the paper's but for one thing, and how such heads draft.

A *variant* says what a head is told, how its error on features is measured, and how many steps of its own it
is shown; all else is the paper's recipe in `head.py`, weights of the two losses included. Variants start
from the same weights and see the same windows, and what the target says about these is read once for all. A
run lies in a folder of its own, so that it can be stopped and resumed.

Row t of a head is about the feature at t + 1. It may be told the feature at t, or not; and the token at t + 1
(*shifted*, the one that was chosen behind feature t), the token at t (*unshifted*), or none.
Shapes: B windows, L tokens, D width, V vocabulary, T rows. Read next: `rivals/registry.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from ..cache import KVCache
from ..config import TreeConfig
from ..decode import Reading
from ..drafters.model_set import ModelSet
from ..head import EagleDrafter, EagleHead, Grow, TreeSession
from ..model import GPT
from .head import HEAD_SHAPE, RECIPES, loss_of_steps, new_head, noisy_features, train_louder
from .loop import TrainConfig
from .teacher import Teaching

PAPER = RECIPES["paper"]
DISTANCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "smooth L1": F.smooth_l1_loss,
    # halved, it is smooth L1 wherever the error is below 1: so what is left to differ is how larger ones count
    "squared error": lambda guesses, wanted: F.mse_loss(guesses, wanted) / 2,
}


@dataclass(frozen=True)
class Variant:
    """What a head is trained with; the defaults are the paper's."""

    feature: bool = True
    token: str = "shifted"  # or "unshifted", or "none"
    distance: str = "smooth L1"
    num_steps: int = 1

    def inputs(self, features: Tensor, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
        """What rows are given: features at t and embeddings of the tokens at t and at t + 1, all (..., D) ->
        the two inputs of the head; what it is not told is zero."""
        embedded = {"shifted": after, "unshifted": before, "none": torch.zeros_like(after)}[self.token]
        return features if self.feature else torch.zeros_like(features), embedded


def short_loss(
    target: GPT, head: EagleHead, variant: Variant, taught: Teaching, seed: int, gain: float = 1.0
) -> Tensor:
    """`head.head_loss` of the paper's recipe, but for what the variant changes."""
    recipe = replace(PAPER, num_steps=variant.num_steps)
    with torch.no_grad():
        embedded = gain * target.embed(taught.windows)
        true = noisy_features(recipe, taught, seed)
        given, told = variant.inputs(true, embedded[:, :-1], embedded[:, 1:])
    return loss_of_steps(target, head, recipe, taught, given, told, DISTANCES[variant.distance])


def trained(models: ModelSet, folder: Path, variant: Variant, train: TrainConfig) -> EagleHead:
    """A head of the variant, trained anew or from where its run in `folder` stopped."""

    def new(target: GPT, seed: int) -> EagleHead:
        return new_head(target, seed, **HEAD_SHAPE)

    def loss(target: GPT, head: EagleHead, taught: Teaching, seed: int, gain: float) -> Tensor:
        return short_loss(target, head, variant, taught, seed, gain)

    head, _ = train_louder(models, new, loss, asdict(variant), train, folder)
    return head.eval().requires_grad_(False)


class VariantDrafter(EagleDrafter):
    """Drafts with a head of a variant. A state is the feature at a position and, beside it, the embedding of the
    token there: (T, 2 x D)."""

    def __init__(self, target: GPT, head: EagleHead, variant: Variant, grower: Grow, tree: TreeConfig) -> None:
        super().__init__(target, head, grower, tree)
        self.variant = variant

    def start(self, prompt_ids: Sequence[int]) -> "VariantSession":
        return VariantSession(self, prompt_ids[0])

    def step(self, states: Tensor, tokens: Tensor, positions: Tensor, mask: Tensor | None, cache: KVCache) -> Tensor:
        features, before = states.chunk(2, dim=-1)
        after = self.target.embed(tokens)
        guesses = self.head(*self.variant.inputs(features, before, after), positions, mask, cache)
        return torch.cat([guesses, after], dim=-1)

    def logits(self, states: Tensor) -> Tensor:
        return self.target.lm_head(states.chunk(2, dim=-1)[0])


class VariantSession(TreeSession):
    """Knows which token the features it is taught belong to: the first is the prompt's, the others follow."""

    def __init__(self, drafter: VariantDrafter, first: int) -> None:
        super().__init__(drafter)
        self.token = first  # at the next feature

    @torch.inference_mode()
    def learn(self, reading: Reading) -> None:
        ids = torch.tensor([self.token, *reading.following[:-1]], device=self.cache.rows.device)
        states = torch.cat([reading.features[reading.path], self.drafter.target.embed(ids)], dim=-1)
        self.read(states, reading.following)
        self.token = reading.following[-1]


@torch.inference_mode()
def on_true_features(target: GPT, head: EagleHead, variant: Variant, ids: Sequence[int]) -> tuple[Tensor, Tensor]:
    """For each token of a text but the first: whether head and target then find the same token likeliest (L - 1),
    and the share of the feature's D numbers that the head misses by more than 1 (L - 1)."""
    tokens, places = torch.tensor(ids), torch.arange(len(ids))
    features, embedded = target.features(tokens, places), target.embed(tokens)
    guesses = head(*variant.inputs(features[:-1], embedded[:-1], embedded[1:]), places[:-1])
    same = target.lm_head(guesses).argmax(-1) == target.lm_head(features[1:]).argmax(-1)
    return same.double(), ((guesses - features[1:]).abs() > 1).double().mean(-1)
