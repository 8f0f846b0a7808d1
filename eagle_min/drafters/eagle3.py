"""EAGLE-3 (Li et al. 2503.01840): no feature to imitate, three of the target's layers to look at.

    streams of three layers, t -> fuse -> state t ----.
                                                       norm each, concatenate -> attention -> + -> MLP -> + -> state
    embedding t+1 ------------------------------------'                         (state t) ---^

EAGLE-1's head must land on the target's feature, since the target's LM head reads its guess. Here the state
after a token is free to be whatever is useful: the head has an LM head of its own, behind a norm of its own,
and the state goes on *before* that norm. What is fused are residual streams of the target, low,
middle and high. Rows, positions and trees are those of `head.py`.

A stream grows louder from block to block. Powers of two bring the three to like size before they are fused; they
are constants, and could be multiplied into the fusion layer.
Shapes: B windows, T rows, D width, V vocabulary. Read next: `small_model.py`.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from ..cache import KVCache
from ..checkpoint import load_network, read_card
from ..config import ModelConfig, TreeConfig, require
from ..head import Grow, TreeDrafter
from ..model import GPT, Attention, Rotary, SwiGLU, causal_mask

MOST_LAYERS = 16  # that are fused


class Eagle3Head(nn.Module):
    """Fusion layer, one decoder layer over (embedding, state), norm and LM head; the embedding is the target's."""

    def __init__(self, config: ModelConfig, layers: Sequence[int]) -> None:
        """layers: the streams to fuse; stream i is what block i of the target reads, the last what its norm reads."""
        super().__init__()
        self.config, self.layers, width = config, tuple(layers), config.width
        self.fuse = nn.Linear(len(self.layers) * width, width, bias=False)
        self.embed_norm = nn.RMSNorm(width, config.norm_eps)
        self.state_norm = nn.RMSNorm(width, config.norm_eps)
        self.attention = Attention(config, 2 * width)
        self.mlp_norm = nn.RMSNorm(width, config.norm_eps)
        self.mlp = SwiGLU(config)
        self.norm = nn.RMSNorm(width, config.norm_eps)
        self.lm_head = nn.Linear(width, config.vocab_size, bias=False)
        self.register_buffer("loudness", torch.ones(len(self.layers), 1))
        self.rotary = Rotary(config)

    def fused(self, streams: Tensor) -> Tensor:
        """Streams side by side (..., layers x D) -> the states (..., D) they stand for."""
        parts = streams.unflatten(-1, (len(self.layers), self.config.width)) * self.loudness
        return self.fuse(parts.flatten(-2))

    def inputs(self, states: Tensor, embedded: Tensor) -> Tensor:
        """What attention reads: (..., 2 D), embedding first (official layout)."""
        return torch.cat([self.embed_norm(embedded), self.state_norm(states)], dim=-1)

    def forward(
        self,
        states: Tensor,
        embedded: Tensor,
        positions: Tensor,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """States (B, T, D) of positions t and embeddings (B, T, D) of the tokens at t + 1 -> the states
        (B, T, D) after these. `positions` are the t; `mask` and `cache` as in `GPT.forward`."""
        if mask is None:
            mask = causal_mask(states.shape[-2], cache)
        x = states + self.attention(self.inputs(states, embedded), self.rotary(positions), mask, cache)
        if cache is not None:
            cache.advance(states.shape[-2])
        return x + self.mlp(self.mlp_norm(x))

    def logits(self, states: Tensor) -> Tensor:
        """(..., D) -> (..., V), of the token that follows each state."""
        return self.lm_head(self.norm(states))


class Eagle3Drafter(TreeDrafter):
    """Drafts with an EAGLE-3 head: its states are fused streams, or what the head made of them."""

    def __init__(self, target: GPT, head: Eagle3Head, grow: Grow, tree: TreeConfig) -> None:
        super().__init__(grow, tree)
        self.target, self.head, self.layers = target, head, head.layers

    def new_cache(self, num_spare: int) -> KVCache:
        return KVCache(self.head.config, 1, self.target.context + num_spare, self.head.fuse.weight)

    def true_states(self, features: Tensor) -> Tensor:
        return self.head.fused(features)

    def step(self, states: Tensor, tokens: Tensor, positions: Tensor, mask: Tensor | None, cache: KVCache) -> Tensor:
        return self.head(states, self.target.embed(tokens), positions, mask, cache)

    def logits(self, states: Tensor) -> Tensor:
        return self.head.logits(states)


def load_eagle3(folder: Path, name: str) -> Eagle3Head:
    """An EAGLE-3 head of a set; errors as `load_network`."""
    head = load_network(folder, name, "eagle3", build)
    deepest = read_card(folder, "target")["config"]["num_layers"]
    require(head.layers[-1] <= deepest, f"layers of {name!r}", list(head.layers), f"at most {deepest}, the last stream")
    return head


def build(card: dict) -> Eagle3Head:
    """An empty head of a card's shape. ValueError for a card without usable layers."""
    config, layers = ModelConfig(**card["config"]), card.get("layers")
    numbers = isinstance(layers, list) and 0 < len(layers) <= MOST_LAYERS and all(type(i) is int for i in layers)
    good = numbers and layers[0] >= 0 and all(a < b for a, b in zip(layers, layers[1:]))
    allowed = f"1 to {MOST_LAYERS} numbers of the target's residual streams, rising"
    require(good, "layers of an EAGLE-3 head", layers, allowed)
    return Eagle3Head(config, layers)
