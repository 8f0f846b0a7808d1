"""Training an EAGLE-3 head (Li et al. 2503.01840, section 3): soft cross-entropy alone, over training-time steps.

Step i of *training-time test* repeats the pass on the states of step i - 1, each token one further on, as
drafting will; its loss counts 0.8^i. Gradients flow through all the steps. Which rows see which is explained in
`head.py`, whose attention this is too.
Shapes: B windows, L tokens, T rows, D width, V vocabulary. Read next: `small_model.py`.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ...drafters.eagle3 import Eagle3Head
from ...model import GPT
from ..head import HEAD_SHAPE, chained_attention
from ..loop import begin_weights
from ..teacher import Teaching, features_and_streams

NUM_STEPS = 5
STEP_DECAY = 0.8
NUM_MEASURED = 512  # tokens on which the streams' sizes are measured


def layers_of(target: GPT) -> tuple[int, int, int]:
    """A low, a middle and a high stream: 2, half and the last one, which the target's final norm reads; moved
    together where the target is not that deep. (The official code stops three blocks before the end. Here the target
    was trained beside an EAGLE head, and what that head needed of the features is in the last blocks.)"""
    count = target.config.num_layers
    middle = count // 2
    return min(2, max(middle - 1, 0)), middle, count


def new_eagle3(target: GPT, seed: int, **shape: int) -> Eagle3Head:
    """A head that begins by saying, quietly, what the target's LM head makes of the highest stream: what the layer
    adds starts at zero, the fusion near that stream, the LM head as the target's, and its norm small."""
    generator = torch.Generator().manual_seed(seed)
    head = Eagle3Head(replace(target.config, num_layers=1, **HEAD_SHAPE | shape), layers_of(target))
    begin_weights(head, generator, fuse_gain=0.3)
    with torch.no_grad():
        head.fuse.weight[:, -target.config.width :] += torch.eye(target.config.width)
        head.lm_head.weight.copy_(target.lm_head.weight)
        head.norm.weight.copy_(0.3 * target.norm.weight)
        head.loudness.copy_(like_sizes(target, head.layers, generator)[:, None])
    return head


@torch.no_grad()
def like_sizes(target: GPT, layers: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """A power of two for each stream that brings its root mean square, on tokens drawn at random, near 1."""
    num_tokens = min(NUM_MEASURED, target.context)
    tokens = torch.randint(target.vocab_size, (1, num_tokens), generator=generator)
    _, streams = features_and_streams(target, tokens, layers)
    sizes = streams.unflatten(-1, (len(layers), -1)).square().mean(dim=(0, 1, 3)).sqrt()
    return 2.0 ** -sizes.log2().round()


def card_fields(target: GPT, head: Eagle3Head, text: Iterator[Teaching]) -> dict:
    """What the card has to say beyond the shape."""
    return {"layers": list(head.layers)}


def unroll(head: Eagle3Head, streams: Tensor, embedded: Tensor, num_steps: int) -> Iterator[Tensor]:
    """States (B, T, D) of each step. `streams` (B, T, layers x D) of positions 0 to T-1; `embedded`
    (B, T + num_steps - 1, D) of the tokens at 1, 2, ...: step i uses those from 1 + i on."""
    states, num_rows, seen = head.fused(streams), streams.shape[-2], []
    for step in range(num_steps):
        positions = torch.arange(step, step + num_rows)
        rotation = head.rotary(positions)
        inputs = head.inputs(states, embedded[:, step : step + num_rows])
        x = states + chained_attention(head.attention, inputs, rotation, seen)
        states = x + head.mlp(head.mlp_norm(x))
        yield states


def eagle3_loss(target: GPT, head: Eagle3Head, taught: Teaching, seed: int) -> Tensor:
    """Soft cross-entropy with the target's laws, L - NUM_STEPS rows a step, steps weighted; nothing is random."""
    num_rows = taught.windows.shape[1] - NUM_STEPS
    embedded = target.embed(taught.windows[:, 1:])
    loss, weight = torch.zeros(()), 1.0
    for step, states in enumerate(unroll(head, taught.streams[:, :num_rows], embedded, NUM_STEPS)):
        wanted = taught.laws[:, 1 + step : 1 + step + num_rows]
        loss = loss + weight * F.cross_entropy(head.logits(states).flatten(0, 1), wanted.flatten(0, 1))
        weight *= STEP_DECAY
    return loss
