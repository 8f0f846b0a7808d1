"""Training an EAGLE head with the target frozen (Li et al. 2401.15077, section 3.2).

Row t of a window is (feature t, embedding of token t+1); its target is feature t+1, and the
distribution the frozen LM head makes of it. The loss is smooth L1 on the feature plus the soft
cross-entropy between the two distributions, in a proportion that is the recipe's.

The paper trains a single step, on true features only. While drafting, though, the head reads
its own guesses. *Training-time steps* show it that: step i repeats the pass with the guesses
of step i-1 as features, each token one further on (HASS, Zhang et al. 2408.15766; EAGLE-3,
2503.01840, section 3.2). At step i, row t continues the chain that left the true text at t: it
sees the true rows up to t, and of each later step only its own row.

Shapes: B windows, T rows, D width, H heads, V vocabulary. Read next: `variants.py`.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from ..checkpoint import load_head, read_card
from ..drafters.model_set import ModelSet
from ..head import EagleHead
from ..model import GPT, Attention, Rotation
from .loop import Run, TrainConfig, begin_weights
from .network import Training, train_network
from .teacher import Teaching


@dataclass(frozen=True)
class Recipe:
    """What a head is trained on."""

    feature_weight: float  # of the smooth L1 loss
    token_weight: float  # of the soft cross-entropy
    num_steps: int  # passes; the second and later ones on the head's own features
    step_decay: float = 0.8  # each step counts so much of the one before
    noise: float = 0.1  # uniform noise on the true features, as a share of their root mean square


HEAD_SHAPE = {"num_heads": 4, "hidden": 704}  # of the one layer of a new head, unless another is asked for
RECIPES = {
    "paper": Recipe(feature_weight=1.0, token_weight=0.1, num_steps=1),
    "steps": Recipe(feature_weight=0.1, token_weight=1.0, num_steps=3),
}


def new_head(target: GPT, seed: int, **shape: int) -> EagleHead:
    """A head of the target's shape but for the fields in `shape`; what its layer adds starts at zero.

    The fusion layer starts small, for all it says at first is wrong, and with its two halves
    equally loud (see `embedding_gain`).
    """
    head = EagleHead(replace(target.config, num_layers=1, **shape))
    begin_weights(head, torch.Generator().manual_seed(seed), fuse_gain=0.2)
    louder(head, embedding_gain(target))
    return head


@torch.no_grad()
def embedding_gain(target: GPT) -> float:
    """What makes an embedding as loud as a feature: root mean square of a feature over that of an embedding, far
    above 1, for features are normed."""
    feature, embedding = (module.weight.square().mean().sqrt().item() for module in (target.norm, target.embed))
    return feature / embedding


@torch.no_grad()
def louder(head: EagleHead, gain: float) -> None:
    """Multiply the weights by which the fusion layer reads the embedding."""
    head.fuse.weight[:, : head.config.width] *= gain


def chained_attention(
    attention: Attention, x: Tensor, rotation: Rotation, seen: list[tuple[Tensor, Tensor]]
) -> Tensor:
    """Attention of one training-time step; `seen` has keys and values (B, H, T, D/H) of the earlier steps, and
    gets this step's. Each row sees the true rows up to its own and its own row in later steps."""
    q, k, v = attention.project(x, rotation)  # (B, H, T, D/H)
    seen.append((k, v))
    (true_k, true_v), later = seen[0], seen[1:]
    if not later:
        mixed = F.scaled_dot_product_attention(q, true_k, true_v, is_causal=True)
    else:
        q = q * attention.head_dim**-0.5
        future = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        scores = [(q @ true_k.mT).masked_fill(future, -torch.inf)]  # (B, H, T, T)
        scores += [(q * own_k).sum(-1, keepdim=True) for own_k, _ in later]  # (B, H, T, 1) each
        weights = torch.cat(scores, dim=-1).softmax(dim=-1)
        mixed = weights[..., : q.shape[-2]] @ true_v
        for i, (_, own_v) in enumerate(later):
            mixed = mixed + weights[..., q.shape[-2] + i, None] * own_v
    return attention.out(mixed.transpose(-2, -3).flatten(-2))


def unroll(head: EagleHead, features: Tensor, embedded: Tensor, num_steps: int) -> Iterator[Tensor]:
    """Guesses (B, T, D) of each step. `features` (B, T, D) of positions 0 to T-1; `embedded`
    (B, T + num_steps - 1, D) of the tokens at 1, 2, ...: step i uses those from 1 + i on."""
    num_rows, seen = features.shape[-2], []
    for step in range(num_steps):
        positions = torch.arange(step, step + num_rows)
        rotation = head.rotary(positions)
        x = head.fuse(torch.cat([embedded[:, step : step + num_rows], features], dim=-1))
        x = x + chained_attention(head.block.attention, x, rotation, seen)
        features = x + head.block.mlp(head.block.mlp_norm(x))
        yield features


def head_loss(target: GPT, head: EagleHead, recipe: Recipe, taught: Teaching, seed: int, gain: float = 1.0) -> Tensor:
    """The recipe's loss on (B, L) windows of tokens: L - num_steps rows a step. Embeddings reach the
    head multiplied by `gain`."""
    embedded = gain * target.embed(taught.windows[:, 1:])
    return loss_of_steps(target, head, recipe, taught, noisy_features(recipe, taught, seed), embedded)


def noisy_features(recipe: Recipe, taught: Teaching, seed: int) -> Tensor:
    """(B, L - num_steps, D): the features that rows start from, with the recipe's noise, drawn from `seed`."""
    true = taught.features[:, : taught.features.shape[1] - recipe.num_steps]
    scale = recipe.noise * true.square().mean().sqrt()
    noise = torch.empty_like(true).uniform_(-1, 1, generator=torch.Generator().manual_seed(seed))
    return true + scale * noise


def loss_of_steps(
    target: GPT,
    head: EagleHead,
    recipe: Recipe,
    taught: Teaching,
    features: Tensor,
    embedded: Tensor,
    distance: Callable[[Tensor, Tensor], Tensor] = F.smooth_l1_loss,
) -> Tensor:
    """What the guesses of each step miss, of features (measured by `distance`) and of the laws they stand for; the two
    inputs of the head are those of `unroll`."""
    num_rows = features.shape[1]
    loss, weight = torch.zeros(()), 1.0
    for step, guesses in enumerate(unroll(head, features, embedded, recipe.num_steps)):
        wanted = slice(1 + step, 1 + step + num_rows)
        token_loss = F.cross_entropy(target.lm_head(guesses).flatten(0, 1), taught.laws[:, wanted].flatten(0, 1))
        feature_loss = distance(guesses, taught.features[:, wanted])
        loss = loss + weight * (recipe.token_weight * token_loss + recipe.feature_weight * feature_loss)
        weight *= recipe.step_decay
    return loss


def train_head(
    models: ModelSet, recipe: Recipe, train: TrainConfig, folder: Path, start_head: str | None = None, **shape: int
) -> tuple[EagleHead, Run]:
    """Train for the target of `models` in `folder`, going on where a run there stopped. The target is
    never changed. It starts as the head `start_head` of that set, or anew with `shape`: see `new_head`."""

    def new(target: GPT, seed: int) -> EagleHead:
        return new_head(target, seed, **shape) if start_head is None else load_head(models.folder, start_head)

    def loss(target: GPT, head: EagleHead, taught: Teaching, seed: int, gain: float) -> Tensor:
        return head_loss(target, head, recipe, taught, seed, gain)

    digest = None if start_head is None else read_card(models.folder, start_head)["sha256"]
    return train_louder(models, new, loss, {**asdict(recipe), **shape, "first": digest}, train, folder)


def train_louder(
    models: ModelSet,
    new: Callable[[GPT, int], EagleHead],
    loss: Callable[[GPT, EagleHead, Teaching, int, float], Tensor],
    identity: dict,
    train: TrainConfig,
    folder: Path,
) -> tuple[EagleHead, Run]:
    """`train_network` for an EAGLE head that reads embeddings made as loud as features: `loss` is told the gain.

    An optimizer's step changes all weights of the fusion layer by like amounts, so without this the half that
    reads the small embedding would learn far more slowly than the other. Afterwards the gain moves into the weights.
    """
    gain = embedding_gain(models.target)

    def quieter(target: GPT, seed: int) -> EagleHead:
        head = new(target, seed).requires_grad_(True)
        louder(head, 1 / gain)
        return head

    training = Training(quieter, lambda *given: loss(*given, gain))
    head, _, run = train_network(models, training, identity, train, folder)
    louder(head, gain)
    return head, run
