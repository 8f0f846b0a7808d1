"""Multi-token prediction in the style of DeepSeek-V3 (2412.19437, section 2.2): one module for each token ahead.

    h(k-1) at i -----. norm
                      concatenate -> merge -> decoder layer -> h(k) at i -> norm -> target LM head -> law of i+k+1
    embedding i+k ---' norm

h(0) is the target's feature. Module k predicts the token k further on than the target does and reads what module
k - 1 made of the same row, so that the causal chain is complete at each depth: equations 21 to 23. Embedding
and LM head are the target's; a state goes on to the next module *before* the output norm, since the next one
norms it anyway. In the paper the modules are trained together with the target; here the target is frozen.

Merging reads the state first, as in equation 21. Released checkpoints store the embedding's half first: that
permutes the columns of one matrix and so makes no network better, but weights must be loaded in their order.

The row of a token in module k is (state of module k - 1 one token earlier, the token). Text has such rows in all
modules, the first k tokens excepted. A draft token L levels below the root has none in modules 1 to L, for the
target has no feature of the root yet; module L + 1 drafts its children, and later modules need its row as
context. Below the trained depths the last module runs on with its own states, as an EAGLE head does; it is not
trained for that. Where the states of a row come from, with three modules:

    row of              text and root   level 1    level 2    level 3
    in module 1         the target      -          -          -
    in module 2         module 1        module 1   -          -
    in module 3         module 2        module 2   module 2   module 3
    children drafted by module 1        module 2   module 3   module 3

A row has the position of its token less one, as in EAGLE: the same in all modules, and a module that runs on
counts on without a gap. Rotary attention depends on differences only, so within one module any start would do.
Shapes: B windows, L tokens, T rows, D width, K modules, V vocabulary. Read next: `lookup.py`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ..cache import KVCache
from ..checkpoint import load_network
from ..config import ModelConfig, SamplingConfig, TreeConfig, is_count, require
from ..decode import Reading
from ..dice import Dice
from ..head import Grow, PathRows
from ..model import GPT, Block, Rotary, Rotation, causal_mask
from ..tree import DraftTree

KIND = "mtp"  # on its card
MOST_DEPTHS = 16  # no card may claim more


class MTPModule(nn.Module):
    """One depth: two norms, merging matrix, a decoder layer as the target's, output norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.state_norm = nn.RMSNorm(config.width, config.norm_eps)
        self.token_norm = nn.RMSNorm(config.width, config.norm_eps)
        self.merge = nn.Linear(2 * config.width, config.width, bias=False)
        self.block = Block(config)
        self.norm = nn.RMSNorm(config.width, config.norm_eps)

    def forward(
        self,
        states: Tensor,
        embedded: Tensor,
        rotation: Rotation,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """States (B, T, D) of the depth before and embeddings (B, T, D) of the tokens they go with -> states
        (B, T, D) of this depth, `norm` not yet applied. `mask` and `cache` as in `GPT.forward`."""
        if mask is None:
            mask = causal_mask(states.shape[-2], cache)
        x = self.merge(torch.cat([self.state_norm(states), self.token_norm(embedded)], dim=-1))
        x = self.block(x, rotation, mask, cache)
        if cache is not None:
            cache.advance(states.shape[-2])
        return x


class MTPModules(nn.Module):
    """All depths; embedding and LM head are the target's, and no parameters of this network."""

    def __init__(self, config: ModelConfig, num_depths: int = 2) -> None:
        super().__init__()
        self.config, self.num_depths = config, num_depths
        self.depths = nn.ModuleList(MTPModule(config) for _ in range(num_depths))
        self.rotary = Rotary(config)

    def forward(self, features: Tensor, embedded: Tensor) -> Iterator[Tensor]:
        """Features (B, L, D) of positions 0 to L - 1 and embeddings (B, L, D) of the tokens there -> for each
        depth k what the LM head reads, (B, L - k, D): row i predicts the token at i + k + 1."""
        states, length = features, features.shape[-2]
        for k, module in enumerate(self.depths, start=1):
            rotation = self.rotary(torch.arange(k - 1, length - 1, device=states.device))
            states = module(states[..., : length - k, :], embedded[..., k:, :], rotation)
            yield module.norm(states)


class MTPDrafter:
    """Drafts with one module a level, and with the last one below them."""

    layers: Sequence[int] = ()

    def __init__(self, target: GPT, network: MTPModules, grow: Grow, tree: TreeConfig) -> None:
        self.target, self.network, self.grow, self.tree = target, network, grow, tree
        self.num_nodes = tree.num_nodes

    def start(self, prompt_ids: Sequence[int]) -> "MTPSession":
        """Draft for a new sequence. The prompt is not needed: its tokens come with their features."""
        return MTPSession(self)


class MTPSession:
    """One sequence being drafted for: what each module has read of it."""

    def __init__(self, drafter: MTPDrafter) -> None:
        self.drafter, tree = drafter, drafter.tree
        spare = max(tree.num_nodes, tree.top_k * tree.depth)  # see `head.TreeSession`
        self.readers = [ModuleReader(drafter, k, spare) for k in range(1, drafter.network.num_depths + 1)]

    @torch.inference_mode()
    def learn(self, reading: Reading) -> None:
        """Read true rows: each module takes what the one before it made of the token before. At the start of a
        text the first module lacks a token, as it does in EAGLE, and each later module one more."""
        states, tokens = reading.features[reading.path], list(reading.following)
        for reader in self.readers:
            states = reader.learn(states, tokens[len(tokens) - len(states) :])

    @torch.inference_mode()
    def propose(self, root: int, depth: int, dice: Dice, cycle: int, sampling: SamplingConfig) -> DraftTree:
        """A tree of at most `depth` levels below `root`. Tree rows leave the caches again."""
        tree = self.drafter.grow(root, MTPExpansion(self.readers), self.drafter.tree, depth)
        for reader in self.readers:
            reader.forget()
        return tree


class ModuleReader:
    """Module k of one sequence: its cache of true rows, and behind them for a while the rows of a growing tree."""

    def __init__(self, drafter: MTPDrafter, k: int, num_spare: int) -> None:
        self.target, self.network, self.module = drafter.target, drafter.network, drafter.network.depths[k - 1]
        weight = self.module.merge.weight
        self.cache = KVCache(self.network.config, 1, self.target.context + num_spare, weight)
        self.k, self.num_true = k, 0
        self.states = weight.new_zeros(0, self.network.config.width)  # of the root's row, if any, then of the tree's
        self.rows = PathRows(0, [])

    def _run(self, states: Tensor, tokens: list[int], positions: list[int], mask: np.ndarray | None = None) -> Tensor:
        device = states.device
        ids, places = torch.tensor(tokens, device=device), torch.tensor(positions, device=device)
        seen = None if mask is None else torch.from_numpy(mask).to(device)
        return self.module(states, self.target.embed(ids), self.network.rotary(places), seen, self.cache)

    def learn(self, states: Tensor, tokens: list[int]) -> Tensor:
        """True rows (T, D) behind those before them; what the next module takes for its own rows."""
        if not tokens:
            return states
        first = self.num_true + self.k - 1
        new = self._run(states, tokens, list(range(first, first + len(tokens))))
        known = torch.cat([self.states, new])
        self.num_true, self.states = self.cache.length, known[-1:]
        self.forget()
        return known[:-1]

    def has_row(self, node: int) -> bool:
        """Whether a node has a row here; the nodes of a level all have one, or none has."""
        return bool(self.rows.paths.get(node))

    def states_at(self, nodes: Sequence[int]) -> Tensor:
        """(len(nodes), D), of nodes that have a row here."""
        return self.states[self.rows.own(nodes)]

    def read(self, states: Tensor, tokens: list[int], parents: list[int], nodes: Sequence[int], position: int) -> None:
        """One pass over tree rows of one level; a row sees the text, its own path and itself."""
        mask = self.rows.add(nodes, parents)
        self.states = torch.cat([self.states, self._run(states, tokens, [position] * len(nodes), mask)])

    def log_laws(self, nodes: Sequence[int]) -> np.ndarray:
        """Log-probabilities (len(nodes), V) of what this module says follows them."""
        return self.target.lm_head(self.module.norm(self.states_at(nodes))).log_softmax(dim=-1).numpy(force=True)

    def forget(self) -> None:
        """Drop the rows of the tree: what is left of it is the root's, the last true row, if there is one."""
        self.cache.truncate(self.num_true)
        root = list(range(min(1, self.num_true)))
        self.states, self.rows = self.states[: len(root)], PathRows(self.num_true - len(root), root)


class MTPExpansion:
    """The modules' side of one growing tree (see `grow.Expand`). The nodes of a call lie on one level, as those
    of all growers do; the root has its rows from `learn`."""

    def __init__(self, readers: list[ModuleReader]) -> None:
        self.readers, self.levels = readers, {0: 0}
        self.last_position = readers[0].num_true - 1  # of the root's row

    def __call__(self, tokens: Sequence[int], parents: Sequence[int], nodes: Sequence[int]) -> np.ndarray:
        """Log-probabilities (len(nodes), V) of the children of `nodes`. ValueError for nodes of several levels."""
        if list(nodes) == [0]:
            return self.readers[0].log_laws(nodes)
        above = [parents[node] for node in nodes]
        [level, *others] = {self.levels[parent] + 1 for parent in above}
        require(not others, "levels of the nodes to expand", [level, *others], "one")
        self.levels |= dict.fromkeys(nodes, level)
        last = len(self.readers) - 1
        own = [tokens[node] for node in nodes]
        for place in range(min(level, last), last + 1):
            source = self.readers[place if level > last else place - 1]
            if source.has_row(above[0]):  # else the text is too short for such rows yet
                self.readers[place].read(source.states_at(above), own, above, nodes, self.last_position + level)
        return self.readers[min(level, last)].log_laws(nodes)


def load_mtp(folder: Path, name: str) -> MTPModules:
    """The modules `name` of a set, float32, frozen; errors as `checkpoint.load_network`."""
    return load_network(folder, name, KIND, build)


def build(card: dict) -> MTPModules:
    """Empty modules of a card's shape. ValueError for a card without a usable number of them."""
    num_depths = card.get("num_depths")
    good = is_count(num_depths) and num_depths <= MOST_DEPTHS
    require(good, "num_depths of MTP modules", num_depths, f"1 to {MOST_DEPTHS}")
    return MTPModules(ModelConfig(**card["config"]), num_depths)
