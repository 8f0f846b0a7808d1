"""Every drafter by name: how it is made, the network it drafts with, and the limits of its trees.

A new drafter is a file here, a row below and, where it has weights, a recipe in `train/`.
Read next: `eagle3.py`.
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
from .eagle3 import Eagle3Drafter, load_eagle3
from .lookahead import LookaheadDrafter
from .lookup import LookupDrafter
from .medusa import MEDUSA_TREE, MedusaDrafter, load_medusa
from .mtp import MTPDrafter, load_mtp
from .small_model import SmallModelDrafter, chain_of, load_small_model


@dataclass(frozen=True)
class Entry:
    """A row of the registry."""

    make: Callable[[GPT, nn.Module | None, TreeConfig], Drafter]  # from a target, a network and limits
    tree: TreeConfig
    weights: str | None = None  # the model of the set it drafts with, unless another is named; None: it needs none
    load: Callable[[Path, str], nn.Module] | None = None  # reads such a network from the folder of a set


def eagle(grower: Grow, tree: TreeConfig, sampled: bool = False) -> Entry:
    """A way to grow trees with an EAGLE head."""

    def make(target: GPT, head: nn.Module, tree: TreeConfig) -> EagleDrafter:
        return EagleDrafter(target, head, grower, tree, sampled)

    return Entry(make, tree, "eagle", load_head)


def eagle3(tree: TreeConfig) -> Entry:
    """EAGLE-2's trees with an EAGLE-3 head."""

    def make(target: GPT, head: nn.Module, tree: TreeConfig) -> Eagle3Drafter:
        return Eagle3Drafter(target, head, grow.confidence, tree)

    return Entry(make, tree, "eagle3", load_eagle3)


def small(grower: Grow, tree: TreeConfig, sampled: bool = False) -> Entry:
    """A way to grow trees with a separate draft model."""

    def make(target: GPT, network: nn.Module, tree: TreeConfig) -> SmallModelDrafter:
        return SmallModelDrafter(network, grower, tree, sampled)

    return Entry(make, tree, "small_model", load_small_model)


def medusa(tree: TreeConfig) -> Entry:
    """Several heads on one feature, and a tree of fixed shape."""
    return Entry(lambda target, heads, tree: MedusaDrafter(heads, tree), tree, "medusa", load_medusa)


def mtp(grower: Grow, tree: TreeConfig) -> Entry:
    """A way to grow trees with multi-token prediction modules."""

    def make(target: GPT, network: nn.Module, tree: TreeConfig) -> MTPDrafter:
        return MTPDrafter(target, network, grower, tree)

    return Entry(make, tree, "mtp", load_mtp)


EAGLE1 = TreeConfig(num_nodes=26, depth=5)
DEEP = TreeConfig(depth=16)  # this length and the others below were chosen on training text (`lab choose`)
LEAN = TreeConfig(depth=12, top_k=6, min_confidence=0.02)
REGISTRY = {
    "eagle2": eagle(grow.confidence, DEEP),
    "eagle2-lean": eagle(grow.confidence, LEAN),
    "eagle1": eagle(grow.static, EAGLE1),
    "eagle1-sampled": eagle(grow.static_sampled, EAGLE1, sampled=True),
    "ratio": eagle(grow.ratio, DEEP),
    "chain": eagle(grow.chain, chain_of(9)),
    "eagle3": eagle3(DEEP),
    "eagle3-lean": eagle3(LEAN),
    "small": small(grow.confidence, DEEP),
    "small-chain": small(grow.chain, chain_of(5)),
    "small-chain-sampled": small(grow.static_sampled, chain_of(5), sampled=True),
    "small-tree-sampled": small(grow.static_sampled, EAGLE1, sampled=True),
    "medusa": medusa(MEDUSA_TREE),
    "mtp": mtp(grow.confidence, TreeConfig(depth=9)),
    "lookup": Entry(lambda target, network, tree: LookupDrafter(tree), TreeConfig(depth=16)),
    "lookahead": Entry(lambda target, network, tree: LookaheadDrafter(tree), TreeConfig()),
}
DRAFTERS = ("none", *REGISTRY)
