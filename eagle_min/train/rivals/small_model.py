"""Training a separate draft model: it learns the target's laws (knowledge distillation).

The loss is the soft cross-entropy with the target's law at every position of the training text. Up to a
constant that is the Kullback-Leibler divergence from the target's law to the draft's, DistillSpec (Zhou et
al. 2310.08461) in its simplest form. Deliberately left out: texts that the small model writes itself, and
other divergences, such as the total variation that acceptance is made of.

Shapes: B windows, L tokens, V vocabulary. Read next: `medusa.py`.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ...model import GPT
from ..target import new_target
from ..teacher import Teaching

NUM_LAYERS = 2


@torch.no_grad()
def new_small_model(target: GPT, seed: int) -> GPT:
    """A GPT of the target's shape with NUM_LAYERS layers. Embedding, final norm and LM head start as copies of
    the target's, and are trained like the rest; the layers start as those of a new target, adding nothing."""
    network = new_target(replace(target.config, num_layers=NUM_LAYERS), seed).to(target.lm_head.weight.dtype)
    for own, given in ((network.embed, target.embed), (network.norm, target.norm), (network.lm_head, target.lm_head)):
        own.weight.copy_(given.weight)
    return network


def small_model_loss(target: GPT, network: GPT, taught: Teaching, seed: int) -> Tensor:
    """Mean soft cross-entropy in nats of its law after each token of (B, L) windows with the target's law there.

    Each window begins at position 0 and is read as a whole: row t has seen tokens 0 to t, as in a draft.
    """
    _, logits = network(taught.windows, torch.arange(taught.windows.shape[1]))  # (B, L, V)
    return F.cross_entropy(logits.flatten(0, 1), taught.laws.flatten(0, 1))
