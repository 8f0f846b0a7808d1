"""A uniform random number that nobody has drawn.

A program that draws u from [0, 1) and asks `u < p` does not need u. It needs an answer, True with probability p,
and dice can give that. So u is kept as the interval it is known to lie in. A comparison with a number inside
the interval asks dice on which side of it u lies, and the interval shrinks to that side: with u < 1/2 answered by
True, u < 1/4 is True with probability 1/2.
Read next: `number.py`.
"""

import math
from fractions import Fraction

from ...dice import Dice, Name
from ..law import Number
from ..no_verdict import where


class Uniform:
    """A number in [0, 1) of which only an interval [low, high) is known."""

    def __init__(self, dice: Dice, name: Name, corners: list[str]) -> None:
        """`corners` gets a line for each comparison that only a number of exactly 0 could decide."""
        self.dice, self.name, self.corners = dice, name, corners
        self.low, self.high = Fraction(0), Fraction(1)
        self.num_asked = 0

    def __deepcopy__(self, memo: dict) -> "Uniform":
        return self  # the copy of a number is that number

    def below(self, x: Number, or_equal: bool) -> bool:
        """Is the number below `x`, or with `or_equal` at most `x`? Asks dice unless it is known.

        A single point has no probability; but generators do return 0 itself, so `u <= 0` is noted.
        """
        if or_equal and x == 0 == self.low:
            self.corners.append(f"u <= 0 holds for u = 0 ({where()})")
        return self._on_the_left_of(x)

    def equals(self, x: Number) -> bool:
        """Never: a single point has no probability."""
        return False

    def _on_the_left_of(self, cut: Number) -> bool:
        """Does the number lie in [low, cut)? If not, in [cut, high); either becomes what is known of it."""
        if cut <= self.low:
            return False
        if cut >= self.high:
            return True
        self.num_asked += 1
        chance = (cut - self.low) / (self.high - self.low)
        if self.dice.accept(chance, (*self.name, self.num_asked)):
            self.high = cut
            return True
        self.low = cut
        return False


class LatticeUniform(Uniform):
    """A number k / 2^bits, each k as likely: what a generator returns that has few bits.

    Its probabilities are not those of a real uniform number. But what it makes possible is possible with
    real generators too: a number of exactly 0, and none above 1 - 2^-bits.
    """

    def __init__(self, dice: Dice, name: Name, corners: list[str], bits: int) -> None:
        super().__init__(dice, name, corners)
        self.size = 2**bits

    def below(self, x: Number, or_equal: bool) -> bool:
        """As `Uniform.below`; whether `x` itself counts is decided by the points on each side of it."""
        if math.isinf(x):
            return x > 0
        num_below = math.floor(x * self.size) + 1 if or_equal else math.ceil(x * self.size)
        return self._on_the_left_of(Fraction(num_below, self.size))

    def equals(self, x: Number) -> bool:
        """A single point of the lattice has a probability."""
        return self.below(x, or_equal=True) and not self.below(x, or_equal=False)
