"""Training Medusa's heads with the target frozen, and choosing the shape of their trees (Cai et al. 2401.10774).

Row t of a window is the target's feature of position t, and head k (from 1) learns the target's law of the
token at t + 1 + k: what the target says k rows later, given the true text up to there. Each head starts as the
target's LM head on the same feature, so that at first it guesses again what the target guesses for t + 1 (section
2.1.1). The paper learns from the text itself; all rivals here learn from the target's laws.

The shape is chosen afterwards, on training text: see `choose_paths`.
Shapes: B windows, L tokens, K heads, D width, V vocabulary. Read next: `mtp.py`.
"""

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...drafters.medusa import MEDUSA_TREE, MedusaHeads
from ...model import GPT
from ..teacher import Teaching

NUM_HEADS = 4
DECAY = 0.8  # head k counts DECAY ** k (section 2.2.1)
NUM_RANKS = 10  # of a node's children: a rank is one digit of a path


def new_medusa(target: GPT, seed: int) -> MedusaHeads:
    """Heads that all say what the target says. Nothing is random, whatever the `seed`."""
    heads = MedusaHeads(target.config, NUM_HEADS)
    for head in heads.heads:
        nn.init.zeros_(head.residual.weight)
        head.lm_head.load_state_dict(target.lm_head.state_dict())
    return heads


def medusa_loss(target: GPT, heads: MedusaHeads, taught: Teaching, seed: int) -> Tensor:
    """Soft cross-entropy with the target's laws, a mean over the L - k rows that head k has one for, summed over
    heads by weight."""
    loss = torch.zeros(())
    for k, logits in enumerate(heads(taught.features), 1):  # (B, L, V)
        wanted = taught.laws[:, k:]  # row t: of the token after position t + k
        loss = loss + DECAY**k * F.cross_entropy(logits[:, :-k].flatten(0, 1), wanted.flatten(0, 1))
    return loss


@torch.no_grad()
def accuracies(heads: MedusaHeads, text: Iterator[Teaching]) -> np.ndarray:
    """(K, ranks): the share of rows where the head's token of that rank is the target's own greedy token k rows
    later, given the true text up to there."""
    num_ranks = min(NUM_RANKS, heads.config.vocab_size)
    hits, rows = torch.zeros(len(heads.heads), num_ranks), torch.zeros(len(heads.heads), 1)
    for taught in text:
        greedy = taught.laws.argmax(dim=-1)  # (B, L)
        for k, logits in enumerate(heads(taught.features), 1):
            best = logits[:, :-k].topk(num_ranks, dim=-1).indices  # (B, L - k, ranks)
            hits[k - 1] += (best == greedy[:, k:, None]).sum(dim=(0, 1))
            rows[k - 1] += greedy[:, k:].numel()
    return (hits / rows).numpy()


def best_paths(accuracy: np.ndarray, count: int) -> list[str]:
    """The `count` paths of child ranks with the highest estimated acceptance, in level order (section 2.3.3).

    The chance that a path is accepted is estimated as the product of the (K, ranks) accuracies along it, as if
    heads were right or wrong independently of each other. They are not: a head is right more often where the one
    before it is. Paths are added one by one, the best first, each behind its parent and its better
    siblings; a longer path is never better than its parent, so this order finds the best set of paths
    where accuracies fall with the rank.
    """
    num_heads, num_ranks = accuracy.shape
    chosen, value = [], {"": 1.0}
    open_paths = {"0"}  # whose parent and better siblings are chosen
    while open_paths and len(chosen) < count:
        for path in open_paths - value.keys():
            value[path] = value[path[:-1]] * float(accuracy[len(path) - 1, int(path[-1])])
        best = min(open_paths, key=lambda path: (-value[path], len(path), path))
        chosen.append(best)
        open_paths.remove(best)
        rank = int(best[-1]) + 1
        open_paths |= {f"{best[:-1]}{rank}"} if rank < num_ranks else set()
        open_paths |= {f"{best}0"} if len(best) < num_heads else set()
    return sorted(chosen, key=lambda path: (len(path), path))


def choose_paths(target: GPT, heads: MedusaHeads, text: Iterator[Teaching]) -> dict:
    """For the card: how many heads there are, and the shape of their trees, measured on `text`."""
    return {"heads": len(heads.heads), "paths": best_paths(accuracies(heads, text), MEDUSA_TREE.num_nodes - 1)}
