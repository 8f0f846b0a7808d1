"""The only door for randomness while decoding; every draw has a name.

The target's own draw for a token is named by the absolute position of that token and nothing
else. Plain and speculative decoding therefore share it, and with the match walk of `verify.py`
the same seed gives the same text, whatever the drafter. All other draws (draft samples,
acceptance coins, residuals) are named by cycle and node and so are fresh each time.
One draw that serves two decisions biases the output; asking twice under one name is an error.

Nothing here depends on the order of draws: `SeededDice` computes a draw from seed and name.
The dice that visit every outcome are in `exactness/law.py`. Read next: `verify.py`.
"""

import math
from hashlib import blake2b
from numbers import Integral
from typing import Protocol

import numpy as np

from .config import require

Name = tuple[str | int, ...]


def target_draw(position: int) -> Name:
    """The target's draw of the token at an absolute position (prompt token 0 is at 0)."""
    return ("target", position)


def draft_draw(cycle: int, node: int, rank: int) -> Name:
    """The draft's draw of child number `rank` of a node."""
    return ("draft", cycle, node, rank)


def coin(cycle: int, node: int) -> Name:
    """The coin that accepts or rejects a node."""
    return ("coin", cycle, node)


def residual_draw(cycle: int, node: int) -> Name:
    """The draw of the bonus token below a node whose children were all rejected."""
    return ("residual", cycle, node)


class Dice(Protocol):
    """What decoding may ask. Both questions raise RuntimeError when a name comes back."""

    def accept(self, probability: float, name: Name) -> bool:
        """True with this probability: never for 0, always for 1. ValueError outside [0, 1]."""
        ...

    def categorical(self, weights: np.ndarray, name: Name) -> int:
        """An index (token id) with probability weight / sum; never one of weight 0.

        weights: (V,), not necessarily normalised. ValueError when one is negative or NaN,
        or their sum is 0 or infinite.
        """
        ...


def check_probability(probability: float) -> None:
    """ValueError unless 0 <= probability <= 1; NaN is refused too."""
    require(bool(0 <= probability <= 1), "probability", probability, "between 0 and 1")


def check_weights(weights: np.ndarray) -> None:
    """ValueError unless the weights are non-negative, not NaN, with a finite sum above 0."""
    lowest, total = weights.min(initial=0), weights.sum()
    require(bool(lowest >= 0), "weights", lowest, "at least 0 and not NaN")
    require(bool(0 < total < math.inf), "sum of weights", total, "above 0 and finite")


def uniform(seed: int, name: Name) -> float:
    """The number in [0, 1), a multiple of 2**-53, that belongs to seed and name.

    numpy's Philox generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
    2011) takes a 128-bit key: the seed in its upper half, a hash of the name in its lower.
    """
    digest = int.from_bytes(blake2b(repr(name).encode(), digest_size=8).digest(), "big")
    return np.random.Generator(np.random.Philox(key=seed << 64 | digest)).random()


class SeededDice:
    """Counter-based dice: a draw is a function of seed and name, one number each (see `uniform`)."""

    def __init__(self, seed: int) -> None:
        require(isinstance(seed, Integral) and 0 <= seed < 2**64, "seed", seed, "between 0 and 2**64 - 1")
        self.seed = int(seed)  # one of numpy's would overflow in the key
        self.asked: set[Name] = set()

    def accept(self, probability: float, name: Name) -> bool:
        """See `Dice`. The comparison is strict, because the uniform number may be 0."""
        check_probability(probability)
        return bool(self._uniform(name) < probability)

    def categorical(self, weights: np.ndarray, name: Name) -> int:
        """See `Dice`. Inverse of the cumulated weights in index order.

        The index found is the first whose cumulated weight exceeds a point below the total,
        so its own weight is above 0. Fraction weights are rounded to float64.
        """
        weights = np.asarray(weights, dtype=np.float64)
        check_weights(weights)
        cumulated = np.cumsum(weights)
        total = cumulated[-1]
        point = min(self._uniform(name) * total, np.nextafter(total, 0.0))  # rounding may reach the total
        return int(np.searchsorted(cumulated, point, side="right"))

    def _uniform(self, name: Name) -> float:
        """`uniform`, once a name; RuntimeError at a second use."""
        plain = tuple(part if isinstance(part, str) else int(part) for part in name)  # np.int64(3) is 3
        if plain in self.asked:
            raise RuntimeError(f"draw {plain!r} was already used")
        self.asked.add(plain)
        return uniform(self.seed, plain)
