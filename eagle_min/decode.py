"""Plain decoding and the speculative loop: propose, verify, commit.

A *cycle* is one target call: the drafter proposes a tree below the root (the last token chosen),
the target reads all its nodes at once, `verify` picks the path that survives and one bonus
token, and both sides forget the rest. Plain decoding is the same with nothing proposed; both
draw the target's token for a position under the same name, and both end by the same rule (`ending.py`).

tau is the number of tokens committed per target call after the prefill, bonus included.
Read next: `files.py`.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .config import SamplingConfig, require
from .dice import Dice, SeededDice, target_draw
from .ending import Ending
from .sampling import next_token_law
from .tree import DraftTree, ancestor_mask, depths, root_only
from .verify import LawAt, verify


class TargetSession(Protocol):
    """One sequence being read by a target (see `model.Session`)."""

    length: int

    def read(
        self, tokens: Sequence[int], positions: Sequence[int], mask: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        """Features (one row a token, sliceable) and what `sampling.next_token_law` takes (T, V)."""

    def keep(self, start: int, rows: Sequence[int]) -> None: ...


class Target(Protocol):
    """What is decoded: `model.GPT`, or a table of laws."""

    context: int
    vocab_size: int

    def start(self, num_spare: int = 0, layers: Sequence[int] = ()) -> TargetSession: ...


@dataclass(frozen=True)
class Reading:
    """One target call as the drafter is told of it: N tokens were read, the rows at `path` are kept.

    The first one is of the prompt, and keeps all of it; each later one of the tree that was proposed.
    """

    features: Any  # (N, ...), of the kind that `Drafter.layers` asks for
    rows: np.ndarray  # (N, V), what `sampling.next_token_law` takes
    path: Sequence[int]
    following: Sequence[int]  # the tokens after each of `path`: all are in the text now, the last is the next root


class DraftSession(Protocol):
    """One sequence being drafted for."""

    def learn(self, reading: Reading) -> None: ...

    def propose(self, root: int, depth: int, dice: Dice, cycle: int, sampling: SamplingConfig) -> DraftTree:
        """A tree below `root`, at most `depth` >= 1 levels deep."""


class Drafter(Protocol):
    """Anything that proposes trees. `num_nodes` bounds their size, root included."""

    num_nodes: int
    layers: Sequence[int]  # the target's residual streams to learn from; none: its feature

    def start(self, prompt_ids: Sequence[int]) -> DraftSession:
        """A new sequence begins; nothing of it is known yet but the prompt."""


@dataclass(frozen=True)
class Cycle:
    """What one target call committed. `finish_reason` is None until the last one."""

    tokens: tuple[int, ...]
    num_accepted: int  # so many of the tokens were drafted; a token after them is the bonus
    tree: DraftTree | None  # None for plain decoding and for the prefill
    path: tuple[int, ...]  # accepted nodes of the tree, the root included
    finish_reason: str | None


def tau(cycles: Iterable[Cycle]) -> float | None:
    """Tokens committed per target call, a ratio of totals: a long text counts by its calls. None
    when there was no call."""
    counts = [len(cycle.tokens) for cycle in cycles]
    return sum(counts) / len(counts) if counts else None


@dataclass(frozen=True)
class Generation:
    """A finished text. `finish_reason` is `stop`, `length` or `context`."""

    tokens: list[int]
    finish_reason: str
    cycles: list[Cycle]

    @classmethod
    def of(cls, cycles: Sequence[Cycle]) -> "Generation":
        """The text of all its cycles."""
        tokens = [token for cycle in cycles for token in cycle.tokens]
        return cls(tokens, str(cycles[-1].finish_reason), list(cycles))

    @property
    def target_calls(self) -> int:
        """Calls of the target, the prefill included."""
        return sum(bool(cycle.tokens) for cycle in self.cycles)

    @property
    def tau(self) -> float | None:
        """Tokens per target call after the prefill; None when there was no such call."""
        return tau(self.cycles[1:])


def check_proposal(tree: DraftTree, root: int, depth: int, num_nodes: int, vocab_size: int) -> None:
    """ValueError unless the tree is one, starts at the root and fits: a faulty drafter may cost speed,
    and nothing else."""
    tree.check_invariants()
    require(tree.tokens[0] == root, "root of the draft tree", tree.tokens[0], f"the last token chosen, {root}")
    require(max(tree.tokens) < vocab_size, "tokens of the draft tree", max(tree.tokens), f"below {vocab_size}")
    require(len(tree) <= num_nodes, "nodes of the draft tree", len(tree), f"at most {num_nodes}")
    deepest = max(depths(tree.parents))
    require(deepest <= depth, "depth of the draft tree", deepest, f"at most {depth}")


def laws_of(rows: np.ndarray, sampling: SamplingConfig) -> LawAt:
    """The law after a node, computed when it is asked for: few nodes of a tree are visited."""
    return lambda node: next_token_law(rows[node], sampling)


def read_tree(session: TargetSession, tree: DraftTree) -> tuple[Any, np.ndarray]:
    """One target call on all N nodes of a tree, whose root comes next in the text: features and rows, one a node."""
    positions = [session.length + depth for depth in depths(tree.parents)]
    return session.read(tree.tokens, positions, ancestor_mask(tree.parents))


def plain_cycles(
    target: Target, prompt_ids: Sequence[int], ending: Ending, sampling: SamplingConfig, dice: Dice
) -> Iterator[Cycle]:
    """One token a target call; the first call reads the whole prompt."""
    session = target.start()
    tokens = list(prompt_ids)
    while ending.reason is None:
        positions = range(session.length, session.length + len(tokens))
        _, rows = session.read(tokens, list(positions))
        token = dice.categorical(next_token_law(rows[-1], sampling), target_draw(session.length))
        tokens = [token]
        yield Cycle(ending.take(tokens), 0, None, (), ending.reason)


def speculative_cycles(
    target: Target, prompt_ids: Sequence[int], drafter: Drafter, ending: Ending, sampling: SamplingConfig, dice: Dice
) -> Iterator[Cycle]:
    """The prefill, then a tree a target call. `session.length` is the position of the root."""
    session = target.start(drafter.num_nodes, drafter.layers)
    everything = list(range(len(prompt_ids)))
    features, rows = session.read(list(prompt_ids), everything)
    root = dice.categorical(next_token_law(rows[-1], sampling), target_draw(session.length))
    yield Cycle(ending.take([root]), 0, None, (), ending.reason)
    draft = drafter.start(prompt_ids)
    reading = Reading(features, rows, everything, [*prompt_ids[1:], root])
    number = 0
    while ending.reason is None:
        start, depth = session.length, ending.room - 1  # the bonus takes the last place
        if depth:
            draft.learn(reading)
            tree = draft.propose(root, depth, dice, number, sampling)
            check_proposal(tree, root, depth, drafter.num_nodes, target.vocab_size)
        else:
            tree = root_only(root)
        features, rows = read_tree(session, tree)
        path, bonus = verify(tree, laws_of(rows, sampling), dice, start + 1, number)
        session.keep(start, path)
        reading = Reading(features, rows, path, [*(tree.tokens[node] for node in path[1:]), bonus])
        committed = ending.take(reading.following)
        num_accepted = min(len(path) - 1, len(committed))
        yield Cycle(committed, num_accepted, tree, tuple(path[: num_accepted + 1]), ending.reason)
        root, number = bonus, number + 1


def stream(
    target: Target,
    prompt_ids: Sequence[int],
    drafter: Drafter | None = None,
    *,
    max_new_tokens: int,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    seed: int = 0,
    stop: Collection[int] = (),
    dice: Dice | None = None,
) -> Iterator[Cycle]:
    """Decode, yielding a `Cycle` per target call; `drafter=None` is plain decoding.

    prompt_ids: 1 to `target.context` token ids. stop: token ids that end the text. The same
    `seed` gives the same text whatever the drafter, as long as its trees are functions of the
    context; `dice` replaces the seeded ones (the exactness tests pass dice that visit every
    outcome). Raises ValueError for a value outside its range.
    """
    prompt_ids, stop = list(prompt_ids), frozenset(stop)
    require(0 < len(prompt_ids) <= target.context, "prompt length", len(prompt_ids), f"1 to {target.context} tokens")
    for what, tokens in (("token ids of the prompt", prompt_ids), ("stop tokens", stop)):
        outside = [token for token in tokens if not 0 <= token < target.vocab_size]
        require(not outside, what, outside[:1], f"between 0 and {target.vocab_size - 1}")
    sampling = SamplingConfig(temperature, top_k, top_p)
    ending = Ending(len(prompt_ids), max_new_tokens, target.context, stop)
    dice = SeededDice(seed) if dice is None else dice
    if ending.reason is not None:  # no room for a single token: nothing is called
        return iter([Cycle((), 0, None, (), ending.reason)])
    if drafter is None:
        return plain_cycles(target, prompt_ids, ending, sampling, dice)
    return speculative_cycles(target, prompt_ids, drafter, ending, sampling, dice)


def generate(target: Target, prompt_ids: Sequence[int], drafter: Drafter | None = None, **options: Any) -> Generation:
    """Decode to the end; arguments and errors as `stream`."""
    return Generation.of(list(stream(target, prompt_ids, drafter, **options)))
