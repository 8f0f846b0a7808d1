"""Logits -> law: temperature, then top-k, then top-p.

Plain decoding, verification and sampled drafts all take their laws from here, so that no two
of them can filter differently: a filter on one side only is the most common way in which
public implementations lose exactness.

A row of floats holds logits, and its law is float64. A row of objects holds non-negative
`fractions.Fraction` weights, and its law is exact: tests compare such laws with `==`.

Shapes: V vocabulary; a law is (V,), non-negative, with sum one.
Deliberately left out: penalties, min-p, logit bias. Read next: `tree.py`.
"""

import math
from fractions import Fraction

import numpy as np

from .config import SamplingConfig, require


def next_token_law(row: np.ndarray, sampling: SamplingConfig) -> np.ndarray:
    """The law (V,) of the next token, given one row (V,) of logits or of Fraction weights.

    Temperature 0 puts all mass on the first maximum, which no later filter can change.
    Among equals the smaller token id goes first, everywhere. ValueError for NaN, +inf, a row
    without any mass, a negative weight, a temperature that has no exact power of weights.

    >>> next_token_law(np.array([1.0, 3.0, 3.0]), SamplingConfig(temperature=0.0))
    array([0., 1., 0.])
    """
    row = np.asarray(row)
    require(row.ndim == 1 and row.size > 0, "shape of a row", row.shape, "(V,) with V at least 1")
    exact = row.dtype == object
    weights = _powers(row, sampling) if exact else _exponentials(row, sampling)
    if sampling.temperature > 0 and (sampling.top_k is not None or sampling.top_p < 1):
        weights = _filtered(weights, sampling.top_k, Fraction(sampling.top_p) if exact else sampling.top_p)
    return weights / weights.sum()


def check_law(law: np.ndarray) -> None:
    """ValueError unless `law` is non-negative, free of NaN and sums to one.

    The sum of floats may be off by 1e-9, the sum of Fractions by nothing.
    """
    law = np.asarray(law)
    require(law.ndim == 1 and law.size > 0, "shape of a law", law.shape, "(V,) with V at least 1")
    require(bool((law >= 0).all()), "probabilities", law.min(), "at least 0 and not NaN")
    slack = 0 if law.dtype == object else 1e-9
    require(abs(law.sum() - 1) <= slack, "sum of probabilities", law.sum(), "1")


def _exponentials(row: np.ndarray, sampling: SamplingConfig) -> np.ndarray:
    """Softmax of row / temperature before its normalisation; the largest weight is 1."""
    logits = row.astype(np.float64)
    peak = logits.max()  # NaN if any logit is
    require(math.isfinite(peak), "largest logit", float(peak), "finite")
    if sampling.temperature == 0:
        return _one_hot(logits)
    with np.errstate(over="ignore"):  # a tiny temperature sends the others to exp(-inf) = 0
        return np.exp((logits - peak) / sampling.temperature)


def _powers(row: np.ndarray, sampling: SamplingConfig) -> np.ndarray:
    """weight ** (1 / temperature), the same thing for weights = exp(logits), in Fractions."""
    require(all(0 <= weight < math.inf for weight in row), "weights", row.tolist(), "finite and at least 0")
    weights = np.array([Fraction(weight) for weight in row], dtype=object)
    require(bool(weights.sum()), "sum of the weights", 0, "above 0")
    if sampling.temperature == 0:
        return _one_hot(weights)
    power = 1 / sampling.temperature
    integer = round(power) >= 1 and abs(power - round(power)) < 1e-9  # 1 / (1 / 49) is not quite 49
    require(integer, "temperature", sampling.temperature, "0 or 1 over an integer for Fraction weights")
    return weights ** round(power)


def _one_hot(values: np.ndarray) -> np.ndarray:
    """All weight on the first maximum, in the arithmetic of `values`."""
    weights = np.array([Fraction(0)] * values.size) if values.dtype == object else np.zeros(values.size)
    weights[np.argmax(values)] += 1
    return weights


def _filtered(weights: np.ndarray, top_k: int | None, top_p: float | Fraction) -> np.ndarray:
    """`weights` with all but the kept tokens set to zero.

    top_k keeps exactly min(top_k, V) tokens. top_p then keeps the shortest run of the most
    probable ones whose share of what top_k left is at least top_p.
    """
    order = np.argsort(-weights, kind="stable")[:top_k]  # falling; among equals the smaller id first
    if top_p < 1:
        cumulated = np.cumsum(weights[order])
        order = order[: np.count_nonzero(cumulated < top_p * cumulated[-1]) + 1]
    kept = weights * 0  # zeros of the same kind, Fraction or float
    kept[order] = weights[order]
    return kept
