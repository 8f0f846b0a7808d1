"""The only door for randomness: names, order, and probabilities of zero and one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import rows

from eagle_min.dice import SeededDice, coin, draft_draw, residual_draw, target_draw

SEEDS = st.integers(0, 2**64 - 1)
NAMES = st.builds(target_draw, st.integers(0, 99)) | st.builds(draft_draw, *[st.integers(0, 9)] * 3)
NAMES |= st.builds(coin, *[st.integers(0, 9)] * 2) | st.builds(residual_draw, *[st.integers(0, 9)] * 2)
PINNED = [353, 610, 647, 612, 323]
FLAT = np.ones(2**14)  # an index among many: two draws hardly agree by chance


def ask(dice: SeededDice, name) -> int:
    return dice.categorical(FLAT, name)


@given(SEEDS, st.lists(NAMES, min_size=2, max_size=5, unique=True), st.randoms(use_true_random=False))
def test_a_draw_does_not_depend_on_the_draws_before_it(seed, names, random):
    shuffled = random.sample(names, len(names))
    dice, other = SeededDice(seed), SeededDice(seed)
    first = {name: ask(dice, name) for name in names}
    assert first == {name: ask(other, name) for name in shuffled}
    assert first == {name: ask(SeededDice(seed), name) for name in names}


@given(SEEDS, NAMES)
def test_asking_twice_under_one_name_is_refused_and_names_it(seed, name):
    dice = SeededDice(seed)
    dice.accept(0.5, name)
    with pytest.raises(RuntimeError, match=name[0]):
        dice.categorical(FLAT, name)
    with pytest.raises(RuntimeError, match=name[0]):
        dice.accept(0.5, tuple(np.int64(part) if isinstance(part, int) else part for part in name))


@given(SEEDS, st.integers(0, 99))
def test_numbers_of_numpy_name_the_same_draw_as_plain_ones(seed, position):
    assert ask(SeededDice(seed), target_draw(np.int64(position))) == ask(SeededDice(seed), target_draw(position))


def test_different_names_and_seeds_give_different_draws():
    names = [target_draw(1), target_draw(2), coin(1, 2), coin(2, 1), residual_draw(1, 2), draft_draw(1, 2, 0)]
    draws = {ask(SeededDice(seed), name) for name in names for seed in (0, 1, 2**32, 2**64 - 1)}
    assert len(draws) == len(names) * 4


def test_the_purposes_have_separate_names():
    names = [target_draw(1), draft_draw(1, 2, 3), draft_draw(3, 2, 1), coin(1, 2), residual_draw(1, 2)]
    assert len(set(names)) == len(names)


def test_draws_are_the_same_on_every_machine():
    dice = SeededDice(7)
    assert [dice.categorical(np.ones(1000), target_draw(position)) for position in range(5)] == PINNED


@given(SEEDS, rows(4), NAMES)
def test_a_token_of_weight_zero_is_never_drawn(seed, weights, name):
    for kind in (np.float64, object):
        row = np.array([Fraction(weight) for weight in weights], dtype=object).astype(kind)
        assert weights[SeededDice(seed).categorical(row, name)] > 0


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
@pytest.mark.parametrize("total", [1.0, 3.0, 0.1 + 0.2, 1e300, 5e-324])
def test_the_ends_of_the_unit_interval_stay_inside_the_support(monkeypatch, uniform, total):
    monkeypatch.setattr(SeededDice, "_uniform", lambda self, name: uniform)
    dice = SeededDice(0)
    assert dice.categorical(np.array([0.0, 0.0, total, 0.0]), ("x",)) == 2
    spread = dice.categorical(np.array([0.0, total / 3, total / 3, total / 3, 0.0]) + 5e-324 * np.eye(5)[2], ("x",))
    assert 1 <= spread <= 3
    assert not dice.accept(0, ("x",)) and not dice.accept(Fraction(0), ("x",))
    assert dice.accept(1, ("x",)) and dice.accept(Fraction(1), ("x",))


@given(SEEDS, NAMES)
def test_probability_zero_is_never_accepted_and_one_always(seed, name):
    assert not SeededDice(seed).accept(0.0, name)
    assert SeededDice(seed).accept(1.0, name)


@given(SEEDS, NAMES, st.integers(1, 2**10))
def test_scaling_the_weights_by_a_power_of_two_changes_no_draw(seed, name, weight):
    weights = np.array([weight, 3.0, 0.5])
    assert SeededDice(seed).categorical(weights, name) == SeededDice(seed).categorical(weights / 4, name)


@pytest.mark.parametrize("probability", [-0.1, 1.0000001, math.nan, math.inf, Fraction(3, 2)])
def test_what_is_no_probability_is_refused(probability):
    with pytest.raises(ValueError, match="probability"):
        SeededDice(0).accept(probability, coin(0, 0))


@pytest.mark.parametrize(
    "weights", [[0.0, 0.0], [], [1.0, -0.5], [1.0, math.nan], [1.0, math.inf], [Fraction(1), Fraction(-1)]]
)
def test_what_are_no_weights_is_refused(weights):
    with pytest.raises(ValueError, match="weights"):
        SeededDice(0).categorical(np.array(weights), coin(0, 0))


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_outside_64_bits_are_refused(seed):
    with pytest.raises(ValueError, match="seed"):
        SeededDice(seed)


def test_a_coin_is_finer_than_two_to_the_minus_thirty():
    """A coin of few bits accepts small probabilities as often as its smallest step: 1 in 256 with eight bits."""
    dice = SeededDice(1)
    assert not any(dice.accept(2.0**-30, coin(0, n)) for n in range(2000))


def test_frequencies_lie_within_five_sigma():
    """The one statistical check: seeded, so it fails always or never.

    A count of n draws with probability p has standard deviation sqrt(n p (1 - p)); a correct
    generator leaves five of them with probability below 1e-6 for each of the nine counts.
    """
    dice, number = SeededDice(2024), 4_000
    weights = np.array([5.0, 0.0, 3.0, 1.0, 1.0])
    drawn = np.bincount([dice.categorical(weights, target_draw(n)) for n in range(number)], minlength=5)
    counts = [(drawn[token], weights[token] / weights.sum()) for token in range(5)]
    for cycle, p in enumerate((0.01, 0.3, 0.5, 0.9)):
        counts.append((sum(dice.accept(p, coin(cycle, n)) for n in range(number)), p))
    for count, p in counts:
        assert abs(count - number * p) <= 5 * math.sqrt(number * p * (1 - p)), (count, p)
