"""The worlds of `strategies.py` made to speak the decoding loop's protocols: a target whose session
keeps rows like a network's, and drafters from perfect to adversarial.

The table session checks what a network could not tell: each row must see every position of its
history exactly once. Its features are those histories, so a drafter can check what it is taught.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from oracles import token_path
from strategies import TableModel, World

from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.decode import Reading
from eagle_min.grow import GROWERS, static_sampled
from eagle_min.tree import DraftTree, depths, select

KINDS = [*GROWERS, "random trees", "static_sampled"]
CONTEXT_KINDS = [kind for kind in KINDS if kind != "static_sampled"]  # their trees are a function of the text


class TableSession:
    """Rows are (position, token) pairs; what a new row sees decides its law."""

    def __init__(self, target: "TableTarget", capacity: int) -> None:
        self.target, self.capacity = target, capacity
        self.rows: list[tuple[int, int]] = []

    @property
    def length(self) -> int:
        return len(self.rows)

    def read(self, tokens: Sequence[int], positions: Sequence[int], mask: np.ndarray | None = None):
        new = list(zip(positions, tokens, strict=True))
        mask = np.tri(len(new), dtype=bool) if mask is None else mask
        assert max(positions) < self.target.context, "a position beyond the context"
        assert self.length + len(new) <= self.capacity, "more rows than were asked for"
        features = np.empty(len(new), dtype=object)
        for i in range(len(new)):
            seen = sorted(self.rows + [row for row, visible in zip(new, mask[i], strict=True) if visible])
            assert [place for place, _ in seen] == list(range(positions[i] + 1)), "a row must see each position once"
            features[i] = tuple(token for _, token in seen)
        self.rows += new
        return features, np.array([self.target.row(history) for history in features])

    def keep(self, start: int, rows: Sequence[int]) -> None:
        self.rows[start:] = [self.rows[start + row] for row in rows]


@dataclass
class TableTarget:
    """A target that answers from a table: Fraction weights, or float logits when `floats`."""

    table: TableModel
    context: int
    floats: bool = False

    @property
    def vocab_size(self) -> int:
        return self.table.vocab_size

    def row(self, history: tuple[int, ...]) -> np.ndarray:
        return self.table.log_weights(history) if self.floats else self.table.weights(history)

    def start(self, num_spare: int = 0, layers: Sequence[int] = ()) -> TableSession:
        self.session = TableSession(self, self.context + num_spare)
        return self.session


@dataclass
class TableDrafter:
    """Grows a tree from `draft`, a table over histories; asserts that it is taught the text."""

    draft: TableModel
    kind: str  # one of KINDS
    config: TreeConfig
    layers: tuple[int, ...] = ()
    pool: tuple[DraftTree, ...] = ()  # for "random trees"
    exact: bool = True  # sampled children: draft laws in Fractions
    seen: list[tuple[tuple[int, ...], DraftTree]] = field(default_factory=list)  # every history and tree

    @property
    def num_nodes(self) -> int:
        return max([self.config.num_nodes, *map(len, self.pool)])

    def start(self, prompt_ids: Sequence[int]) -> "TableDrafter":
        self.text, self.num_prompt = [prompt_ids[0]], len(prompt_ids)
        return self

    def learn(self, reading: Reading) -> None:
        assert len(reading.features) == len(reading.rows) and len(reading.path) > 0
        for token, history in zip(reading.following, reading.features[reading.path], strict=True):
            assert history == tuple(self.text), "a feature must be of the position before its token"
            self.text.append(token)

    def propose(self, root: int, depth: int, dice, cycle: int, sampling: SamplingConfig) -> DraftTree:
        assert self.text[-1] == root and depth >= 1
        self.greedy = sampling.temperature == 0
        if self.kind == "random trees":
            tree = self._from_pool(root, depth)
        elif self.kind == "static_sampled":
            tree = static_sampled(root, self._expand, self.config, depth, dice, cycle, sampling)
        else:
            tree = GROWERS[self.kind](root, self._expand, self.config, depth)
        tree.check_invariants()
        self.seen.append((tuple(self.text), tree))
        return tree

    def _expand(self, tokens: list[int], parents: list[int], nodes: list[int]) -> np.ndarray:
        # above temperature 0 `static_sampled` only hands rows to `next_token_law`, so its draft laws can be exact
        sampled = self.kind == "static_sampled" and self.exact and not self.greedy
        row = self.draft.weights if sampled else self.draft.log_weights
        return np.array([row((*self.text, *token_path(tokens, parents, node))) for node in nodes])

    def _from_pool(self, root: int, depth: int) -> DraftTree:
        """A drawn tree, picked by the text alone, without its nodes that are too deep."""
        tree = self.pool[sum(self.text, len(self.text)) % len(self.pool)]
        tree = DraftTree((root, *tree.tokens[1:]), tree.parents, tree.log_confidence)
        return select(tree, [node for node, level in enumerate(depths(tree.parents)) if level <= depth])


def adversarial(target: TableModel) -> TableModel:
    """The draft that likes a token the more the less the target does, and the target's best not at all."""
    turned = [[max(row) - weight for weight in row] for row in target.rows]
    for row, old in zip(turned, target.rows):
        row[old.index(max(old))] = 0
    fallback = tuple(range(target.vocab_size))  # all weights equal: anything but the first
    return TableModel(tuple(tuple(row) if any(row) else fallback for row in turned))


@dataclass(frozen=True)
class Loop:
    """All a generation needs, and the world it happens in."""

    world: World
    kind: str
    config: TreeConfig
    pool: tuple[DraftTree, ...]
    sampling: SamplingConfig
    max_new_tokens: int
    context: int
    stop: frozenset[int]

    def target(self, floats: bool = False) -> TableTarget:
        return TableTarget(self.world.target, self.context, floats)

    def drafter(self, exact: bool = True) -> TableDrafter:
        return TableDrafter(self.world.draft, self.kind, self.config, pool=self.pool, exact=exact)

    def options(self) -> dict:
        names = ("temperature", "top_k", "top_p")
        sampling = {name: getattr(self.sampling, name) for name in names}
        return {"max_new_tokens": self.max_new_tokens, "stop": self.stop, **sampling}


def random_table(rng: random.Random, vocab_size: int) -> TableModel:
    """Seven laws of small weights, a fifth of them zero."""
    rows = [[rng.choice((0, 1, 2, 3, 5)) for _ in range(vocab_size)] for _ in range(7)]
    return TableModel(tuple(tuple(row) if any(row) else (1,) * vocab_size for row in rows))


def random_tree(rng: random.Random, vocab_size: int, max_nodes: int) -> DraftTree:
    """Any shape, siblings with distinct tokens, no deeper than 3."""
    tokens, parents, level = [0], [-1], [0]
    for _ in range(rng.randrange(1, max_nodes)):
        parent = rng.choice([node for node in range(len(tokens)) if level[node] < 3])
        free = set(range(vocab_size)) - {tokens[node] for node in range(len(tokens)) if parents[node] == parent}
        if free:
            tokens.append(rng.choice(sorted(free)))
            parents.append(parent)
            level.append(level[parent] + 1)
    return DraftTree(tuple(tokens), tuple(parents), (0.0,) * len(tokens))


def random_sampling(rng: random.Random, vocab_size: int) -> SamplingConfig:
    """Each filter is off in three of four draws: all of them at once leave little to decide."""
    return SamplingConfig(
        temperature=rng.choice([1.0] * 5 + [0.5, 1 / 3, 0.0]),
        top_k=rng.choice([None] * 9 + [1, 2, vocab_size]),
        top_p=rng.choice([1] * 9 + [Fraction(9, 10), Fraction(3, 5), Fraction(1, 10)]),
    )


def random_loop(rng: random.Random, kinds: Sequence[str], vocab_size: int, most_new: int, max_nodes: int) -> Loop:
    """A world with every part of the loop in play, most of them without each of the limits."""
    target = random_table(rng, vocab_size)
    draft = rng.choice([random_table(rng, vocab_size)] * 2 + [adversarial(target), target])
    history = tuple(rng.choices(range(vocab_size), k=rng.randint(1, 3)))
    short = rng.random() < 0.3
    limits = list(range(most_new + 1)) if short else [most_new]
    return Loop(
        world=World(target, draft, history),
        kind=rng.choice(kinds),
        config=TreeConfig(
            num_nodes=rng.choice([*range(2, max_nodes + 1)] + [max_nodes] * 3),
            depth=rng.randint(1, 3),
            top_k=rng.choice([1, 2, 2, 3, vocab_size + 1]),
            ratio_threshold=rng.choice([1.1, 1.9, 7.3]),
        ),
        pool=tuple(random_tree(rng, vocab_size, max_nodes) for _ in range(3)),
        sampling=random_sampling(rng, vocab_size),
        max_new_tokens=rng.choice(limits),
        context=len(history) + rng.choice(limits),
        stop=frozenset(rng.choices(range(vocab_size), k=rng.choice([0, 1]))),
    )


def loops(
    kinds: Sequence[str] = KINDS, vocab_size: int = 3, most_new: int = 4, max_nodes: int = 7
) -> st.SearchStrategy[Loop]:
    """`random_loop` from a seed. Left to draw the parts, Hypothesis tries simple worlds first, and
    few of thirty simple worlds have two cycles."""
    seeds = st.integers(0, 2**32)
    return seeds.map(lambda seed: random_loop(random.Random(seed), kinds, vocab_size, most_new, max_nodes))
