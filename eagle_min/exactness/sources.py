"""What stands for the generators of `random` and `numpy.random` while a program is watched.

Choices ask dice, uniform numbers are `Lazy`. A generator that a program made while it was imported asks
the dice of whichever run is going on. What would make a draw depend on anything but the dice (seeds,
saved states) and what has no finite law (normal and exponential numbers) is refused by name.
Read next: `watch.py`.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from ..dice import Dice
from .uniform import Lattice, Lazy, Uniform, undecided

MOST_ANSWERS = 10_000  # of one question


class Current:
    """The dice of the run that is going on, and the number of draws so far, which is their name. There is one of
    these, for generators that a program made while it was imported know of no other; `drawing_from` sets it."""

    def __init__(self) -> None:
        self.dice: Dice | None = None
        self.num_draws = 0
        self.corners: list[str] = []
        self.bits: int | None = None

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
        name = self.name()
        return self.dice.categorical(np.asarray(weights), name)

    def accept(self, probability: Any) -> bool:
        name = self.name()
        return self.dice.accept(probability, name)


CURRENT = Current()


@contextlib.contextmanager
def drawing_from(dice: Dice, corners: list[str], bits: int | None = None) -> Iterator[None]:
    """All draws of a run come from these dice. `corners` gets a line for each comparison that only a number of
    exactly 0 decides; with `bits` uniform numbers are multiples of 2^-bits."""
    CURRENT.dice, CURRENT.num_draws, CURRENT.corners, CURRENT.bits = dice, 0, corners, bits
    try:
        yield
    finally:
        CURRENT.dice = None


def filled(shape: Any, draw: Callable[[], Any]) -> Any:
    """One draw, or an array of them. `shape` as numpy takes it: None, a number, a tuple."""
    if shape is None:
        return draw()
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    array = np.empty(math.prod(shape), dtype=object)
    array[:] = [draw() for _ in range(math.prod(shape))]
    return array.reshape(shape)


def several(weights: np.ndarray, count: int, replace: bool) -> list[int]:
    """`count` indices with these weights; without replacement each one drawn loses its weight."""
    weights, found = np.array(weights), []
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


def even(count: int) -> np.ndarray:
    """Equal weights, exact."""
    if count > MOST_ANSWERS:
        undecided(f"a choice among {count} is drawn, the most is {MOST_ANSWERS}")
    return np.array([1] * count, dtype=object)


class NumpySource:
    """What stands for `numpy.random.Generator`, `RandomState` and the functions of `numpy.random`."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return filled(size, CURRENT.uniform)

    random_sample = sample = ranf = random

    def rand(self, *shape: int) -> Any:
        return filled(shape or None, CURRENT.uniform)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        return filled(size, lambda: CURRENT.uniform() * (high - low) + low)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, **_: Any) -> Any:
        values = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        weights = even(len(values)) if p is None else np.asarray(p)
        if size is None:
            return values[CURRENT.pick(weights)]
        shape = (size,) if isinstance(size, int | np.integer) else tuple(size)
        return values[np.array(several(weights, math.prod(shape), replace), dtype=int)].reshape(shape)

    def multinomial(self, n: int, pvals: Any, size: Any = None) -> Any:
        draw = lambda: np.bincount(several(pvals, n, replace=True), minlength=len(pvals))  # noqa: E731
        return draw() if size is None else np.stack([draw() for _ in range(size)])

    def integers(self, low: int, high: int | None = None, size: Any = None, **_: Any) -> Any:
        low, high = (0, low) if high is None else (low, high)
        return filled(size, lambda: low + CURRENT.pick(even(high - low)))

    randint = integers

    def binomial(self, n: int, p: float, size: Any = None) -> Any:
        return filled(size, lambda: sum(CURRENT.accept(p) for _ in range(n)))

    def permutation(self, x: Any) -> np.ndarray:
        values = np.arange(x) if isinstance(x, int | np.integer) else np.asarray(x)
        return values[several(even(len(values)), len(values), replace=False)]

    exponential = standard_exponential = gumbel = refuse("a race of exponential or Gumbel numbers")
    normal = standard_normal = randn = refuse("a normal number")
    seed = get_state = set_state = refuse("a seed or a saved state of the generator")


class PythonSource:
    """What stands for `random.Random` and the functions of `random`."""

    def __init__(self, *_: Any) -> None: ...

    def random(self) -> Lazy:
        return CURRENT.uniform()

    def uniform(self, a: float, b: float) -> Any:
        return CURRENT.uniform() * (b - a) + a

    def choices(self, population: Sequence, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> list:
        if cum_weights is not None:
            weights = np.diff(np.asarray(cum_weights), prepend=0)
        weights = even(len(population)) if weights is None else np.asarray(weights)
        return [population[i] for i in several(weights, k, replace=True)]

    def choice(self, population: Sequence) -> Any:
        return population[CURRENT.pick(even(len(population)))]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return self.choice(range(start) if stop is None else range(start, stop, step))

    def randint(self, a: int, b: int) -> int:
        return self.choice(range(a, b + 1))

    def sample(self, population: Sequence, k: int) -> list:
        return [population[i] for i in several(even(len(population)), k, replace=False)]

    def shuffle(self, x: list) -> None:
        x[:] = self.sample(x, len(x))

    expovariate = refuse("a race of exponential numbers")
    gauss = normalvariate = refuse("a normal number")
    seed = getstate = setstate = refuse("a seed or a saved state of the generator")
