"""The ways in which a sampler is called, and the exact law of what it returns.

    chain         f(draft_tokens, draft_probs, target_probs): n drafts, (n, V), (n + 1, V); n may be 0
    tree          f(tokens, parents, target_probs): node 0 is the root, perhaps alone, row i the law behind node i
    tree-sampled  f(tokens, parents, draft_probs, target_probs): children drawn without replacement
    tree-iid      the same, children drawn with replacement
    batch         f(draft_tokens, draft_probs, target_probs): lists with an entry a sequence, as in `chain`;
                  one to three sequences here, which stand behind different texts

Each returns plain token ids: the accepted path and one token more; `batch` a list of them. Whole
decoders are in `whole.py`. Drafts are drawn here, by the same dice, from the laws that are handed
over. A cycle's law is found by enumeration at every text the cycle before it can leave, so two cycles
cost little more than one.
Read next: `cycles.py`.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dice import Dice, Name
from ..law import Limits, Number, branches
from ..no_verdict import described
from ..undrawn.watch import drawing_from
from ..worlds.tables import Row, Text, World, drawn_tree, likeliest_tree, paths
from .call import BrokenContract, OutOfTime, guarded

Law = dict[Text, Number]  # of a batch: of tuples of texts
DRAFTED = "draft of the certifier"  # in the names of draws: another than code under test would take
INSTEAD_OF_2 = (1, 0)  # see `worlds.STEPS`
TOLERANCE = 1e-6  # total variation that roundings of float32 stay below
ARGUMENTS = {"chain": 3, "tree": 3, "tree-sampled": 4, "tree-iid": 4, "batch": 3, "loop": 6}


def takes_dice(function: Callable, kind: str) -> bool:
    """Whether a sampler has a keyword `dice`. ValueError for what Python cannot tell the parameters of, and for what
    cannot be called as its kind says."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        allowed = "written in Python, or wrapped in a function that is"
        raise ValueError(f"function must be {allowed}, got {described(function)}") from error
    asked = "dice" in signature.parameters
    try:
        signature.bind(*[None] * ARGUMENTS[kind], **({"dice": None} if asked else {}))
    except TypeError as error:
        allowed = f"one that {ARGUMENTS[kind]} arguments can be given to, as the kind {kind} does"
        raise ValueError(f"function must be {allowed}, got parameters {signature}: {error}") from error
    return asked


@dataclass(frozen=True)
class Breach:
    """What a run comes to that broke the contract; all are alike."""

    error: BrokenContract = field(compare=False)


class Sampler:
    """The function under test, called by the contract of its kind."""

    def __init__(self, function: Callable, kind: str, exact: bool, limits: Limits, bits: int | None = None) -> None:
        """`exact`: hand over arrays of Fractions, not of float64. `bits`: uniform numbers are multiples of 2^-bits.
        Errors as `takes_dice`."""
        self.function, self.kind, self.exact, self.limits, self.bits = function, kind, exact, limits, bits
        self.takes_dice = takes_dice(function, kind)
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
    path = token_ids(returned)
    shown = described(list(path))
    if not path or any(not 0 <= token < vocab_size for token in path):
        raise BrokenContract(f"returned {shown}: one token or more, each from 0 to {vocab_size - 1}")
    if path[:-1] not in paths(list(tokens), tuple(parents)):
        raise BrokenContract(f"returned {shown}: {described(list(path[:-1]))} was not drafted")
    return path


def token_ids(returned: Any) -> Text:
    """What a function returned as whole numbers, however it is packed: a list, an array, a tensor, some of them
    nested. `BrokenContract` where that is not what it is; 1.0 counts as 1, and 1.4 as nothing."""
    try:
        numbers = np.asarray(returned).reshape(-1).tolist()
        path = tuple(int(number) for number in numbers)
        if path == tuple(numbers):
            return path
    except Exception as error:  # what was returned may raise anything
        raise BrokenContract(f"returned {described(returned)}: no list of token ids") from error
    raise BrokenContract(f"returned {described(returned)}: no list of token ids")


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
    drafted, q, p = drawn_chain(sampler, world, text, world.num_drafted, dice, (DRAFTED,))
    return as_chain(sampler.call(dice, drafted, q, p), drafted, world.target.vocab_size)


def play_batch(sampler: Sampler, world: World, text: Text, dice: Dice) -> tuple[Text, ...]:
    """All sequences of a batch in one call, with chains of `world.sizes` drafts."""
    vocab_size = world.target.vocab_size
    batch = [
        drawn_chain(sampler, world, (*text, *before), size, dice, (DRAFTED, number))
        for number, (before, size) in enumerate(zip(prompts(world), world.sizes))
    ]
    drafted, q, p = map(list, zip(*batch))
    returned = sampler.call(dice, drafted, q, p)
    try:
        rows = list(returned)
    except TypeError as error:
        raise BrokenContract(f"returned {described(returned)}: no list of rows") from error
    if len(rows) != len(batch):
        raise BrokenContract(f"returned {len(rows)} rows for {len(batch)}")
    return tuple(as_chain(row, tokens, vocab_size) for row, tokens in zip(rows, drafted))


def prompts(world: World) -> list[Text]:
    """What the sequences of a batch stand behind: a token each; where there are no more, another text that leads to
    where that token would."""
    return [(number,) if number < world.target.vocab_size else INSTEAD_OF_2 for number in range(len(world.sizes))]


def play_tree(sampler: Sampler, world: World, text: Text, dice: Dice) -> Text:
    """A tree that is a function of the text."""
    tokens = likeliest_tree(world, text)
    p = sampler.array([world.target((*text, *path)) for path in paths(tokens, world.parents)], world.target.vocab_size)
    returned = sampler.call(dice, np.array(tokens), np.array(world.parents), p)
    return as_path(returned, tokens, world.parents, world.target.vocab_size)


def play_sampled(sampler: Sampler, world: World, text: Text, dice: Dice) -> Text:
    """A tree of a fixed shape with sampled children; nodes its laws cannot fill are left out."""
    tokens, parents = drawn_tree(world, text, dice, (DRAFTED,), replace=sampler.kind == "tree-iid")
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
