"""The enumerator: known laws, and programs it must refuse."""

import inspect
import math
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import rows

from eagle_min.exactness.law import BranchLimit, EnumeratingDice, HiddenState, Limits, branches, law, total_variation

TENTHS = Fraction(1, 10)
P, Q = np.array([5, 3, 2]) * TENTHS, np.array([2, 5, 3]) * TENTHS  # the base pair of the fault catalogue


def test_one_coin_and_one_draw_have_their_own_law():
    assert law(lambda dice: dice.accept(Fraction(1, 3), ("a",))) == {True: Fraction(1, 3), False: Fraction(2, 3)}
    assert law(lambda dice: dice.categorical(np.array([2, 0, 3]), ("a",))) == {0: Fraction(2, 5), 2: Fraction(3, 5)}


@given(rows(3), rows(4))
def test_independent_draws_multiply(first, second):
    both = law(lambda dice: (dice.categorical(np.array(first), ("a",)), dice.categorical(np.array(second), ("b",))))
    for a, b in both:
        assert both[a, b] == Fraction(first[a], sum(first)) * Fraction(second[b], sum(second)) > 0
    assert sum(both.values()) == 1


def test_a_list_of_weights_is_as_good_as_an_array():
    assert law(lambda dice: dice.categorical([2, 0, 3], ("a",))) == {0: Fraction(2, 5), 2: Fraction(3, 5)}


def test_heads_in_three_tosses_are_binomial():
    program = lambda dice: sum(dice.accept(Fraction(1, 4), ("toss", n)) for n in range(3))  # noqa: E731
    assert law(program) == {n: Fraction(c, 64) for n, c in enumerate([27, 27, 9, 1])}


def test_a_program_may_ask_more_after_some_answers_than_after_others():
    def tosses_until_heads(dice) -> int:
        return next((n for n in range(1, 4) if dice.accept(Fraction(1, 2), ("toss", n))), 4)

    assert law(tosses_until_heads) == {1: Fraction(1, 2), 2: Fraction(1, 4), 3: Fraction(1, 8), 4: Fraction(1, 8)}


def test_a_program_without_questions_has_one_outcome():
    assert law(lambda dice: "same") == {"same": 1}


def textbook(dice, residual) -> int:
    """Leviathan et al. 2211.17192, Algorithm 1, one token; `residual` is the law after a rejection."""
    token = dice.categorical(Q, ("draft",))
    if dice.accept(min(1, P[token] / Q[token]), ("coin",)):
        return token
    return dice.categorical(residual, ("residual",))


def test_the_textbook_rule_has_the_target_law_and_a_known_fault_its_known_law():
    assert law(lambda dice: textbook(dice, np.maximum(P - Q, 0))) == dict(enumerate(P))
    faulty = law(lambda dice: textbook(dice, P))
    assert faulty == {0: Fraction(35, 100), 1: Fraction(39, 100), 2: Fraction(26, 100)}
    assert total_variation(faulty, dict(enumerate(P))) == Fraction(15, 100)


def test_a_child_that_is_not_zeroed_after_rejection_gives_the_catalogued_law():
    def program(dice) -> int:
        for token in (1, 2):
            if dice.accept(P[token], ("coin", token)):
                return token
        return dice.categorical(P, ("residual",))

    assert law(program) == {0: Fraction(280, 1000), 1: Fraction(468, 1000), 2: Fraction(252, 1000)}


def test_answers_of_probability_zero_are_not_visited():
    visited = []

    def program(dice) -> None:
        visited.append((dice.accept(0, ("a",)), dice.accept(1, ("b",)), dice.categorical(np.array([0, 4]), ("c",))))

    assert law(program) == {None: 1} and visited == [(False, True, 1)]


def test_fractions_stay_fractions_and_floats_stay_floats():
    exact = law(lambda dice: dice.categorical(P, ("a",)))
    assert all(type(value) is Fraction for value in exact.values())
    rounded = law(lambda dice: dice.categorical(P.astype(float), ("a",)))
    assert all(type(value) is float for value in rounded.values()) and sum(rounded.values()) == pytest.approx(1)
    coin = law(lambda dice: dice.accept(np.float64(0.25), ("a",)))
    assert coin == {True: 0.25, False: 0.75} and all(type(value) is float for value in coin.values())


def test_a_name_asked_twice_in_one_run_is_refused():
    with pytest.raises(RuntimeError, match="already used"):
        law(lambda dice: (dice.accept(Fraction(1, 2), ("a", 0)), dice.accept(Fraction(1, 2), ("a", 0))))


def test_hidden_state_is_found_out_whatever_it_changes():
    runs = []

    def other_weights(dice):
        runs.append(0)
        dice.categorical(np.array([1, len(runs)]), ("a",))

    def other_name(dice):
        runs.append(0)
        dice.accept(Fraction(1, 2), ("a", len(runs)))

    def fewer_questions(dice):
        runs.append(0)
        for n in range(3 - len(runs)):
            dice.accept(Fraction(1, 2), ("a", n))

    for program in (other_weights, other_name, fewer_questions):
        runs.clear()
        with pytest.raises(HiddenState, match="hidden state"):
            law(program)


def test_the_number_of_branches_is_bounded():
    eight = lambda dice: tuple(dice.accept(Fraction(1, 2), ("a", n)) for n in range(3))  # noqa: E731
    assert len(law(eight, max_branches=8)) == 8
    with pytest.raises(BranchLimit, match="7"):
        law(eight, max_branches=7)
    with pytest.raises(ValueError, match="max_branches"):
        law(eight, max_branches=0)


def test_limits_are_checked_and_stay_as_they_are():
    limits = Limits(max_branches=1, max_seconds=0.5, call_seconds=0.5)
    with pytest.raises(FrozenInstanceError):
        limits.max_branches = 2
    for name in ("max_seconds", "call_seconds"):
        for bad in (0, -1.0, float("nan")):
            with pytest.raises(ValueError, match=name):
                Limits(**{name: bad})
    assert Limits() == Limits(200_000, math.inf, 10.0)
    assert inspect.signature(law).parameters["max_branches"].default == Limits().max_branches


def test_the_seconds_of_all_branches_are_bounded(monkeypatch):
    eight = lambda dice: tuple(dice.accept(Fraction(1, 2), ("a", n)) for n in range(3))  # noqa: E731
    ticks = count(5)  # a second passes with every look at the clock
    monkeypatch.setattr("eagle_min.exactness.law.time", SimpleNamespace(monotonic=lambda: next(ticks)))
    assert len(list(branches(eight, Limits(max_seconds=8)))) == 8
    with pytest.raises(BranchLimit, match="8 sequences of answers took more than 7 seconds"):
        list(branches(eight, Limits(max_seconds=7)))


def test_runs_with_the_same_answers_must_have_the_same_outcome():
    outcomes = count()
    with pytest.raises(HiddenState, match="gave 0 and then 1"):
        list(branches(lambda dice: next(outcomes), num_runs=2))


def test_a_run_may_ask_a_thousand_questions_and_no_more():
    asking = lambda number: lambda dice: sum(dice.accept(1, ("a", n)) for n in range(number))  # noqa: E731
    assert law(asking(1000)) == {1000: 1}
    with pytest.raises(BranchLimit, match="more than 1000 questions"):
        law(asking(1001))


def test_impossible_probabilities_and_weights_are_refused():
    for probability in (-TENTHS, 1 + TENTHS, float("nan")):
        with pytest.raises(ValueError, match="probability"):
            EnumeratingDice([]).accept(probability, ("a",))
    for weights in ([0, 0], [1, -1], [1.0, float("nan")]):
        with pytest.raises(ValueError, match="weights"):
            EnumeratingDice([]).categorical(np.array(weights), ("a",))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_total_variation_is_a_distance_between_laws(first, second):
    a = {n: Fraction(w, sum(first)) for n, w in enumerate(first)}
    b = {n: Fraction(w, sum(second)) for n, w in enumerate(second)}
    assert total_variation(a, b) == total_variation(b, a) == 1 - sum(min(a.get(n, 0), b.get(n, 0)) for n in range(4))
    assert total_variation(a, a) == 0 and (total_variation(a, b) == 0) == (a == b)
    assert total_variation({0: Fraction(1)}, {1: Fraction(1)}) == 1
