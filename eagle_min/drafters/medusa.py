"""Medusa (Cai et al. 2401.10774): several heads on one feature, each guessing one place further on.

                   .-> head 1 -> token t+2
    feature t -----+-> head 2 -> token t+3     (the target itself predicts token t+1, the root)
                   '-> head 3 -> token t+4 ...

All guesses come from the feature of the last committed position, at once: there is no attention, no cache and
no pass for each level of a tree. The price is that head k does not know which token was chosen at level k - 1,
so all nodes of a level have the same children: the tree is a Cartesian product of the heads' best tokens (section
2.1.2), cut to a fixed shape (2.3.3), which training chooses and the card keeps.

Such a tree is a function of the context, and here it is verified like any other: the text is the
target's. The paper's *typical acceptance* changes the text; what it costs is measured by `lab typical`.
Shapes: K heads, T rows, D width, V vocabulary. Read next: `mtp.py`.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .. import grow
from ..checkpoint import load_network
from ..config import ModelConfig, SamplingConfig, TreeConfig, is_count, require
from ..decode import Reading
from ..dice import Dice
from ..tree import DraftTree, path_to

KIND = "medusa"  # on its card
MOST_HEADS = 16
# no paths: the shape is the one that the network's card has; others take the place of that
MEDUSA_TREE = TreeConfig(num_nodes=24, paths=())


class MedusaHead(nn.Module):
    """One residual block, then an LM head of its own (section 2.1.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.residual = nn.Linear(config.width, config.width, bias=False)
        self.lm_head = nn.Linear(config.width, config.vocab_size, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        """(..., D) features -> (..., V) logits. With `residual` zero the LM head reads the feature itself."""
        return self.lm_head(features + F.silu(self.residual(features)))


class MedusaHeads(nn.Module):
    """K heads, and the shape of the trees they are best at."""

    def __init__(self, config: ModelConfig, num_heads: int, paths: Sequence[str] = TreeConfig.paths) -> None:
        """paths: of child ranks, in level order; those of EAGLE-1's tree until some are chosen. ValueError when
        they are no tree."""
        super().__init__()
        self.config, self.paths = config, TreeConfig(paths=tuple(paths)).paths
        self.heads = nn.ModuleList(MedusaHead(config) for _ in range(num_heads))

    def forward(self, features: Tensor) -> list[Tensor]:
        """(..., D) features of positions t -> K times (..., V) logits: head k, from 1, of the token at t + 1 + k."""
        return [head(features) for head in self.heads]


class MedusaDrafter:
    """Drafts the Cartesian product of the heads' best tokens, cut to a fixed shape."""

    layers: Sequence[int] = ()

    def __init__(self, network: MedusaHeads, tree: TreeConfig) -> None:
        """`tree.paths` is the shape; a tree without any leaves it to the network."""
        self.network, self.num_nodes = network, tree.num_nodes
        self.shape = TreeConfig(
            num_nodes=tree.num_nodes,
            depth=min(tree.depth, len(network.heads)),  # no head guesses further on
            paths=tree.paths or network.paths,
        )

    def start(self, prompt_ids: Sequence[int]) -> "MedusaSession":
        """Draft for a new sequence. All that is needed of it is its last feature."""
        return MedusaSession(self)


class MedusaSession:
    """One sequence being drafted for: what the heads say at its last feature."""

    def __init__(self, drafter: MedusaDrafter) -> None:
        self.drafter = drafter
        self.guesses: np.ndarray | None = None  # (K, V) log-probabilities, once something was read

    @torch.inference_mode()
    def learn(self, reading: Reading) -> None:
        """The last feature that stays is that of the position before the root."""
        logits = self.drafter.network(reading.features[reading.path[-1]])
        self.guesses = torch.stack(logits).log_softmax(dim=-1).numpy(force=True)

    def propose(self, root: int, depth: int, dice: Dice, cycle: int, sampling: SamplingConfig) -> DraftTree:
        """A tree of at most `depth` levels below `root`."""
        return grow.static(root, self.expand, self.drafter.shape, depth)

    def expand(self, tokens: Sequence[int], parents: Sequence[int], nodes: Sequence[int]) -> np.ndarray:
        """Log-probabilities (len(nodes), V) of the children of `nodes` (see `grow.Expand`): they depend on the
        level of a node, and not on its token."""
        return self.guesses[[len(path_to(parents, node)) - 1 for node in nodes]]


def load_medusa(folder: Path, name: str) -> MedusaHeads:
    """The Medusa heads `name` of a set, float32, frozen; errors as `checkpoint.load_network`."""
    return load_network(folder, name, KIND, build)


def build(card: dict) -> MedusaHeads:
    """Empty heads of a card's number and shape. ValueError for a card without either."""
    heads, paths = card.get("heads"), card.get("paths")
    good = is_count(heads) and heads <= MOST_HEADS
    require(good, "heads of a Medusa card", heads, f"an integer between 1 and {MOST_HEADS}")
    listed = isinstance(paths, list) and len(paths) > 0 and all(isinstance(path, str) for path in paths)
    require(listed, "paths of a Medusa card", paths, "a list of strings of child ranks")
    for path in paths:
        require(len(path) <= heads, "path of a Medusa card", path, f"at most {heads} ranks long, one for each head")
        better = [f"{path[:-1]}{rank}" for rank in range(int(path[-1]) if path.isdecimal() else 0)]
        require(set(better) <= set(paths), "path of a Medusa card", path, "there only with all better siblings")
    return MedusaHeads(ModelConfig(**card["config"]), heads, paths)
