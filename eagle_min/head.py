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
Shapes: T rows, D width, V vocabulary. Read next: `decode.py`.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from .cache import KVCache
from .config import ModelConfig, SamplingConfig, TreeConfig
from .dice import Dice
from .model import GPT, Block, causal_mask, rotary_table
from .tree import DraftTree


class EagleHead(nn.Module):
    """Fusion layer and one decoder layer; embedding and LM head are the target's."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.fuse = nn.Linear(2 * config.width, config.width, bias=False)
        self.block = Block(config, input_norm=False)
        cos, sin = rotary_table(config)
        self.register_buffer("cos", cos.float(), persistent=False)
        self.register_buffer("sin", sin.float(), persistent=False)

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
        rotary = self.cos[positions], self.sin[positions]
        x = self.fuse(torch.cat([embedded, features], dim=-1))  # embedding first (official layout)
        x = self.block(x, rotary, mask, cache)
        if cache is not None:
            cache.advance(features.shape[-2])
        return x


Grow = Callable[..., DraftTree]


class EagleDrafter:
    """How to draft: `grow` decides the shape of a tree, the head supplies the confidences."""

    def __init__(self, target: GPT, head: EagleHead, grow: Grow, tree: TreeConfig, sampled: bool = False) -> None:
        """`sampled`: `grow` draws its children and so also takes dice, cycle and sampling."""
        self.target, self.head, self.grow, self.tree, self.sampled = target, head, grow, tree, sampled
        self.num_nodes = tree.num_nodes

    def start(self, prompt_ids: Sequence[int]) -> "EagleSession":
        """Draft for a new sequence. The prompt is not needed: its tokens come with their features."""
        return EagleSession(self)


class EagleSession:
    """One sequence being drafted for: the head's cache of it, and the guess the next tree starts from."""

    def __init__(self, drafter: EagleDrafter) -> None:
        self.drafter, tree = drafter, drafter.tree
        # a tree under construction has at most top_k expanded nodes a level, or all its nodes are
        num_spare = max(tree.num_nodes, tree.top_k * tree.depth)
        head = drafter.head
        self.cache = KVCache(head.config, 1, drafter.target.context + num_spare, head.fuse.weight)
        self.last_guess: Tensor | None = None  # (1, D), once something was learned

    @torch.inference_mode()
    def learn(self, tokens: Sequence[int], features: Tensor) -> None:
        """Read true rows: `features` (n, D) of the positions just committed, and the n tokens that
        follow them. The first token of a sequence has no feature before it, and so no row of its own."""
        start = self.cache.length
        positions = torch.arange(start, start + len(tokens), device=features.device)
        embedded = self.drafter.target.embed(torch.tensor(tokens, device=features.device))
        self.last_guess = self.drafter.head(features, embedded, positions, None, self.cache)[-1:]

    @torch.inference_mode()
    def propose(self, root: int, depth: int, dice: Dice, cycle: int, sampling: SamplingConfig) -> DraftTree:
        """A tree of at most `depth` levels below `root`. Tree rows leave the cache again."""
        drafter = self.drafter
        expansion = Expansion(drafter.target, drafter.head, self.cache, self.last_guess)
        chance = (dice, cycle, sampling) if drafter.sampled else ()
        tree = drafter.grow(root, expansion, drafter.tree, depth, *chance)
        self.cache.truncate(expansion.before + 1)
        return tree


class Expansion:
    """The head's side of one growing tree: which node has which row, and what each one guessed.

    Row 0 is the last true row, (feature before the root, root), so the root needs no pass of its own;
    the rows after it are tree rows, in the order in which they were run.
    """

    def __init__(self, target: GPT, head: EagleHead, cache: KVCache, last_guess: Tensor) -> None:
        self.target, self.head, self.cache = target, head, cache
        self.before = cache.length - 1  # cache rows before row 0; also the position of row 0
        self.guesses = last_guess  # (rows, D)
        self.rows: dict[int, list[int]] = {0: [0]}  # node -> the rows of its path, its own last

    def __call__(self, tokens: Sequence[int], parents: Sequence[int], nodes: Sequence[int]) -> np.ndarray:
        """Log-probabilities (len(nodes), V) of the children of `nodes` (see `grow.Expand`)."""
        if list(nodes) == [0]:
            guesses = self.guesses
        else:
            guesses = self._run([tokens[n] for n in nodes], [parents[n] for n in nodes], nodes)
        return self.target.lm_head(guesses).log_softmax(dim=-1).numpy(force=True)

    def _run(self, tokens: list[int], parents: list[int], nodes: Sequence[int]) -> Tensor:
        """One head pass over a level: a node's row is (guess at its parent, its token)."""
        first = len(self.guesses)
        mask = np.zeros((len(nodes), self.before + first + len(nodes)), dtype=bool)
        mask[:, : self.before] = True
        for i, (node, parent) in enumerate(zip(nodes, parents)):
            self.rows[node] = [*self.rows[parent], first + i]
            mask[i, [self.before + row for row in self.rows[node]]] = True
        device = self.guesses.device
        guesses = self.head(
            self.guesses[[self.rows[parent][-1] for parent in parents]],
            self.target.embed(torch.tensor(tokens, device=device)),
            torch.tensor([self.before + len(self.rows[node]) - 1 for node in nodes], device=device),
            torch.from_numpy(mask).to(device),
            self.cache,
        )
        self.guesses = torch.cat([self.guesses, guesses])
        return guesses
