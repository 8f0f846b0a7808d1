"""The target: a tiny Llama-shaped GPT with one forward pass for every use.

    ids, positions, mask, cache  ->  features (the vectors its LM head reads), logits

Prefill, a one-token step and the check of a whole draft tree differ only in the arguments.
Architecture: RMSNorm before each half of a block, rotary positions in the half-rotation
layout, SwiGLU, no biases, LM head not tied to the embedding (Touvron et al. 2302.13971).
The three input projections of attention are one matrix, and so are the two of the SwiGLU: on
a CPU a narrow model's step is mostly the cost of starting operators.

Shapes: B batch (may be absent), T new tokens, S cached tokens, D width, H heads, V vocabulary.
Deliberately left out: dropout, grouped queries, biases. Read next: `head.py`.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .cache import KVCache
from .config import ModelConfig

Rotation = tuple[Tensor, Tensor]  # cosines and signed sines of T positions, each (T, 1, D/H)


class Rotary(nn.Module):
    """Rotary positions: the table of all angles, computed in float64 and kept in float32. No parameters.

    The half-rotation layout pairs channel i with channel i + half (Su et al. 2104.09864, laid out
    as `transformers` does): x * cos + roll(x, half) * sin, the sign of the rotation folded into sin.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        half = config.head_dim // 2
        frequencies = config.rope_base ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(config.context, dtype=torch.float64)[:, None, None] * frequencies
        cos, sin = angles.cos().float(), angles.sin().float()
        self.register_buffer("cos", torch.cat([cos, cos], -1), persistent=False)  # (context, 1, D/H)
        self.register_buffer("sin", torch.cat([-sin, sin], -1), persistent=False)

    def forward(self, positions: Tensor) -> Rotation:
        """(T,) positions below `context` -> what attention rotates queries and keys by."""
        return self.cos[positions], self.sin[positions]


def causal_mask(num_new: int, cache: KVCache | None) -> Tensor | None:
    """What `mask=None` stands for: (T, S + T), each new token sees the cached ones, the new ones
    before it and itself. Where the attention operator's own triangle says the same, None."""
    if cache is None or cache.length == 0 or num_new == 1:
        return None
    full = torch.ones(num_new, cache.length + num_new, dtype=torch.bool, device=cache.rows.device)
    return full.tril(cache.length)


class Attention(nn.Module):
    """Causal self-attention over the cached and the new tokens. Its inputs are D wide unless told otherwise."""

    def __init__(self, config: ModelConfig, input_width: int | None = None) -> None:
        super().__init__()
        self.num_heads, self.head_dim = config.num_heads, config.head_dim
        self.qkv = nn.Linear(input_width or config.width, 3 * config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)

    def project(self, x: Tensor, rotation: Rotation) -> tuple[Tensor, Tensor, Tensor]:
        """(B, T, D) -> rotated queries, rotated keys, values, each (B, H, T, D/H)."""
        heads = self.qkv(x).unflatten(-1, (3 * self.num_heads, self.head_dim))  # (B, T, 3H, D/H)
        count = self.num_heads
        rotated, v = heads.narrow(-2, 0, 2 * count), heads.narrow(-2, 2 * count, count)
        cos, sin = rotation
        rotated = torch.addcmul(rotated * cos, rotated.roll(self.head_dim // 2, -1), sin)
        rotated = rotated.transpose(-2, -3)  # (B, 2H, T, D/H)
        return rotated.narrow(-3, 0, count), rotated.narrow(-3, count, count), v.transpose(-2, -3)

    def forward(
        self, x: Tensor, rotation: Rotation, mask: Tensor | None = None, cache: KVCache | None = None, layer: int = 0
    ) -> Tensor:
        """(B, T, D) -> (B, T, D). `mask` (T, S + T), boolean or added to the scores; None where
        `causal_mask` gives none."""
        q, k, v = self.project(x, rotation)
        if cache is not None:
            k, v = cache.write(layer, k, v)  # (H, S + T, D/H)
        if q.ndim == 3:  # one sequence: the operator has a fused kernel for four dimensions only
            q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
        causal = mask is None and q.shape[-2] > 1
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.out(mixed.transpose(-2, -3).reshape(*x.shape[:-1], -1))


class SwiGLU(nn.Module):
    """The feed-forward half: down(silu(gate(x)) * up(x)) (Shazeer 2002.05202)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate_up = nn.Linear(config.width, 2 * config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


class Block(nn.Module):
    """One decoder layer. The EAGLE head's layer is this one without `input_norm`."""

    def __init__(self, config: ModelConfig, input_norm: bool = True) -> None:
        super().__init__()
        self.input_norm = nn.RMSNorm(config.width, config.norm_eps) if input_norm else nn.Identity()
        self.attention = Attention(config)
        self.mlp_norm = nn.RMSNorm(config.width, config.norm_eps)
        self.mlp = SwiGLU(config)

    def forward(
        self, x: Tensor, rotation: Rotation, mask: Tensor | None = None, cache: KVCache | None = None, layer: int = 0
    ) -> Tensor:
        x = x + self.attention(self.input_norm(x), rotation, mask, cache, layer)
        return x + self.mlp(self.mlp_norm(x))


class GPT(nn.Module):
    """The whole model."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = nn.RMSNorm(config.width, config.norm_eps)
        self.lm_head = nn.Linear(config.width, config.vocab_size, bias=False)
        self.rotary = Rotary(config)

    @property
    def context(self) -> int:
        return self.config.context

    @property
    def vocab_size(self) -> int:
        return self.config.vocab_size

    def start(self, num_spare: int = 0, layers: Sequence[int] = ()) -> "Session":
        """A fresh session with room for a whole context and `num_spare` rows of a draft tree. With `layers`
        its features are those residual streams (see `residual_streams`)."""
        cache = KVCache(self.config, self.config.num_layers, self.context + num_spare, self.lm_head.weight)
        return Session(self, cache, layers)

    def features(
        self, ids: Tensor, positions: Tensor, mask: Tensor | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """(B, T) token ids -> (B, T, D): the hidden state after the final norm."""
        return self.norm(self.residual_streams(ids, positions, mask, cache)[-1])

    def residual_streams(
        self, ids: Tensor, positions: Tensor, mask: Tensor | None = None, cache: KVCache | None = None
    ) -> list[Tensor]:
        """(B, T) token ids -> num_layers + 1 times (B, T, D): the embedding, and what each block made of
        it. Stream i is the one that block i reads."""
        if mask is None:
            mask = causal_mask(ids.shape[-1], cache)
        rotation = self.rotary(positions)
        streams = [self.embed(ids)]
        if mask is not None:  # as the numbers that attention adds, once for all layers
            mask = torch.zeros_like(mask, dtype=streams[0].dtype).masked_fill_(~mask, -torch.inf)
        for layer, block in enumerate(self.blocks):
            streams.append(block(streams[-1], rotation, mask, cache, layer))
        if cache is not None:
            cache.advance(ids.shape[-1])
        return streams

    def forward(
        self, ids: Tensor, positions: Tensor, mask: Tensor | None = None, cache: KVCache | None = None
    ) -> tuple[Tensor, Tensor]:
        """Read T new tokens behind the S that `cache` holds.

        ids: (B, T) token ids; (T,) when there is a cache, which holds one sequence.
        positions: (T,) the place of each token in the sequence, below `context`.
        mask: (T, S + T) boolean, True where a new token (row) sees a token (column); None
            for the causal triangle over all of them.
        Returns features (B, T, D), what EAGLE-1/2 calls the second-to-top-layer feature, and
        logits (B, T, V). Rows are appended to `cache`, when there is one.
        """
        features = self.features(ids, positions, mask, cache)
        return features, self.lm_head(features)


class Session:
    """One sequence being read: the model, and the cache of what it has read so far.

    The decoding loop knows a target by `start`, its sizes and this interface alone, which a table
    of probabilities can offer too.
    """

    def __init__(self, model: GPT, cache: KVCache, layers: Sequence[int] = ()) -> None:
        self.model, self.cache, self.layers, self.lm_head = model, cache, layers, model.lm_head

    @property
    def length(self) -> int:
        return self.cache.length

    @torch.inference_mode()
    def read(
        self, tokens: Sequence[int], positions: Sequence[int], mask: np.ndarray | None = None
    ) -> tuple[Tensor, np.ndarray]:
        """One target call: T tokens at their positions -> features (T, D), logits (T, V). With `layers`
        the features are those residual streams side by side, (T, len(layers) x D).

        mask: (T, T) boolean among the new tokens, all of which see all that was read before;
        None for a plain continuation.
        """
        device = self.cache.rows.device
        full = None
        if mask is not None and len(tokens) > 1:
            full = torch.ones(len(tokens), self.length + len(tokens), dtype=torch.bool)
            full[:, self.length :] = torch.from_numpy(mask)
            full = full.to(device)
        ids, places = torch.tensor(tokens, device=device), torch.tensor(positions, device=device)
        streams = self.model.residual_streams(ids, places, full, self.cache)
        features = self.model.norm(streams[-1])
        logits = self.lm_head(features).numpy(force=True)
        return torch.cat([streams[i] for i in self.layers], -1) if self.layers else features, logits

    def keep(self, start: int, rows: Sequence[int]) -> None:
        """Of the rows from `start` on keep these (see `KVCache.keep`)."""
        self.cache.keep(start, rows)
