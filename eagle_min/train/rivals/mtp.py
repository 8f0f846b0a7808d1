"""Training multi-token prediction modules with the target frozen (DeepSeek-V3 2412.19437, section 2.2).

Module k runs over all positions of a window on the states of module k - 1, through which gradients flow, with the
text's own tokens: no depth sees a guess. The loss is the mean over depths (equations 24 and 25, whose factor
is the learning rate's business where nothing else is trained) of the soft cross-entropy with the target's law.
Shapes: B windows, L tokens, D width, V vocabulary. Read next: `../evaluate.py`.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ...drafters.mtp import MTPModules
from ...model import GPT
from ..loop import begin_weights
from ..teacher import Teaching


@torch.no_grad()
def new_mtp(target: GPT, seed: int, num_depths: int = 2) -> MTPModules:
    """Modules whose layer is of the target's shape. What it adds starts at zero, and the output norm as the
    target's, so that logits start as large as the LM head is used to; the rest at variance 1 / inputs."""
    network = MTPModules(replace(target.config, num_layers=1), num_depths)
    begin_weights(network, torch.Generator().manual_seed(seed))
    for module in network.depths:
        module.norm.weight.copy_(target.norm.weight)
    return network


def mtp_loss(target: GPT, network: MTPModules, taught: Teaching, seed: int) -> Tensor:
    """Mean soft cross-entropy in nats over depths, on (B, L) windows: L - k rows at depth k. Nothing is random."""
    embedded, losses = target.embed(taught.windows), []
    for k, outputs in enumerate(network(taught.features, embedded), start=1):  # row i, (B, L - k, D)
        wanted = taught.laws[:, k:]  # of token i + k + 1, after token i + k
        losses.append(F.cross_entropy(target.lm_head(outputs).flatten(0, 1), wanted.flatten(0, 1)))
    return torch.stack(losses).mean()


def card_fields(target: GPT, network: MTPModules, text: Iterator[Teaching]) -> dict:
    """What the card has to say beyond the shape."""
    return {"num_depths": network.num_depths}
