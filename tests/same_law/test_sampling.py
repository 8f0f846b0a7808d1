"""Logits to laws, against plain oracles."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import falling, filtered_law, softmax
from strategies import rows, sampling_configs

from eagle_min.config import SamplingConfig
from eagle_min.sampling import check_law, next_token_law

GRID = st.sampled_from([-math.inf, -3.0, -1.0, 0.0, 0.5, 0.5, 2.0])  # small, so that ties are common
LOGITS = st.lists(GRID, min_size=1, max_size=7).filter(lambda row: max(row) > -math.inf)
TEMPERATURES = st.sampled_from([0.1, 0.5, 0.7, 1.0, 1.5, 10.0])


def fractions(weights) -> np.ndarray:
    return np.array([Fraction(weight) for weight in weights], dtype=object)


@given(rows(4), sampling_configs(4, greedy=False))
def test_fraction_weights_give_the_exact_law(weights, sampling):
    power = round(1 / sampling.temperature)
    want = filtered_law([Fraction(weight) ** power for weight in weights], sampling.top_k, sampling.top_p)
    result = next_token_law(fractions(weights), sampling)
    assert result.dtype == object and result.tolist() == want
    check_law(result)


@given(LOGITS, TEMPERATURES, st.none() | st.integers(1, 8), st.floats(0.01, 1.0))
def test_float_logits_agree_with_the_oracle(logits, temperature, top_k, top_p):
    plain = softmax(logits, temperature)
    kept = filtered_law(plain, top_k, 1.0)
    order = falling(kept)
    sums = [sum(kept[token] for token in order[: n + 1]) for n in range(len(order))]
    assume(all(abs(total - top_p) > 1e-9 for total in sums[:-1]))  # there rounding would decide
    result = next_token_law(np.array(logits), SamplingConfig(temperature, top_k, top_p))
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, filtered_law(plain, top_k, top_p), rtol=1e-12, atol=1e-300)
    check_law(result)


@given(LOGITS, st.none() | st.integers(1, 8), st.floats(0.01, 1.0))
def test_temperature_zero_is_certain_of_the_first_maximum(logits, top_k, top_p):
    result = next_token_law(np.array(logits), SamplingConfig(0.0, top_k, top_p))
    assert result.tolist() == [float(token == logits.index(max(logits))) for token in range(len(logits))]
    assert not np.signbit(result).any()  # zeros are no -0.0


@given(rows(4), sampling_configs(4))
def test_temperature_zero_on_fractions_is_certain_of_the_first_maximum(weights, sampling):
    result = next_token_law(fractions(weights), SamplingConfig(0.0, sampling.top_k, sampling.top_p))
    assert result.tolist() == [token == weights.index(max(weights)) for token in range(4)]
    assert all(isinstance(probability, Fraction) for probability in result)


def test_ties_at_a_cut_go_to_the_smaller_token():
    tied = np.array([0.0, 1.0, 1.0, 1.0])
    assert next_token_law(tied, SamplingConfig(1.0, top_k=2)).tolist() == [0.0, 0.5, 0.5, 0.0]
    assert next_token_law(np.zeros(4), SamplingConfig(1.0, top_p=0.5)).tolist() == [0.5, 0.5, 0.0, 0.0]
    assert next_token_law(np.zeros(4), SamplingConfig(1.0, top_p=0.51)).tolist() == pytest.approx([1 / 3] * 3 + [0.0])
    exact = next_token_law(fractions([1, 2, 2, 2]), SamplingConfig(1.0, top_k=2))
    assert exact.tolist() == [0, Fraction(1, 2), Fraction(1, 2), 0]


def test_top_p_counts_what_top_k_left():
    weights = fractions([4, 3, 2, 1])  # of the top two 4/7 reach a half; of all four only 4/10
    sampling = SamplingConfig(1.0, top_k=2, top_p=Fraction(1, 2))
    assert next_token_law(weights, sampling).tolist() == [1, 0, 0, 0]
    assert next_token_law(weights, SamplingConfig(1.0, top_p=Fraction(1, 2))).tolist() == [
        Fraction(4, 7),
        Fraction(3, 7),
        0,
        0,
    ]


@pytest.mark.parametrize("top_p", [1e-300, Fraction(1, 10**9)])
def test_at_least_one_token_stays(top_p):
    assert next_token_law(fractions([1, 3, 3]), SamplingConfig(1.0, top_p=top_p)).tolist() == [0, 1, 0]
    assert next_token_law(np.array([0.0, 1.0, 1.0]), SamplingConfig(1.0, top_p=float(top_p))).tolist() == [
        0.0,
        1.0,
        0.0,
    ]


def test_a_float_share_of_fractions_is_the_very_number_and_not_rounded():
    tenth = next_token_law(fractions([1] * 10), SamplingConfig(1.0, top_p=0.1))  # the float is a little above 1/10
    assert tenth.tolist() == [Fraction(1, 2)] * 2 + [0] * 8


def test_a_share_of_one_keeps_the_tokens_that_rounding_swallows():
    result = next_token_law(np.array([0.0, -50.0, -60.0]), SamplingConfig(1.0, top_k=2, top_p=1.0))
    assert result[1] > 0 == result[2]


def test_lists_are_taken_as_rows_and_as_laws():
    assert next_token_law([0.0, 0.0], SamplingConfig(1.0)).tolist() == [0.5, 0.5]
    check_law([0.5, 0.5])


def test_extreme_temperatures_and_logits_stay_finite():
    cold = next_token_law(np.array([1.0, 5.0, 5.0]), SamplingConfig(1e-310))
    assert cold.tolist() == [0.0, 0.5, 0.5]
    hot = next_token_law(np.array([-700.0, 5.0, -math.inf]), SamplingConfig(1e300))
    assert hot.tolist() == [0.5, 0.5, 0.0]
    huge = next_token_law(np.array([-1e308, 1e308, 1e308]), SamplingConfig(1.0))
    assert huge.tolist() == [0.0, 0.5, 0.5]


@given(LOGITS, TEMPERATURES, st.sampled_from([-64.0, 8.0, 1024.0]))
def test_adding_a_constant_to_the_logits_changes_nothing(logits, temperature, constant):
    row = np.array(logits)
    shifted = next_token_law(row + constant, SamplingConfig(temperature))
    assert shifted.tolist() == next_token_law(row, SamplingConfig(temperature)).tolist()  # exact: the grid is binary


@given(LOGITS, TEMPERATURES)
def test_the_row_is_left_alone_and_float32_rows_give_float64_laws(logits, temperature):
    row = np.array(logits, dtype=np.float32)
    result = next_token_law(row, SamplingConfig(temperature, top_k=2, top_p=0.5))
    assert row.tolist() == logits and result.dtype == np.float64
    assert result.tolist() == next_token_law(np.array(logits), SamplingConfig(temperature, top_k=2, top_p=0.5)).tolist()


@pytest.mark.parametrize("sampling", [SamplingConfig(0.0), SamplingConfig(1.0), SamplingConfig(1.0, 2, 0.5)])
@pytest.mark.parametrize(
    "row",
    [
        np.array([0.0, math.nan]),
        np.array([0.0, math.inf]),
        np.array([-math.inf, -math.inf]),
        np.array([]),
        np.zeros((2, 2)),
        fractions([0, 0]),
        fractions([2, -1]),
        np.array([Fraction(1), math.nan], dtype=object),
        np.array([Fraction(1), math.inf], dtype=object),
    ],
    ids=["NaN", "+inf", "no mass", "empty", "matrix", "zero weights", "negative weight", "NaN weight", "inf weight"],
)
def test_rows_that_are_no_logits_or_weights_are_refused(row, sampling):
    with pytest.raises(ValueError, match="must be"):
        next_token_law(row, sampling)


@pytest.mark.parametrize("temperature", [0.7, 1.5, 2.0, 1e10])
def test_temperatures_without_an_exact_power_are_refused_for_fractions(temperature):
    with pytest.raises(ValueError, match="temperature"):
        next_token_law(fractions([1, 2]), SamplingConfig(temperature))


@pytest.mark.parametrize("power", [1, 2, 3, 7, 49])
def test_one_over_an_integer_is_an_exact_power_for_fractions(power):
    result = next_token_law(fractions([1, 2]), SamplingConfig(1 / power))
    assert result.tolist() == [Fraction(1, 1 + 2**power), Fraction(2**power, 1 + 2**power)]


@pytest.mark.parametrize(
    "bad",
    [
        np.array([0.5, 0.6]),
        np.array([1.5, -0.5]),
        np.array([0.5, math.nan]),
        np.array([]),
        np.array([Fraction(1, 2), Fraction(1, 2) + Fraction(1, 10**30)], dtype=object),
        np.array([Fraction(3, 2), Fraction(-1, 2)], dtype=object),
    ],
    ids=["sum", "negative", "NaN", "empty", "exact sum", "exact negative"],
)
def test_check_law_refuses_what_is_no_law(bad):
    with pytest.raises(ValueError, match="must be"):
        check_law(bad)
