"""What a program computes from one uniform number that nobody has drawn.

Programs compute with u before they compare: `u * q < p`, `1 - u < p`, `log(u) < log(p)`. Of a strictly monotone
function of u an `UndrawnNumber` keeps the inverse, and a comparison applies it to the threshold: `1 - u < p`
asks whether u > 1 - p, which `Uniform` can answer. Of a function that is not monotone (`abs(u - 1/2)`,
`1 / (u - 1/2)`) dice are first asked on which side of 0 its argument lies; on each side it is monotone.

Two things have no answer and are `Undecided`: looking at the number itself, and comparing two such numbers
with each other (a race of exponential or Gumbel numbers), whose law is no finite sum of products.
Read next: `numpy_arrays.py`.
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from ..law import Number
from ..no_verdict import undecided
from .numpy_arrays import Undrawn
from .uniform import Uniform

Map = Callable[[Number], Number]


def plain_number(value: Any) -> Number:
    """A Python number from a scalar of Python or numpy; Fractions and integers stay exact. NotImplemented for
    anything else: arrays and tensors deal with their elements themselves."""
    if isinstance(value, Fraction | float):
        return value
    if isinstance(value, int | np.integer | np.bool_):
        return Fraction(int(value))
    return float(value) if isinstance(value, np.floating) else NotImplemented


def reciprocal(x: Number) -> Number:
    """1 / x for x from 0 on. As its own inverse it meets thresholds below 0 too, which every 1 / x exceeds."""
    return 1 / x if x > 0 else math.inf


def with_a_plain_number(what: str) -> Callable[[Callable], Callable]:
    """For an operator of `UndrawnNumber`: its right side is one plain number. Undecided for two undrawn ones."""

    def decorate(operate: Callable) -> Callable:
        @functools.wraps(operate)
        def operator(self: "UndrawnNumber", other: Any) -> Any:
            if isinstance(other, UndrawnNumber):
                undecided(f"two random numbers are {what}")
            c = plain_number(other)
            return NotImplemented if c is NotImplemented else operate(self, c)

        return operator

    return decorate


class UndrawnNumber(Undrawn):
    """A strictly monotone function of a `Uniform`, with its inverse. It stands in the place of a float: comparisons
    give bool, arithmetic with plain numbers gives another one, and numpy keeps it in arrays of dtype object."""

    __slots__ = ("uniform", "forward", "inverse", "rising")

    def __init__(
        self, uniform: Uniform, forward: Map = lambda u: u, inverse: Map = lambda x: x, rising: bool = True
    ) -> None:
        self.uniform, self.forward, self.inverse, self.rising = uniform, forward, inverse, rising

    def then(self, forward: Map, inverse: Map, rising: bool = True) -> "UndrawnNumber":
        """This number under one more monotone function."""
        first, back = self.forward, self.inverse
        return UndrawnNumber(
            self.uniform, lambda u: forward(first(u)), lambda x: back(inverse(x)), self.rising == rising
        )

    def _compared(self, other: Any, or_equal: bool, wanted: bool) -> bool:
        """Is the answer to self < other (with `or_equal`: self <= other) the `wanted` one?"""
        if other is self:  # numpy's searches ask this
            return or_equal == wanted
        if isinstance(other, UndrawnNumber):
            undecided("two random numbers are compared: an exponential or Gumbel race has no finite law")
        x = plain_number(other)
        if x is NotImplemented:
            return x
        if x != x:
            return False  # as any comparison with NaN
        x = self.inverse(x)
        below = self.uniform.below(x, or_equal) if self.rising else not self.uniform.below(x, not or_equal)
        return below == wanted

    def __lt__(self, other: Any) -> bool:
        return self._compared(other, or_equal=False, wanted=True)

    def __le__(self, other: Any) -> bool:
        return self._compared(other, or_equal=True, wanted=True)

    def __gt__(self, other: Any) -> bool:
        return self._compared(other, or_equal=True, wanted=False)

    def __ge__(self, other: Any) -> bool:
        return self._compared(other, or_equal=False, wanted=False)

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if isinstance(other, UndrawnNumber):
            undecided("two random numbers are compared for equality")
        x = plain_number(other)
        return x if x is NotImplemented else x == x and self.uniform.equals(self.inverse(x))

    @with_a_plain_number("added")
    def __add__(self, c: Number) -> "UndrawnNumber | Number":
        return self.then(lambda u: u + c, lambda x: x - c) if math.isfinite(c) else c

    @with_a_plain_number("multiplied")
    def __mul__(self, c: Number) -> "UndrawnNumber | Number":
        if c == 0 or c != c:
            return c
        return self._times_infinity(c) if math.isinf(c) else self.then(lambda u: u * c, lambda x: x / c, c > 0)

    @with_a_plain_number("divided")
    def __truediv__(self, c: Number) -> "UndrawnNumber | Number":
        if c == 0:
            return self._times_infinity(math.copysign(math.inf, c))  # as numpy and torch have it
        return self * 0 if math.isinf(c) else c if c != c else self.then(lambda u: u / c, lambda x: x * c, c > 0)

    @with_a_plain_number("divided")
    def __rtruediv__(self, c: Number) -> "UndrawnNumber | Number":
        if self < 0:
            return (-self).then(reciprocal, reciprocal, rising=False) * -c
        return self.then(reciprocal, reciprocal, rising=False) * c

    def _times_infinity(self, infinity: float) -> float:
        """0 times infinity is NaN."""
        return math.nan if self == 0 else -infinity if self < 0 else infinity

    def __neg__(self) -> "UndrawnNumber":
        return self * -1

    def __pos__(self) -> "UndrawnNumber":
        return self

    def __abs__(self) -> "UndrawnNumber":
        return -self if self < 0 else self

    def __sub__(self, c: Any) -> "UndrawnNumber | Number":
        return self.__add__(c if plain_number(c) is NotImplemented else -plain_number(c))

    def __rsub__(self, c: Any) -> "UndrawnNumber | Number":
        return (-self).__add__(c)

    __radd__, __rmul__ = __add__, __mul__

    def log(self) -> "UndrawnNumber | Number":
        """Natural logarithm; NaN below 0, as numpy and torch have it."""
        if self < 0:
            return math.nan
        return self.then(lambda u: math.log(u) if u > 0 else -math.inf, lambda x: math.exp(x) if x < 700 else math.inf)

    def exp(self) -> "UndrawnNumber":
        return self.then(lambda u: math.exp(min(u, 709)), lambda x: math.log(x) if x > 0 else -math.inf)

    def item(self) -> "UndrawnNumber":
        """The same number, of Python."""
        return self

    def __floor__(self) -> int:
        """The integer part: `int(u * n)` picks one of n."""
        ends = sorted((self.forward(self.uniform.low), self.forward(self.uniform.high)))
        if not all(map(math.isfinite, ends)):
            undecided("a random number without bounds is rounded")
        value = math.floor(ends[0])
        while (value + 1 < ends[1] or (value + 1 == ends[1] and not self.rising)) and not self < value + 1:
            value += 1
        return value

    def __ceil__(self) -> int:
        return -math.floor(-self)

    def __int__(self) -> int:
        """Cut towards 0."""
        return math.ceil(self) if self < 0 else math.floor(self)

    __trunc__ = __int__
    __hash__ = Undrawn._looked_at  # Python drops it where there is an __eq__

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)  # protocols that numpy and others look for
        undecided(f"{name} of a random number is not understood")

    def __repr__(self) -> str:
        return f"<a number that depends on draw {self.uniform.name}>"
