"""The EAGLE head, and the drafter that grows trees with it (Li et al. 2401.15077, section 3).

The head guesses the target's next *feature*, not the next token: row t pairs the feature of
position t with the embedding of the token that was in fact chosen at t + 1, and predicts the
feature of position t + 1. The pair settles what sampling left open, and the frozen target LM
head turns the guess into draft probabilities of the token at t + 2. Around one decoder layer
there is no input norm, since features are normed already, and no final norm: the LM head reads
the output as it is.

    feature t ----.
                   concatenate -> fuse -> decoder layer -> feature t+1 (guess) -> target LM head
    embedding t+1 -'

Rows: n true rows (features from the target), then rows of the draft tree (features from the head
itself). Tree rows last one cycle; what was accepted is read again with true features.
Shapes: T rows, D width, V vocabulary. Read next: `ending.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from .cache import KVCache
from .config import ModelConfig, SamplingConfig, TreeConfig
from .decode import Reading
from .dice import Dice
from .model import GPT, Block, Rotary, causal_mask
from .tree import DraftTree


class EagleHead(nn.Module):
    """Fusion layer and one decoder layer; embedding and LM head are the target's."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.fuse = nn.Linear(2 * config.width, config.width, bias=False)
        self.block = Block(config, input_norm=False)
        self.rotary = Rotary(config)

    def forward(
        self,
        features: Tensor,
        embedded: Tensor,
        positions: Tensor,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Features (B, T, D) of positions t and embeddings (B, T, D) of the tokens at t + 1 ->
        guesses (B, T, D) of the features at t + 1. `positions` are the t; `mask` and `cache` as in
        `GPT.forward`."""
        if mask is None:
            mask = causal_mask(features.shape[-2], cache)
        x = self.fuse(torch.cat([embedded, features], dim=-1))  # embedding first (official layout)
        x = self.block(x, self.rotary(positions), mask, cache)
        if cache is not None:
            cache.advance(features.shape[-2])
        return x


Grow = Callable[..., DraftTree]


class TreeDrafter(ABC):
    """A network that drafts token by token, and how its trees grow: `grow` decides the shape, the network
    supplies the confidences. It has a *state* for each token it has read, from which it predicts the next."""

    layers: Sequence[int] = ()

    def __init__(self, grow: Grow, tree: TreeConfig, sampled: bool = False) -> None:
        """`sampled`: `grow` draws its children and so also takes dice, cycle and sampling."""
        self.grow, self.tree, self.sampled, self.num_nodes = grow, tree, sampled, tree.num_nodes

    @abstractmethod
    def new_cache(self, num_spare: int) -> KVCache:
        """An empty cache with room for a whole context and `num_spare` rows more."""

    @abstractmethod
    def step(self, states: Tensor, tokens: Tensor, positions: Tensor, mask: Tensor | None, cache: KVCache) -> Tensor:
        """States (T, ...) before T tokens and the tokens (T,) -> the states after them, each at its position."""

    @abstractmethod
    def logits(self, states: Tensor) -> Tensor:
        """(T, ...) states -> (T, V) logits of the tokens that follow them."""

    def true_states(self, features: Tensor) -> Tensor:
        """The states that the target's features (T, ...) stand for."""
        return features

    def start(self, prompt_ids: Sequence[int]) -> "TreeSession":
        """Draft for a new sequence. The prompt is not needed: its tokens come with their features."""
        return TreeSession(self)


class EagleDrafter(TreeDrafter):
    """Drafts with an EAGLE head: its states are features, the target's or the head's own guesses."""

    def __init__(self, target: GPT, head: EagleHead, grow: Grow, tree: TreeConfig, sampled: bool = False) -> None:
        super().__init__(grow, tree, sampled)
        self.target, self.head = target, head

    def new_cache(self, num_spare: int) -> KVCache:
        return KVCache(self.head.config, 1, self.target.context + num_spare, self.head.fuse.weight)

    def step(self, states: Tensor, tokens: Tensor, positions: Tensor, mask: Tensor | None, cache: KVCache) -> Tensor:
        return self.head(states, self.target.embed(tokens), positions, mask, cache)

    def logits(self, states: Tensor) -> Tensor:
        return self.target.lm_head(states)


class TreeSession:
    """One sequence being drafted for: the network's cache of it, and the state the next tree starts from."""

    def __init__(self, drafter: TreeDrafter) -> None:
        self.drafter, tree = drafter, drafter.tree
        # a tree under construction has at most top_k expanded nodes a level, or all its nodes are
        self.cache = drafter.new_cache(max(tree.num_nodes, tree.top_k * tree.depth))
        self.last_state: Tensor | None = None  # (1, ...), once something was read

    def learn(self, reading: Reading) -> None:
        """Read true rows: the features of the positions just committed, and the tokens that follow them.
        The first token of a sequence has no feature before it, and so no row of its own."""
        self.read(self.drafter.true_states(reading.features[reading.path]), reading.following)

    @torch.inference_mode()
    def read(self, states: Tensor | None, tokens: Sequence[int]) -> None:
        """True rows of these tokens, behind the rows of those before them."""
        device, start = self.cache.rows.device, self.cache.length
        positions = torch.arange(start, start + len(tokens), device=device)
        ids = torch.tensor(tokens, device=device)
        self.last_state = self.drafter.step(states, ids, positions, None, self.cache)[-1:]

    def expansion(self) -> "Expansion":
        """What a grower asks for the children of its nodes."""
        return Expansion(self.drafter, self.cache, self.last_state)

    @torch.inference_mode()
    def propose(self, root: int, depth: int, dice: Dice, cycle: int, sampling: SamplingConfig) -> DraftTree:
        """A tree of at most `depth` levels below `root`. Tree rows leave the cache again."""
        drafter, expansion = self.drafter, self.expansion()
        chance = (dice, cycle, sampling) if drafter.sampled else ()
        tree = drafter.grow(root, expansion, drafter.tree, depth, *chance)
        self.cache.truncate(expansion.before + 1)
        return tree


class PathRows:
    """Which rows of a cache the nodes of a growing tree have; they come behind `before` rows of the text, which all
    nodes see."""

    def __init__(self, before: int, root: list[int]) -> None:
        """`root`: the rows of the root, of which there may be none. Rows are counted from `before`."""
        self.before, self.count = before, len(root)
        self.paths: dict[int, list[int]] = {0: root}  # node -> the rows of its path, its own last

    def own(self, nodes: Sequence[int]) -> list[int]:
        """The row of each node. KeyError or IndexError for a node that has none."""
        return [self.paths[node][-1] for node in nodes]

    def add(self, nodes: Sequence[int], parents: Sequence[int]) -> np.ndarray:
        """A new row for each node -> mask (len(nodes), all rows up to these): text, path of the node, itself."""
        first, self.count = self.count, self.count + len(nodes)
        mask = np.zeros((len(nodes), self.before + self.count), dtype=bool)
        mask[:, : self.before] = True
        for i, (node, parent) in enumerate(zip(nodes, parents)):
            self.paths[node] = [*self.paths.get(parent, []), first + i]
            mask[i, [self.before + row for row in self.paths[node]]] = True
        return mask


class Expansion:
    """The network's side of one growing tree: the state after each node.

    Row 0 is the last true row, whose token is the root, so the root needs no pass of its own;
    the rows after it are tree rows, in the order in which they were run.
    """

    def __init__(self, drafter: TreeDrafter, cache: KVCache, last_state: Tensor) -> None:
        self.drafter, self.cache = drafter, cache
        self.before = cache.length - 1  # cache rows before row 0; also the position of row 0
        self.states = last_state  # (rows, ...)
        self.rows = PathRows(self.before, [0])

    def __call__(self, tokens: Sequence[int], parents: Sequence[int], nodes: Sequence[int]) -> np.ndarray:
        """Log-probabilities (len(nodes), V) of the children of `nodes` (see `grow.Expand`)."""
        if list(nodes) == [0]:
            states = self.states
        else:
            states = self._run([tokens[n] for n in nodes], [parents[n] for n in nodes], nodes)
        return self.drafter.logits(states).log_softmax(dim=-1).numpy(force=True)

    def _run(self, tokens: list[int], parents: list[int], nodes: Sequence[int]) -> Tensor:
        """One pass over a level: a node's row is (state at its parent, its token)."""
        at_parents, device = self.states[self.rows.own(parents)], self.states.device
        mask = self.rows.add(nodes, parents)
        states = self.drafter.step(
            at_parents,
            torch.tensor(tokens, device=device),
            torch.tensor([self.before + len(self.rows.paths[node]) - 1 for node in nodes], device=device),
            torch.from_numpy(mask).to(device),
            self.cache,
        )
        self.states = torch.cat([self.states, states])
        return states
