"""Muon: momentum whose update is made orthogonal, for the matrices inside the blocks.

A step replaces the momentum matrix M = U S V' by about U V', so that every direction learns at
the same pace (Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024).
torch ships one too; it works in bfloat16, one matrix after the other, which is slow on a CPU
without bfloat16 units: here matrices of one shape are stacked and stay in float32.
Read next: `loop.py`.
"""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # the quintic iteration of the reference text


def orthogonalize(m: Tensor, num_steps: int = 5) -> Tensor:
    """(n, rows, columns), rows <= columns -> matrices with singular values near 1."""
    a, b, c = COEFFICIENTS
    x = m / (m.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(num_steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


class Muon(torch.optim.Optimizer):
    """For 2-d parameters; the step of a (rows, columns) matrix is scaled by sqrt(rows / columns)
    when it has more rows than columns."""

    def __init__(self, params: Iterable[Tensor], lr: float = 0.02, momentum: float = 0.95, weight_decay: float = 0.01):
        super().__init__(list(params), {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            by_shape = defaultdict(list)
            for param in group["params"]:
                by_shape[param.shape].append(param)
            for (rows, columns), params in by_shape.items():
                grads = torch.stack([param.grad for param in params])
                update = grads.lerp(self._momentum(params, grads, group["momentum"]), group["momentum"])
                tall = rows > columns
                update = orthogonalize(update.mT if tall else update)
                update = update.mT if tall else update
                for param, delta in zip(params, update):
                    param.mul_(1 - group["lr"] * group["weight_decay"])
                    param.sub_(delta, alpha=group["lr"] * max(1.0, rows / columns) ** 0.5)

    def _momentum(self, params: list[Tensor], grads: Tensor, beta: float) -> Tensor:
        for param, grad in zip(params, grads):
            state = self.state[param].setdefault("momentum", torch.zeros_like(param))
            state.lerp_(grad, 1 - beta)
        return torch.stack([self.state[param]["momentum"] for param in params])
