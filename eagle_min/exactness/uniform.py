"""A uniform number that nobody has drawn yet.

A program that draws u and asks `u < p` does not need u: it needs an answer, True with
probability p. So u is kept as the interval it is known to lie in, and a comparison cuts that
interval in two and asks dice which part it is. What monotone functions a program applies to u
before it compares (`u * q < p`, `1 - u`, `log(u)`) is undone on the other side of the comparison.

Two things cannot be answered so, and raise `Undecided`: looking at the number itself, and comparing
two such numbers with each other (an exponential or Gumbel race), whose law is no finite sum.
Read next: `arrays.py`.
"""

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from ..dice import Dice, Name

Number = Fraction | float
PACKAGE = str(Path(__file__).parent)


class Undecided(RuntimeError):
    """The law of the program cannot be found by enumeration; the message says why."""


def where() -> str:
    """`file:line` of the caller outside this package and outside numpy and torch."""
    frame = sys._getframe(1)
    foreign = ("numpy", "torch")
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "").partition(".")[0]
        if not frame.f_code.co_filename.startswith(PACKAGE) and module not in foreign:
            break
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def undecided(reason: str) -> NoReturn:
    """Raise `Undecided` with the line of the program that is to blame."""
    raise Undecided(f"{reason} ({where()})")


class Uniform:
    """A number in [0, 1) of which only an interval [low, high) is known."""

    def __init__(self, dice: Dice, name: Name, corners: list[str]) -> None:
        """`corners` gets a line for each comparison that only a number of exactly 0 could decide."""
        self.dice, self.name, self.corners = dice, name, corners
        self.low, self.high = Fraction(0), Fraction(1)
        self.num_asked = 0

    def below(self, x: Number, closed: bool) -> bool:
        """Is the number below `x`, or with `closed` at most `x`? Asks dice unless it is known.

        A single point has no probability; but generators do return 0 itself, so `u <= 0` is noted.
        """
        if x != x:
            return False  # as any number compared with NaN
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


class Lattice(Uniform):
    """A number k / 2^bits, each k as likely: what a generator returns that has few bits.

    Its probabilities are not those of a uniform number, but what it makes possible is possible with
    real generators too: a coin of exactly 0, and none above 1 - 2^-bits.
    """

    def __init__(self, dice: Dice, name: Name, corners: list[str], bits: int) -> None:
        super().__init__(dice, name, corners)
        self.size = 2**bits

    def below(self, x: Number, closed: bool) -> bool:
        """As `Uniform.below`, decided by the points on each side of `x`."""
        if x != x:
            return False
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


def plain(value: Any) -> Number:
    """A Python number from whatever holds one number; Fractions and integers stay exact."""
    if isinstance(value, Fraction | float):
        return value
    if isinstance(value, int) or type(value).__name__.startswith(("int", "uint", "bool")):
        return Fraction(int(value))
    return float(value)


class Lazy:
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

    def _below(self, other: Any, closed: bool) -> bool:
        """self < other, or self <= other."""
        if other is self:  # numpy's searches ask this
            return closed
        if isinstance(other, Lazy):
            undecided("two random numbers are compared: an exponential or Gumbel race has no finite law")
        x = self.inverse(plain(other))
        return self.source.below(x, closed) if self.rising else not self.source.below(x, not closed)

    def __lt__(self, other: Any) -> bool:
        return self._below(other, closed=False)

    def __le__(self, other: Any) -> bool:
        return self._below(other, closed=True)

    def __gt__(self, other: Any) -> bool:
        return not self._below(other, closed=True)

    def __ge__(self, other: Any) -> bool:
        return not self._below(other, closed=False)

    def __add__(self, c: Any) -> "Lazy":
        if isinstance(c, Lazy):
            undecided("two random numbers are added")
        c = plain(c)
        return self.then(lambda u: u + c, lambda x: x - c)

    def __mul__(self, c: Any) -> "Lazy | Number":
        if isinstance(c, Lazy):
            undecided("two random numbers are multiplied")
        c = plain(c)
        return self.then(lambda u: u * c, lambda x: x / c, c > 0) if c else c

    def __rtruediv__(self, c: Any) -> "Lazy | Number":
        return self.then(reciprocal, reciprocal, rising=False) * c  # of a number at least 0

    def __neg__(self) -> "Lazy":
        return self * -1

    def __sub__(self, c: Any) -> "Lazy":
        return self + -c

    def __rsub__(self, c: Any) -> "Lazy":
        return -self + c

    def __truediv__(self, c: Any) -> "Lazy | Number":
        if isinstance(c, Lazy):
            undecided("a random number is divided by another")
        c = plain(c)
        return self * (1 / c) if c else self.then(lambda u: math.inf, lambda x: -math.inf if x < math.inf else 2)

    __radd__, __rmul__ = __add__, __mul__

    def log(self) -> "Lazy":
        return self.then(lambda u: math.log(u) if u > 0 else -math.inf, lambda x: math.exp(x) if x < 700 else math.inf)

    def exp(self) -> "Lazy":
        return self.then(math.exp, lambda x: math.log(x) if x > 0 else -math.inf)

    def __floor__(self) -> int:
        """The integer part: `int(u * n)` picks one of n."""
        ends = sorted((self.forward(self.source.low), self.forward(self.source.high)))
        if not all(map(math.isfinite, ends)):
            undecided("a random number without bounds is rounded")
        value = math.floor(ends[0])
        while value + 1 < ends[1] and not self < value + 1:
            value += 1
        return value

    def __int__(self) -> int:
        return math.floor(self) if self.forward(self.source.low) >= 0 else undecided("a negative number is cut")

    def __eq__(self, other: object) -> bool:
        return self is other  # no number is hit exactly

    def __ne__(self, other: object) -> bool:
        return self is not other

    def _looked_at(self, *_: Any) -> NoReturn:
        undecided("the code looks at the random number itself")

    __float__ = __bool__ = __index__ = __str__ = __format__ = __hash__ = __round__ = __abs__ = __pow__ = _looked_at

    def __repr__(self) -> str:
        return f"<a number that depends on draw {self.source.name}>"


def reciprocal(x: Number) -> Number:
    """1 / x on the numbers from 0 on; a threshold below them is passed by all."""
    return 1 / x if x > 0 else math.inf
