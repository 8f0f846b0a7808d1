"""What is common to everything that stands in for a random source: the run that is going on, and how it is asked.

A stand-in has the signature of what it stands for and draws from `THIS_RUN`, which asks the dice of the current run.
An argument that it does not know, and an error that arises inside it, are no fault of the code under test: nothing
is decided then. Only what the real source refuses as well (`Impossible`) is raised as the error that it is.
Read next: `torch_tensor.py`.
"""

import functools
import inspect
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

import numpy as np
import torch

from ...dice import Dice, check_probability, check_weights
from ..no_verdict import undecided
from .number import UndrawnNumber
from .numpy_arrays import UndrawnArray
from .uniform import LatticeUniform, Uniform

MOST_ANSWERS = 10_000  # of one question
IGNORED = ("generator", "device", "layout", "requires_grad", "pin_memory")  # nothing of them reaches the law


class Impossible(Exception):
    """What the real source refuses too, by an error of class `kind` (or of the one the source is known for)."""

    def __init__(self, message: str, kind: type[Exception] | None = None) -> None:
        super().__init__(message)
        self.kind = kind


class CurrentRun:
    """The dice of the run that is going on, and the number of draws so far, which names the next. There is one object
    of this class, because generators that a program made while it was imported must find it; `drawing_from` sets it."""

    def __init__(self) -> None:
        self.begin(None, [], None)

    def begin(self, dice: Dice | None, corners: list[str], bits: int | None) -> None:
        """A new run; the arguments are those of `drawing_from`, with None for the dice between runs."""
        self.dice, self.corners, self.bits = dice, corners, bits
        self.num_draws = 0
        self.streams: dict[tuple, object] = {}  # how a generator began -> the one that draws

    def claim(self, origin: tuple, stream: object) -> None:
        """Undecided where another generator that began in the same way draws too: they give the same numbers."""
        if self.streams.setdefault(origin, stream) is not stream:
            undecided("two generators of one seed draw the same numbers, or one and its copy")

    def next_name(self) -> tuple[str, int]:
        if self.dice is None:
            undecided("a random number is drawn while the program is imported")
        self.num_draws += 1
        return ("draw", self.num_draws)

    def uniform(self) -> UndrawnNumber:
        """A number in [0, 1) that is left undrawn."""
        name = self.next_name()
        if self.bits is None:
            return UndrawnNumber(Uniform(self.dice, name, self.corners))
        return UndrawnNumber(LatticeUniform(self.dice, name, self.corners, self.bits))

    def categorical(self, weights: Any) -> int:
        """An index with these weights, from the dice; `accept`: True with that probability."""
        name, weights = self.next_name(), np.asarray(weights)
        require_possible(check_weights, weights)
        return self.dice.categorical(weights, name)

    def accept(self, probability: Any) -> bool:
        name = self.next_name()
        require_possible(check_probability, scalar(probability))
        return self.dice.accept(probability, name)

    def below(self, count: int) -> int:
        """An integer from 0 to `count` - 1, each as likely."""
        return self.categorical(equal_weights(count))

    def indices(self, weights: Any, count: int, replace: bool) -> list[int]:
        """`count` indices with these weights; without replacement each one drawn loses its weight."""
        weights, found = np.array(weights), []
        if count < 0:
            raise Impossible(f"{count} are drawn")
        for _ in range(count):
            found.append(self.categorical(weights))
            if not replace:
                weights[found[-1]] = 0
        return found

    def order(self, count: int) -> list[int]:
        """The integers below `count`, every order as likely."""
        return self.indices([1] * count, count, replace=False)


THIS_RUN = CurrentRun()


def require_possible(check: Callable[[Any], None], value: Any) -> None:
    """`Impossible` where a check of the dice finds a value out of range."""
    try:
        check(value)
    except ValueError as error:
        raise Impossible(str(error)) from error


def equal_weights(count: int) -> np.ndarray:
    """`count` equal weights, exact. Undecided for too many of them."""
    if count > MOST_ANSWERS:
        undecided(f"a choice among {count} is drawn, the most is {MOST_ANSWERS}")
    if count < 1:
        raise Impossible("a choice among none is drawn")
    return np.array([1] * int(count), dtype=object)


def scalar(value: Any) -> Any:
    """The value; TypeError for arrays, which ask for a draw an element."""
    if np.ndim(value):
        raise TypeError("an array, where one number is understood")
    return value


def call_stand_in(name: str, answer: Callable, args: tuple, kwargs: dict, kind: type[Exception]) -> Any:
    """What `answer` returns in the place of the function `name`, whose errors are of class `kind`. Undecided, with that
    name, for arguments that `answer` does not know and for errors of its own."""
    if isinstance(generator := kwargs.get("generator"), torch.Generator):
        THIS_RUN.claim(("torch", generator.initial_seed()), generator)
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
    """For a class: its public methods, inherited ones too, are called by `call_stand_in`, and what only `real` has is
    undecided."""

    def wrapped(method: FunctionType) -> Callable:
        @functools.wraps(method)
        def asked(*args: Any, **kwargs: Any) -> Any:
            if (stream := getattr(args[0], "stream", None)) is not None:
                THIS_RUN.claim(stream.origin, stream)
            return call_stand_in(f"{name}.{method.__name__}", method, args, kwargs, kind)

        return asked

    def missing(self: Any, attribute: str) -> NoReturn:
        if attribute.startswith("__") or not hasattr(real, attribute):
            raise AttributeError(f"{name} has no attribute {attribute!r}")  # as the real one says
        undecided(f"{name}.{attribute} cannot be enumerated")

    def decorate(source: type) -> type:
        for key, method in inspect.getmembers(source, inspect.isfunction):
            if not key.startswith("_"):
                setattr(source, key, wrapped(method))
        source.__getattr__ = missing
        return source

    return decorate


def shape_of(size: Any) -> tuple[int, ...]:
    """Numpy's `size` (None, a number or a tuple) as a shape."""
    if size is None:
        return ()
    return (size,) if isinstance(size, int | np.integer) else tuple(size)


def array_of(size: Any, draw: Callable[[], Any] = THIS_RUN.uniform, dtype: Any = object) -> Any:
    """One draw where `size` is None, else an array of them."""
    if size is None:
        return draw()
    shape = shape_of(size)
    array = np.empty(math.prod(shape), dtype=dtype)
    array[:] = [draw() for _ in range(math.prod(shape))]
    return array.reshape(shape).view(UndrawnArray if dtype is object else np.ndarray)


def refusing(what: str) -> Callable[..., NoReturn]:
    """A function in the place of one that cannot be enumerated, which says so."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        undecided(f"{what} cannot be enumerated")

    return refused


def refusing_in_run(what: str, real: Callable) -> Callable:
    """`real`, but refused in a run; what it gives while a program is imported is a constant like others."""

    @functools.wraps(real)
    def asked(*args: Any, **kwargs: Any) -> Any:
        return real(*args, **kwargs) if THIS_RUN.dice is None else undecided(f"{what} cannot be enumerated")

    return asked
