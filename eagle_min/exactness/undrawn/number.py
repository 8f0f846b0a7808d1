"""A uniform number that nobody has drawn yet.

A program that draws u and asks `u < p` does not need u: it needs an answer, True with
probability p. So u is kept as the interval it is known to lie in, and a comparison cuts that
interval in two and asks dice which part it is. What monotone functions a program applies to u
before it compares (`u * q < p`, `1 - u`, `log(u)`) is undone on the other side of the comparison.
Of a function that is not monotone (`abs(u - 1/2)`, `1 / (u - 1/2)`) the dice are first asked for the sign.

Two things cannot be answered so, and are `Undecided`: looking at the number itself, and comparing
two such numbers with each other (an exponential or Gumbel race), whose law is no finite sum.
Read next: `elements.py`.
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

from ...dice import Dice, Name
from ..no_verdict import Undecided, undecided, where
from .numpy_arrays import Number, Undrawn, plain, reciprocal

__all__ = ["Lattice", "Lazy", "Undecided", "Uniform"]


class Uniform:
    """A number in [0, 1) of which only an interval [low, high) is known."""

    def __init__(self, dice: Dice, name: Name, corners: list[str]) -> None:
        """`corners` gets a line for each comparison that only a number of exactly 0 could decide."""
        self.dice, self.name, self.corners = dice, name, corners
        self.low, self.high = Fraction(0), Fraction(1)
        self.num_asked = 0

    def __deepcopy__(self, memo: dict) -> "Uniform":
        return self  # the copy of a number is that number

    def below(self, x: Number, closed: bool) -> bool:
        """Is the number below `x`, or with `closed` at most `x`? Asks dice unless it is known.

        A single point has no probability; but generators do return 0 itself, so `u <= 0` is noted.
        """
        if closed and x == 0 == self.low:
            self.corners.append(f"u <= 0 holds for u = 0 ({where()})")
        if x <= self.low:
            return False
        if x >= self.high:
            return True
        self.num_asked += 1
        chance = (x - self.low) / (self.high - self.low)
        if self.dice.accept(chance, (*self.name, self.num_asked)):
            self.high = x
            return True
        self.low = x
        return False

    def equals(self, x: Number) -> bool:
        """Never: a single point has no probability."""
        return False


class Lattice(Uniform):
    """A number k / 2^bits, each k as likely: what a generator returns that has few bits.

    Its probabilities are not a uniform number's, but what it makes possible is possible with real ones too: a
    coin of exactly 0, and none above 1 - 2^-bits.
    """

    def __init__(self, dice: Dice, name: Name, corners: list[str], bits: int) -> None:
        super().__init__(dice, name, corners)
        self.size = 2**bits

    def below(self, x: Number, closed: bool) -> bool:
        """As `Uniform.below`, decided by the points on each side of `x`."""
        low, high = int(self.low * self.size), int(self.high * self.size)
        if math.isinf(x):
            return x > 0
        cut = min(max(math.floor(x * self.size) + 1 if closed else math.ceil(x * self.size), low), high)
        if low < cut < high:
            self.num_asked += 1
            if self.dice.accept(Fraction(cut - low, high - low), (*self.name, self.num_asked)):
                self.high = Fraction(cut, self.size)
                return True
            self.low = Fraction(cut, self.size)
            return False
        return cut == high

    def equals(self, x: Number) -> bool:
        """A single point of the lattice has a probability."""
        return self.below(x, closed=True) and not self.below(x, closed=False)


def with_number(what: str) -> Callable[[Callable], Callable]:
    """For an operator of `Lazy`: its right side is one plain number."""

    def decorate(operate: Callable) -> Callable:
        @functools.wraps(operate)
        def operator(self: "Lazy", other: Any) -> Any:
            if isinstance(other, Lazy):
                undecided(f"two random numbers are {what}")
            c = plain(other)
            return NotImplemented if c is NotImplemented else operate(self, c)

        return operator

    return decorate


class Lazy(Undrawn):
    """A strictly monotone function of a `Uniform`, known by its inverse. Numpy arrays of dtype object
    hold it; comparisons give bool, arithmetic with numbers gives another `Lazy`."""

    __slots__ = ("source", "forward", "inverse", "rising")

    def __init__(
        self,
        source: Uniform,
        forward: Callable[[Number], Number] = lambda u: u,
        inverse: Callable[[Number], Number] = lambda x: x,
        rising: bool = True,
    ) -> None:
        self.source, self.forward, self.inverse, self.rising = source, forward, inverse, rising

    def then(self, forward: Callable, inverse: Callable, rising: bool = True) -> "Lazy":
        """This number under one more monotone function."""
        first, back = self.forward, self.inverse
        return Lazy(self.source, lambda u: forward(first(u)), lambda x: back(inverse(x)), self.rising == rising)

    def _asked(self, other: Any, closed: bool, wanted: bool) -> bool:
        """Is it `wanted` that self < other, or with `closed` self <= other?"""
        if other is self:  # numpy's searches ask this
            return closed == wanted
        if isinstance(other, Lazy):
            undecided("two random numbers are compared: an exponential or Gumbel race has no finite law")
        x = plain(other)
        if x is NotImplemented:
            return x
        if x != x:
            return False  # as any comparison with NaN
        x = self.inverse(x)
        below = self.source.below(x, closed) if self.rising else not self.source.below(x, not closed)
        return below == wanted

    def __lt__(self, other: Any) -> bool:
        return self._asked(other, closed=False, wanted=True)

    def __le__(self, other: Any) -> bool:
        return self._asked(other, closed=True, wanted=True)

    def __gt__(self, other: Any) -> bool:
        return self._asked(other, closed=True, wanted=False)

    def __ge__(self, other: Any) -> bool:
        return self._asked(other, closed=False, wanted=False)

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if isinstance(other, Lazy):
            undecided("two random numbers are compared for equality")
        x = plain(other)
        return x if x is NotImplemented else x == x and self.source.equals(self.inverse(x))

    @with_number("added")
    def __add__(self, c: Number) -> "Lazy | Number":
        return self.then(lambda u: u + c, lambda x: x - c) if math.isfinite(c) else c

    @with_number("multiplied")
    def __mul__(self, c: Number) -> "Lazy | Number":
        if c == 0 or c != c:
            return c
        return self._times_infinity(c) if math.isinf(c) else self.then(lambda u: u * c, lambda x: x / c, c > 0)

    @with_number("divided")
    def __truediv__(self, c: Number) -> "Lazy | Number":
        if c == 0:
            return self._times_infinity(math.copysign(math.inf, c))  # as numpy and torch have it
        return self * 0 if math.isinf(c) else c if c != c else self.then(lambda u: u / c, lambda x: x * c, c > 0)

    @with_number("divided")
    def __rtruediv__(self, c: Number) -> "Lazy | Number":
        if self < 0:
            return (-self).then(reciprocal, reciprocal, rising=False) * -c
        return self.then(reciprocal, reciprocal, rising=False) * c

    def _times_infinity(self, infinity: float) -> float:
        """0 times infinity is NaN."""
        return math.nan if self == 0 else -infinity if self < 0 else infinity

    def __neg__(self) -> "Lazy":
        return self * -1

    def __pos__(self) -> "Lazy":
        return self

    def __abs__(self) -> "Lazy":
        return -self if self < 0 else self

    def __sub__(self, c: Any) -> "Lazy | Number":
        return self.__add__(c if plain(c) is NotImplemented else -plain(c))

    def __rsub__(self, c: Any) -> "Lazy | Number":
        return (-self).__add__(c)

    __radd__, __rmul__ = __add__, __mul__

    def log(self) -> "Lazy | Number":
        """Natural logarithm; NaN below 0, as numpy and torch have it."""
        if self < 0:
            return math.nan
        return self.then(lambda u: math.log(u) if u > 0 else -math.inf, lambda x: math.exp(x) if x < 700 else math.inf)

    def exp(self) -> "Lazy":
        return self.then(lambda u: math.exp(min(u, 709)), lambda x: math.log(x) if x > 0 else -math.inf)

    def item(self) -> "Lazy":
        """The same number, of Python."""
        return self

    def __floor__(self) -> int:
        """The integer part: `int(u * n)` picks one of n."""
        ends = sorted((self.forward(self.source.low), self.forward(self.source.high)))
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
        return f"<a number that depends on draw {self.source.name}>"
