"""A separate draft model: a small GPT of its own that reads the same text as the target.

The oldest of the rivals here (Leviathan et al. 2211.17192, Chen et al. 2302.01318). While decoding it is told
nothing by the target but the text, neither features nor logits: it has an embedding, layers and an LM head of its
own, shares only the vocabulary, and keeps a cache of all layers for the whole text. Its state after a token is
its own feature there. Row t is token t at position t; an EAGLE head has one row fewer, for its first row
pairs the first feature with the second token.

Greedy drafts are functions of the context and go through the match walk. Above temperature 0 a draft may be
sampled instead: `grow.static_sampled` with one child a node, judged by `verify.recursive_rejection`, is the
rule of 2211.17192 (section 2.3, algorithm 1): accept x with min(1, p(x) / q(x)), else draw from the
normalised (p - q)+. So a token is accepted with probability 1 - total variation of p and q (theorem 3.5).

Shapes: T tokens, D width of this network, V vocabulary. Read next: `medusa.py`.
"""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from ..cache import KVCache
from ..checkpoint import load_network
from ..config import ModelConfig, TreeConfig
from ..head import Grow, TreeDrafter, TreeSession
from ..model import GPT


def chain_of(length: int) -> TreeConfig:
    """The limits of chains: `grow.chain` needs no `paths`, `grow.static_sampled` takes the shape from them, one child
    a node."""
    return TreeConfig(num_nodes=length + 1, depth=length, paths=tuple("0" * level for level in range(1, length + 1)))


class SmallModelDrafter(TreeDrafter):
    """Drafts with a GPT that knows the text and nothing of the target."""

    def __init__(self, network: GPT, grow: Grow, tree: TreeConfig, sampled: bool = False) -> None:
        super().__init__(grow, tree, sampled)
        self.network = network

    def new_cache(self, num_spare: int) -> KVCache:
        config = self.network.config
        return KVCache(config, config.num_layers, config.context + num_spare, self.network.lm_head.weight)

    def step(
        self, states: Tensor | None, tokens: Tensor, positions: Tensor, mask: Tensor | None, cache: KVCache
    ) -> Tensor:
        """Features (T, D) at the tokens. The states before them are not needed: the cache holds all it knows."""
        return self.network.features(tokens, positions, mask, cache)

    def logits(self, states: Tensor) -> Tensor:
        return self.network.lm_head(states)

    def start(self, prompt_ids: Sequence[int]) -> TreeSession:
        """The first token is read here: the others come one position behind a feature, and it has none before it."""
        session = TreeSession(self)
        session.read(None, prompt_ids[:1])
        return session


def load_small_model(folder: Path, name: str) -> GPT:
    """The small model `name` of a set, float32, frozen; errors as `load_network`."""
    return load_network(folder, name, "small_model", lambda card: GPT(ModelConfig(**card["config"])))
