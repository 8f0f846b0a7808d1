"""What stands for the generators of `random` and `numpy.random` while a program is watched.

Choices ask dice; uniform numbers are left undrawn. A generator that a program made while it was imported asks the dice
of whichever run is going on. What would make a draw depend on anything but the dice (seeds, saved states) and what has
no finite law (normal and exponential numbers) is refused by name.
Read next: `watch.py`.
"""

import itertools
import math
import random
from bisect import bisect
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..no_verdict import undecided
from .number import UndrawnNumber
from .numpy_arrays import keeps_number
from .stand_ins import THIS_RUN, Impossible, array_of, equal_weights, refusing, scalar, shape_of, stands_for

REFUSED_RACE = refusing("a race of exponential or Gumbel numbers")
REFUSED_NORMAL = refusing("a normal number")
REFUSED_STATE = refusing("a seed or a saved state of the generator")
UNSEEDED = itertools.count()  # each generator without a seed begins in a way of its own


class Stream:
    """The numbers that a generator has before it: two that began alike, or one and its copy, have the same."""

    def __init__(self, *origin: Any) -> None:
        self.origin = origin


def stream_of(family: str, seed: Any) -> Stream:
    """What a new generator draws from. Undecided for one that a run makes with a seed: it would draw the same numbers
    each time."""
    if isinstance(seed, SeedSource):
        return Stream(*seed.stream.origin)
    if isinstance(seed, NumpySource | BitSource):
        return seed.stream  # no copy: both draw on
    if seed is not None and THIS_RUN.dice is not None:
        undecided("a generator is made in the call from a seed, so it draws the same numbers each time")
    return Stream(family, next(UNSEEDED)) if seed is None else Stream(family, "seed", repr(seed))


def summed_to_one(p: Any, size: int) -> np.ndarray:
    """`p` (size,) as numpy wants it: of another length, or not normalised, it is refused."""
    own = p.dtype if isinstance(p, np.ndarray) and p.dtype.kind == "f" else np.float64  # a tensor's counts for nothing
    p, tolerance = np.asarray(p), math.sqrt(np.finfo(own).eps)
    if p.shape != (size,):
        raise Impossible("a and p must have same size")
    if abs(math.fsum(map(float, p)) - 1) > max(tolerance, 1.5e-8):
        raise Impossible("probabilities do not sum to 1")
    return p


def last_takes_the_rest(pvals: Any) -> np.ndarray:
    """The law of numpy's `multinomial`: what the others leave of 1 belongs to the last, whatever `pvals` says."""
    if np.ndim(pvals) != 1:
        raise TypeError("an array of laws")
    pvals = np.array(pvals)
    rest = 1 - sum(pvals[:-1])
    if rest < -1e-12:
        raise Impossible("sum(pvals[:-1]) > 1.0")
    if abs(rest - pvals[-1]) > 1e-9:
        pvals[-1] = max(rest, 0)
    return pvals


def integers_between(low: Any, high: Any, size: Any, dtype: Any) -> Any:
    """Integers from `low` to `high` - 1; without `high`, from 0 to `low` - 1."""
    low, high = (0, low) if high is None else (low, high)
    low, high, dtype = scalar(low), scalar(high), np.dtype(dtype)
    if dtype.kind not in "iu":
        raise TypeError(f"integers of {dtype}")
    return array_of(size, lambda: dtype.type(low + THIS_RUN.below(high - low)), dtype)


class NumpySource:
    """What `Generator` and `RandomState` have in common. Sizes as numpy takes them."""

    def __init__(self, seed: Any = None) -> None:
        """`seed`: as for `default_rng`, so also a generator."""
        self.stream = stream_of("numpy", seed)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        low, high = scalar(low), scalar(high)
        return array_of(size, lambda: THIS_RUN.uniform() * (high - low) + low)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        values = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        weights = equal_weights(len(values)) if p is None else summed_to_one(p, len(values))
        if size is None:
            return values[THIS_RUN.categorical(weights)]
        shape = shape_of(size)
        found = np.array(THIS_RUN.indices(weights, math.prod(shape), replace), dtype=int)
        return values[found].reshape(shape + values.shape[1:])

    def multinomial(self, n: int, pvals: Any, size: Any = None) -> Any:
        law, count, shape = last_takes_the_rest(pvals), scalar(n), shape_of(size)
        drawn = [THIS_RUN.indices(law, count, replace=True) for _ in range(math.prod(shape))]
        counts = [np.bincount(indices, minlength=len(law)) for indices in drawn]
        return np.array(counts, dtype=int).reshape(*shape, len(law))

    def binomial(self, n: int, p: float, size: Any = None) -> Any:
        count = range(scalar(n))
        return array_of(size, lambda: sum(THIS_RUN.accept(p) for _ in count), np.int64)

    def permutation(self, x: Any) -> np.ndarray:
        values = np.arange(x) if isinstance(x, int | np.integer) else np.asarray(x)
        return values[THIS_RUN.order(len(values))]

    def shuffle(self, x: Any) -> None:
        order = THIS_RUN.order(len(x))
        x[:] = x[order] if isinstance(x, np.ndarray) else [x[i] for i in order]

    exponential = standard_exponential = gumbel = REFUSED_RACE
    normal = standard_normal = REFUSED_NORMAL


@stands_for(np.random.Generator, "numpy.random.Generator")
class GeneratorSource(NumpySource):
    """What stands for `Generator` and `default_rng`."""

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        if not keeps_number(np.dtype(dtype).name):
            raise TypeError("integers")
        return array_of(size)

    def integers(
        self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        low, high = (0, low) if high is None else (low, high)
        return integers_between(low, high + bool(endpoint), size, dtype)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        if axis != 0 or not (replace or shuffle):
            raise TypeError("another axis, or an order that is not drawn")
        return super().choice(a, size, replace, p)


@stands_for(np.random.RandomState, "numpy.random")
class LegacySource(NumpySource):
    """What stands for `RandomState` and the functions of `numpy.random`."""

    def random(self, size: Any = None) -> Any:
        return array_of(size)

    def random_sample(self, size: Any = None) -> Any:
        return array_of(size)

    def rand(self, *shape: int) -> Any:
        return array_of(shape or None)

    def randint(self, low: int, high: int | None = None, size: Any = None, dtype: Any = int) -> Any:
        return integers_between(low, high, size, dtype)

    ranf = sample = random_sample
    randn = REFUSED_NORMAL
    seed = get_state = set_state = REFUSED_STATE


@stands_for(np.random.PCG64, "numpy.random.BitGenerator")
class BitSource:
    """What stands for numpy's bit generators: something to make a generator of."""

    def __init__(self, seed: Any = None) -> None:
        self.stream = stream_of("numpy", seed)


class SeedSource(BitSource):
    """What stands for `SeedSequence`: bit generators that are made of one begin alike."""


@stands_for(random.Random, "random", IndexError)
class PythonSource:
    """What stands for `random.Random` and the functions of `random`."""

    def __init__(self, x: Any = None) -> None:
        self.stream = stream_of("python", x)

    def random(self) -> UndrawnNumber:
        return THIS_RUN.uniform()

    def uniform(self, a: float, b: float) -> Any:
        a, b = scalar(a), scalar(b)
        return THIS_RUN.uniform() * (b - a) + a

    def choices(self, population: Sequence, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> list:
        if weights is not None and cum_weights is not None:
            raise Impossible("Cannot specify both weights and cumulative weights", TypeError)
        if cum_weights is not None:
            weights = np.diff(np.asarray(cum_weights), prepend=0)
        weights = equal_weights(len(population)) if weights is None else np.asarray(list(weights))
        if len(weights) != len(population):
            raise Impossible("The number of weights does not match the population", ValueError)
        sums = list(itertools.accumulate(weights))
        if not 0 < sums[-1] < math.inf:
            raise Impossible("Total of weights must be greater than zero and finite", ValueError)
        if (weights < 0).any():  # which the real one does not look for
            return [population[bisect(sums, THIS_RUN.uniform() * sums[-1], 0, len(sums) - 1)] for _ in range(k)]
        return [population[i] for i in THIS_RUN.indices(weights, k, replace=True)]

    def choice(self, seq: Sequence) -> Any:
        return seq[THIS_RUN.below(len(seq))]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        numbers = range(start) if stop is None else range(start, stop, step)
        if not numbers:
            raise Impossible("empty range for randrange()", ValueError)
        return numbers[THIS_RUN.below(len(numbers))]

    def randint(self, a: int, b: int) -> int:
        return PythonSource.randrange(self, a, b + 1)

    def getrandbits(self, k: int) -> int:
        return THIS_RUN.below(2**k)

    def sample(self, population: Sequence, k: int, *, counts: None = None) -> list:
        if counts is not None:
            raise TypeError("counts")
        if not 0 <= k <= len(population):
            raise Impossible("Sample larger than population or is negative", ValueError)
        return [population[i] for i in THIS_RUN.indices([1] * len(population), k, replace=False)]

    def shuffle(self, x: list) -> None:
        x[:] = [x[i] for i in THIS_RUN.order(len(x))]

    expovariate = REFUSED_RACE
    gauss = normalvariate = REFUSED_NORMAL
    seed = getstate = setstate = REFUSED_STATE
