"""The ways in which a sampler is called, and the exact law of what it returns.

    chain         f(draft_tokens, draft_probs, target_probs): n drafts, (n, V), (n + 1, V)
    tree          f(tokens, parents, target_probs): node 0 is the root, row i the law behind node i
    tree-sampled  f(tokens, parents, draft_probs, target_probs): children drawn without replacement
    tree-iid      the same, children drawn with replacement
    batch         f(draft_tokens, draft_probs, target_probs): lists with an entry a sequence, as in `chain`

Each returns plain token ids: the accepted path and one token more; `batch` a list of them. Whole
decoders are in `whole.py`. Drafts are drawn here, by the same dice, from the laws that are handed
over. A cycle's law is found by enumeration at every text the cycle before it can leave, so two cycles
cost little more than one.
Read next: `whole.py`.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from ..dice import Dice, Name
from .guarded import BrokenContract, OutOfTime, guarded
from .law import Limits, Number, branches
from .sources import drawing_from
from .worlds import Row, Table, Text, World, joint, likely, paths

Law = dict[Text, Number]
TOLERANCE = 1e-6  # total variation that roundings of float32 stay below


@dataclass(frozen=True)
class Breach:
    """What a run comes to that broke the contract; all are alike."""

    error: BrokenContract = field(compare=False)


class Sampler:
    """The function under test, called by the contract of its kind."""

    def __init__(self, function: Callable, kind: str, exact: bool, limits: Limits, bits: int | None = None) -> None:
        """`exact`: hand over arrays of Fractions, not of float64. `bits`: uniform numbers are multiples of 2^-bits."""
        self.function, self.kind, self.exact, self.limits, self.bits = function, kind, exact, limits, bits
        self.takes_dice = "dice" in inspect.signature(function).parameters
        self.num_branches = 0
        self.corners: list[str] = []  # what only rounding, or a number of exactly 0, decided

    def array(self, rows: Sequence[Row], vocab_size: int) -> np.ndarray:
        """(len(rows), V), of Fractions or float64."""
        kind = object if self.exact else np.float64
        table = np.empty((len(rows), vocab_size), dtype=kind)
        for place, row in enumerate(rows):
            table[place] = list(row) if self.exact else [float(x) for x in row]
        return table

    def call(self, dice: Dice, *arguments: Any) -> Any:
        """One call; whatever it draws comes from `dice`. Errors as `guarded`."""
        more = {"dice": dice} if self.takes_dice else {}
        return guarded(lambda: self.invoke(dice, arguments, more), arguments, self.limits.call_seconds)

    def invoke(self, dice: Dice, arguments: Sequence[Any], more: dict) -> Any:
        """The bare call."""
        with drawing_from(dice, self.corners, self.bits):
            return self.function(*arguments, **more)

    def cycle_law(self, world: World, text: Text) -> Law:
        """The law of what one cycle returns behind `text`."""
        return self.law_of(lambda dice: PLAYS[self.kind](self, world, text, dice))

    def law_of(self, play: Callable[[Dice], Text]) -> Law:
        """The law of what `play` returns; each sequence of answers is run twice. `BrokenContract` as soon as
        breaches weigh more than TOLERANCE; with floats, lighter ones are numerical corners."""

        def outcome(dice: Dice) -> Text | Breach:
            try:
                return play(dice)
            except BrokenContract as error:
                if isinstance(error.__cause__, OutOfTime):
                    raise  # a second run would hang as well
                return Breach(error)

        found: Law = {}
        broken: Number = 0
        for result, chance in branches(outcome, self.limits, num_runs=2):
            self.num_branches += 1
            if not isinstance(result, Breach):
                found[result] = found.get(result, 0) + chance
                continue
            broken += chance
            if self.exact or broken > TOLERANCE:
                raise result.error
            self.corners.append(f"with a probability of {float(chance):.0e} the function {result.error}")
        return found


def as_path(returned: Any, tokens: Sequence[int], parents: Sequence[int], vocab_size: int) -> Text:
    """The returned token ids, checked: a path from the root and one token more."""
    try:
        path = tuple(int(token) for token in np.asarray(returned).reshape(-1).tolist())
    except (TypeError, ValueError) as error:
        raise BrokenContract(f"returned {returned!r}: no list of token ids") from error
    if not path or any(not 0 <= token < vocab_size for token in path):
        raise BrokenContract(f"returned {list(path)}: one token or more, each from 0 to {vocab_size - 1}")
    if path[:-1] not in paths(list(tokens), tuple(parents)):
        raise BrokenContract(f"returned {list(path)}: {list(path[:-1])} was not drafted")
    return path


def drawn_chain(
    sampler: Sampler, world: World, text: Text, size: int, dice: Dice, name: Name
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`size` drafts behind `text`, drawn one after the other: (size,), and the laws q (size, V), p (size + 1, V)."""
    tokens: list[int] = []
    for place in range(size):
        row = np.array(world.draft((*text, *tokens)), dtype=object)
        tokens.append(dice.categorical(row, (*name, place)))
    texts = [(*text, *tokens[:place]) for place in range(size + 1)]
    q = sampler.array([world.draft(t) for t in texts[:-1]], world.target.vocab_size)
    p = sampler.array([world.target(t) for t in texts], world.target.vocab_size)
    return np.array(tokens, dtype=int), q, p


def as_chain(returned: Any, drafted: np.ndarray, vocab_size: int) -> Text:
    """`as_path` for a chain."""
    return as_path(returned, [-1, *drafted.tolist()], range(-1, len(drafted)), vocab_size)


def play_chain(sampler: Sampler, world: World, text: Text, dice: Dice) -> Text:
    """Draw a chain, judge it."""
    drafted, q, p = drawn_chain(sampler, world, text, world.num_drafted, dice, ("drafted",))
    return as_chain(sampler.call(dice, drafted, q, p), drafted, world.target.vocab_size)


def play_batch(sampler: Sampler, world: World, text: Text, dice: Dice) -> tuple[Text, ...]:
    """Two sequences with chains of different length in one call; the second one without its last draft."""
    batch = [
        drawn_chain(sampler, world, (*text, number), size, dice, ("drafted", number))
        for number, size in enumerate((world.num_drafted, world.num_drafted - 1))
    ]
    drafted, q, p = map(list, zip(*batch))
    returned = sampler.call(dice, drafted, q, p)
    if len(returned) != len(batch):
        raise BrokenContract(f"returned {len(returned)} rows for {len(batch)}")
    return tuple(as_chain(*row, world.target.vocab_size) for row in zip(returned, drafted))


def play_tree(sampler: Sampler, world: World, text: Text, dice: Dice) -> Text:
    """A tree that is a function of the text: a node of rank r is the draft's r-th likeliest token."""
    tokens = [text[-1] if text else 0]
    for node in range(1, len(world.parents)):
        above = paths(tokens, world.parents[:node])[world.parents[node]]
        tokens.append(likely(world.draft((*text, *above)))[world.ranks[node]])
    p = sampler.array([world.target((*text, *path)) for path in paths(tokens, world.parents)], world.target.vocab_size)
    returned = sampler.call(dice, np.array(tokens), np.array(world.parents), p)
    return as_path(returned, tokens, world.parents, world.target.vocab_size)


def play_sampled(sampler: Sampler, world: World, text: Text, dice: Dice) -> Text:
    """A tree of a fixed shape with sampled children; nodes its laws cannot fill are left out."""
    replace = sampler.kind == "tree-iid"
    tokens, parents, number = [text[-1] if text else 0], [-1], {0: 0}  # node of the shape -> node of the tree
    left: dict[int, list[Number]] = {}  # node -> what its law has left for the next child
    for node in range(1, len(world.parents)):
        parent = number.get(world.parents[node])
        if parent is None:
            continue
        above = paths(tokens, tuple(parents))[parent]
        weights = left.setdefault(parent, list(world.draft((*text, *above))))
        if not any(weights):
            continue
        token = dice.categorical(np.array(weights, dtype=object), ("drafted", node))
        if not replace:
            weights[token] = Fraction(0)
        number[node] = len(tokens)
        tokens.append(token)
        parents.append(parent)
    texts = [(*text, *path) for path in paths(tokens, tuple(parents))]
    vocab_size = world.target.vocab_size
    q = sampler.array([world.draft(t) for t in texts], vocab_size)
    p = sampler.array([world.target(t) for t in texts], vocab_size)
    return as_path(sampler.call(dice, np.array(tokens), np.array(parents), q, p), tokens, parents, vocab_size)


PLAYS = {
    "chain": play_chain,
    "batch": play_batch,
    "tree": play_tree,
    "tree-sampled": play_sampled,
    "tree-iid": play_sampled,
}


def completed(target: Table, law_of_texts: Law, length: int) -> Law:
    """Each text cut to `length` tokens, or completed by the target's own law."""
    found: Law = {}
    for text, chance in law_of_texts.items():
        for rest, more in joint(target, text, max(0, length - len(text))):
            key = (*text, *rest)[:length]
            found[key] = found.get(key, 0) + chance * more
    return found


def two_rows(sampler: Sampler, world: World) -> tuple[Law, Law]:
    """Got and wanted for a batch: the joint law of both rows, which must be the product of their laws."""
    length = world_length(world, sampler.kind)
    got: Law = {}
    for texts, chance in sampler.cycle_law(world, ()).items():
        rows = [
            list(completed(world.target, {(number, *text): Fraction(1)}, length + 1).items())
            for number, text in enumerate(texts)
        ]
        for (first, p), (second, q) in product(*rows):
            got[first + second] = got.get(first + second, 0) + chance * p * q
    wanted = [[((n, *text), p) for text, p in joint(world.target, (n,), length)] for n in (0, 1)]
    return got, {first + second: p * q for (first, p), (second, q) in product(*wanted)}


def two_cycles(sampler: Sampler, world: World, first_cycle: Law | None = None) -> tuple[Law, Law]:
    """Got and wanted: the joint law of the first tokens over two cycles. `first_cycle`: the law of what the first
    one returns, from who has it already."""
    length = world_length(world, sampler.kind)
    got: Law = {}
    for first, chance in (first_cycle or sampler.cycle_law(world, ())).items():
        for second, more in sampler.cycle_law(world, first).items():
            key = (*first, *second)
            got[key] = got.get(key, 0) + chance * more
    return completed(world.target, got, length), dict(joint(world.target, (), length))


def world_length(world: World, kind: str) -> int:
    """Tokens that are compared: one more than a first cycle can commit, but in a batch no more."""
    longest = max(map(len, paths([0] * len(world.parents), world.parents)))
    return longest + (1 if kind == "batch" else 2)
