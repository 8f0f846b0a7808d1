"""How the stand-ins for random sources draw: from the dice of whichever run is going on.

A stand-in has the signature of what it stands for. An argument that it does not know, and an error that
arises inside it, are no fault of the code under test: nothing is decided then. Only what the real source
refuses as well (`Impossible`) is raised as the error that it is.
Read next: `generators.py`.
"""

import contextlib
import functools
import inspect
import linecache
import math
import pickle
import random
import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType
from typing import Any, NoReturn

import numpy as np
import torch

from ...dice import Dice, check_probability, check_weights
from ..no_verdict import NoVerdict, Undecided, described, undecided
from .number import Lattice, Lazy, Uniform
from .numpy_arrays import UndrawnArray

MOST_ANSWERS = 10_000  # of one question
IGNORED = ("generator", "device", "layout", "requires_grad", "pin_memory")  # nothing of them reaches the law
# what errors say that are about the arrays and numbers which stand for others
OURS = re.compile(r"\bLazy|Undrawn|numpy\.object_|dtype\('O'\)|object arrays?\b|for the input types|of type Fraction")
TYPE_CHECK = re.compile(r"\bisinstance\(|\btype\(")
real_state = random.getstate  # of the generator behind the functions of `random`


class Impossible(Exception):
    """What the real source refuses too, by an error of class `kind` (or of the one the source is known for)."""

    def __init__(self, message: str, kind: type[Exception] | None = None) -> None:
        super().__init__(message)
        self.kind = kind


class Current:
    """The dice of the run that is going on, and the number of draws so far, which is their name. There is one of
    these, for generators that a program made while it was imported know of no other; `drawing_from` sets it."""

    def __init__(self) -> None:
        self.dice: Dice | None = None
        self.num_draws = 0
        self.corners: list[str] = []
        self.bits: int | None = None
        self.streams: dict[tuple, object] = {}  # how a generator began -> the one that draws

    def draws_from(self, origin: tuple, stream: object) -> None:
        """Undecided where another generator that began in the same way draws too: they give the same numbers."""
        if self.streams.setdefault(origin, stream) is not stream:
            undecided("two generators of one seed draw the same numbers, or one and its copy")

    def name(self) -> tuple[str, int]:
        if self.dice is None:
            undecided("a random number is drawn while the program is imported")
        self.num_draws += 1
        return ("draw", self.num_draws)

    def uniform(self) -> Lazy:
        name = self.name()
        if self.bits is None:
            return Lazy(Uniform(self.dice, name, self.corners))
        return Lazy(Lattice(self.dice, name, self.corners, self.bits))

    def pick(self, weights: Any) -> int:
        name, weights = self.name(), np.asarray(weights)
        possible(check_weights, weights)
        return self.dice.categorical(weights, name)

    def accept(self, probability: Any) -> bool:
        name = self.name()
        possible(check_probability, scalar(probability))
        return self.dice.accept(probability, name)


CURRENT = Current()


@contextlib.contextmanager
def drawing_from(dice: Dice, corners: list[str], bits: int | None = None) -> Iterator[None]:
    """All draws of a run come from these dice. `corners` gets a line for each comparison that only a number of
    exactly 0 decides; with `bits` uniform numbers are multiples of 2^-bits. `Undecided` for errors that say no more
    than that a number is not there."""
    CURRENT.dice, CURRENT.num_draws, CURRENT.corners, CURRENT.bits = dice, 0, corners, bits
    CURRENT.streams = {}
    try:
        yield
    except Exception as error:
        if OURS.search(described(error)):
            undecided(described(error), last_frame(error))
        if CURRENT.num_draws and checks_a_type(last_frame(error)):
            undecided(f"{described(error)}, where perhaps the type of a random number is looked at", last_frame(error))
        raise
    finally:
        CURRENT.dice = None


@contextlib.contextmanager
def none_unwatched() -> Iterator[None]:
    """`Undecided` at the end where one of the real generators has drawn inside, whatever else came of it. It is asked
    once for many runs: to look at the generators takes as long as a run."""
    before = states()
    try:
        yield
    finally:
        if states() != before and not isinstance(sys.exc_info()[1], NoVerdict):
            raise Undecided("a generator drew that is not watched, such as a function bound before the watch began")


def states() -> tuple:
    """Of the generators that `random`, numpy and torch have of their own."""
    legacy = pickle.dumps(np.random.mtrand._rand._bit_generator.state)
    return real_state(), legacy, torch.default_generator.get_state().numpy().tobytes()


def last_frame(error: Exception) -> FrameType:
    """Where the error was raised."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame


def checks_a_type(frame: FrameType) -> bool:
    """Does the line that raised, or the one before it, ask for a type? What stands for a number has another one."""
    lines = (linecache.getline(frame.f_code.co_filename, frame.f_lineno - back) for back in (0, 1))
    return any(map(TYPE_CHECK.search, lines))


def possible(check: Callable[[Any], None], value: Any) -> None:
    """`Impossible` where a check of the dice finds a value out of range."""
    try:
        check(value)
    except ValueError as error:
        raise Impossible(str(error)) from error


def scalar(value: Any) -> Any:
    """The value; TypeError for arrays, which ask for a draw an element."""
    if np.ndim(value):
        raise TypeError("an array, where one number is understood")
    return value


def answered(name: str, answer: Callable, args: tuple, kwargs: dict, kind: type[Exception]) -> Any:
    """What `answer` returns in the place of the function `name`, whose errors are of class `kind`."""
    if isinstance(generator := kwargs.get("generator"), torch.Generator):
        CURRENT.draws_from(("torch", generator.initial_seed()), generator)
    kwargs = {key: v for key, v in kwargs.items() if key not in IGNORED and not (key == "out" and v is None)}
    try:
        return answer(*args, **kwargs)
    except Impossible as error:
        raise (error.kind or kind)(str(error)) from error
    except Exception as error:
        known = inspect.signature(answer).parameters
        strange = [f"{key}=..." for key in kwargs if key not in known]
        call = f"{name}({', '.join(strange)})" if strange else f"this use of {name}"
        undecided(f"{call} is not understood" + ("" if strange else f": {type(error).__name__}: {error}"))


def stands_for(real: Any, name: str, kind: type[Exception] = ValueError) -> Callable[[type], type]:
    """For a class: its public methods answer as `answered` says, and what only `real` has is undecided."""

    def wrapped(method: FunctionType) -> Callable:
        @functools.wraps(method)
        def asked(*args: Any, **kwargs: Any) -> Any:
            if (stream := getattr(args[0], "stream", None)) is not None:
                CURRENT.draws_from(stream.origin, stream)
            return answered(f"{name}.{method.__name__}", method, args, kwargs, kind)

        return asked

    def missing(self: Any, attribute: str) -> NoReturn:
        if attribute.startswith("__") or not hasattr(real, attribute):
            raise AttributeError(f"{name} has no attribute {attribute!r}")  # as the real one says
        undecided(f"{name}.{attribute} cannot be enumerated")

    def decorate(source: type) -> type:
        for key, method in list(vars(source).items()):
            if isinstance(method, FunctionType) and not key.startswith("_"):
                setattr(source, key, wrapped(method))
        source.__getattr__ = missing
        return source

    return decorate


def filled(shape: Any, draw: Callable[[], Any] = CURRENT.uniform, dtype: Any = object) -> Any:
    """One draw, or an array of them. `shape` as numpy takes it: None, a number, a tuple."""
    if shape is None:
        return draw()
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    array = np.empty(math.prod(shape), dtype=dtype)
    array[:] = [draw() for _ in range(math.prod(shape))]
    return array.reshape(shape).view(UndrawnArray if dtype is object else np.ndarray)


def several(weights: Any, count: int, replace: bool) -> list[int]:
    """`count` indices with these weights; without replacement each one drawn loses its weight."""
    weights, found = np.array(weights), []
    if count < 0:
        raise Impossible(f"{count} are drawn")
    for _ in range(count):
        found.append(CURRENT.pick(weights))
        if not replace:
            weights[found[-1]] = 0
    return found


def refuse(what: str) -> Callable[..., NoReturn]:
    """A function that cannot be enumerated."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        undecided(f"{what} cannot be enumerated")

    return refused


def refuse_in_run(what: str, real: Callable) -> Callable:
    """`real`, but refused in a run; what it gives while a program is imported is a constant like others."""

    @functools.wraps(real)
    def asked(*args: Any, **kwargs: Any) -> Any:
        return real(*args, **kwargs) if CURRENT.dice is None else undecided(f"{what} cannot be enumerated")

    return asked


def even(count: int) -> np.ndarray:
    """Equal weights, exact."""
    if count > MOST_ANSWERS:
        undecided(f"a choice among {count} is drawn, the most is {MOST_ANSWERS}")
    if count < 1:
        raise Impossible("a choice among none is drawn")
    return np.array([1] * int(count), dtype=object)
