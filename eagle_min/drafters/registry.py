"""Every drafter by name: how it is made, the network it drafts with, and the limits of its trees.

A new drafter is a file here, a row below and, where it has weights, a recipe in `train/`.
Read next: `../exactness/law.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from .. import grow
from ..checkpoint import load_head
from ..config import TreeConfig
from ..decode import Drafter
from ..head import EagleDrafter, Grow
from ..model import GPT


@dataclass(frozen=True)
class Kind:
    """A row of the registry."""

    make: Callable[[GPT, nn.Module | None, TreeConfig], Drafter]  # from a target, a network and limits
    tree: TreeConfig
    weights: str | None = None  # the model of the set it drafts with, unless another is named; None: it needs none
    load: Callable[[Path, str], nn.Module] | None = None  # reads such a network from the folder of a set


def eagle(grower: Grow, tree: TreeConfig, sampled: bool = False) -> Kind:
    """A way to grow trees with an EAGLE head."""

    def make(target: GPT, head: nn.Module, tree: TreeConfig) -> EagleDrafter:
        return EagleDrafter(target, head, grower, tree, sampled)

    return Kind(make, tree, "eagle", load_head)


EAGLE1 = TreeConfig(num_nodes=26, depth=5)
KINDS = {
    "eagle2": eagle(grow.confidence, TreeConfig()),
    "eagle2-lean": eagle(grow.confidence, TreeConfig(depth=12, top_k=6, min_confidence=0.02)),
    "eagle1": eagle(grow.static, EAGLE1),
    "eagle1-sampled": eagle(grow.static_sampled, EAGLE1, sampled=True),
    "ratio": eagle(grow.ratio, TreeConfig()),
    "chain": eagle(grow.chain, TreeConfig()),
}
DRAFTERS = ("none", *KINDS)
