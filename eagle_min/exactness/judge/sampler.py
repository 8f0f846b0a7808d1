"""A function under test as a sampler of its kind, and the exact law of what it returns.

`Sampler` calls the function with drafts and laws, lets all its random numbers come from given dice, and finds by
enumeration with which probability each text is returned. How it is called and what it must return depends on
its kind: a `Kind` holds all that differs from one to the next, and `kinds.py` lists them. Read next: `cycles.py`.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from hypothesis.strategies import SearchStrategy

from ...dice import Dice
from ..acceptance.known_faults import KnownFault
from ..law import Limits, Number, branches
from ..no_verdict import described
from ..undrawn.watch import drawing_from
from ..worlds.decodings import AnyWorld
from ..worlds.tables import Table, Text, TextLaw, World
from .call import BrokenContract, OutOfTime, guarded
from .verdict import TOLERANCE


class Laws(NamedTuple):
    """How the two laws that are compared in a world are found, and one text of the sampler's."""

    got: Callable[["Sampler", AnyWorld], tuple[TextLaw, TextLaw]]  # the law; that of a first cycle, {} where none is
    wanted: Callable[[AnyWorld], TextLaw]
    one_text: Callable[["Sampler", AnyWorld, Dice], Text]  # by dice that are thrown: a draw from `got`


@dataclass(frozen=True)
class Kind:
    """One way in which samplers are called, with all that is particular to it."""

    name: str
    num_arguments: int
    play: Callable[["Sampler", AnyWorld, Text, Dice], Text]  # one call behind a text: the tokens returned, checked
    laws: Laws
    drawn: SearchStrategy[AnyWorld]  # worlds to try it in
    always_tried: tuple[AnyWorld, ...]  # and further ones
    bound: Callable[[World], Number] | None = None  # drafts that any exact rule accepts in a first cycle, at most
    known_faults: tuple[KnownFault, ...] = ()
    tries_equal: bool = False  # with `bits`: each world also with the target as its own draft


class Sampler:
    """The function under test, called as its kind says."""

    def __init__(self, function: Callable, kind: Kind, exact: bool, limits: Limits, bits: int | None = None) -> None:
        """`exact`: hand over arrays of Fractions, not of float64. `bits`: uniform numbers are multiples of 2^-bits.
        Errors as `takes_dice`."""
        self.function, self.kind, self.exact, self.limits, self.bits = function, kind, exact, limits, bits
        self.takes_dice = takes_dice(function, kind)
        self.num_branches = 0
        self.corners: list[str] = []  # what only rounding, or a number of exactly 0, decided

    def rows(self, table: Table, texts: Sequence[Text]) -> np.ndarray:
        """(len(texts), V): the table's laws behind these texts, in Fractions or float64."""
        laws = np.array([table(text) for text in texts], dtype=object).reshape(len(texts), table.vocab_size)
        return laws if self.exact else laws.astype(np.float64)

    def call(self, dice: Dice, *arguments: Any) -> Any:
        """One call; whatever it draws comes from `dice`. Errors as `guarded`."""
        more = {"dice": dice} if self.takes_dice else {}
        return guarded(lambda: self.invoke(dice, arguments, more), arguments, self.limits.call_seconds)

    def invoke(self, dice: Dice, arguments: Sequence[Any], more: dict) -> Any:
        """The bare call."""
        with drawing_from(dice, self.corners, self.bits):
            return self.function(*arguments, **more)

    def got_and_wanted(self, world: AnyWorld) -> tuple[TextLaw, TextLaw]:
        """The law of the sampler in a world, and the one that it must have."""
        return self.kind.laws.got(self, world)[0], self.kind.laws.wanted(world)

    def cycle_law(self, world: AnyWorld, text: Text) -> TextLaw:
        """The law of what one call returns behind `text`: a cycle's tokens, or all that a decoder writes. Each sequence
        of answers is run twice. `BrokenContract` as soon as runs that break the contract weigh more than TOLERANCE;
        with floats, lighter ones are numerical corners."""

        def outcome(dice: Dice) -> Text | Breach:
            try:
                return self.kind.play(self, world, text, dice)
            except BrokenContract as error:
                if isinstance(error.__cause__, OutOfTime):
                    raise  # a second run would hang as well
                return Breach(error)

        found: TextLaw = {}
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


@dataclass(frozen=True)
class Breach:
    """What a run comes to that broke the contract; all are alike."""

    error: BrokenContract = field(compare=False)


def takes_dice(function: Callable, kind: Kind) -> bool:
    """Whether a sampler has a keyword `dice`. ValueError for what Python cannot tell the parameters of, and for what
    cannot be called as its kind says."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        allowed = "written in Python, or wrapped in a function that is"
        raise ValueError(f"function must be {allowed}, got {described(function)}") from error
    asked = "dice" in signature.parameters
    try:
        signature.bind(*[None] * kind.num_arguments, **({"dice": None} if asked else {}))
    except TypeError as error:
        allowed = f"one that {kind.num_arguments} arguments can be given to, as the kind {kind.name} does"
        raise ValueError(f"function must be {allowed}, got parameters {signature}: {error}") from error
    return asked
