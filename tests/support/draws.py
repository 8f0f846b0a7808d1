"""Draws under watch: what a coin or another draw comes to, by enumeration."""

from collections.abc import Callable

import numpy as np
import pytest

from eagle_min.exactness.law import law
from eagle_min.exactness.undrawn.watch import drawing_from, none_unwatched, watched

PAIRS = [(0.25, 0.5), (0.3, 0.4), (0.5, 0.25), (0.0, 0.5)]  # p and q of a token


def probabilities(draw: Callable, *arguments) -> dict:
    """The law of what `draw` returns under watch; `Undecided` goes through."""

    def program(dice):
        with drawing_from(dice, corners=[]):
            return draw(*arguments)

    with watched(), none_unwatched():
        return law(program)


def accepts_as_it_should(coin: Callable) -> bool:
    """Is `coin(p, q)` True with probability min(1, p / q)?"""
    laws = [probabilities(lambda p, q: bool(coin(p, q)), *map(np.float64, pair)) for pair in PAIRS]
    wanted = [min(1, p / q) for p, q in PAIRS]
    return [found.get(True, 0) for found in laws] == pytest.approx(wanted, abs=1e-6)
