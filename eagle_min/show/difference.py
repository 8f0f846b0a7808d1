"""When plain and speculative text differ: where, how close the choice was, and whose fault.

In exact arithmetic they never differ. In float32 the target computes a row of logits among 24
nodes with other roundings than alone, and a choice that hangs on less than these roundings may
fall either way. Nobody has to take that on trust: both texts are made again in float64, where
roundings are a billion times smaller. If they agree there, the difference was a rounding tie;
if not, it is a fault. Read next: `../lab/record.py`.
"""

import copy
from dataclasses import dataclass, replace

import numpy as np

from ..config import SamplingConfig
from ..decode import generate
from ..dice import target_draw, uniform
from ..drafters.model_set import ModelSet
from ..sampling import next_token_law


@dataclass(frozen=True)
class Difference:
    """The first place where two texts of one prompt and seed differ."""

    place: int  # index among the new tokens
    plain: int | None  # the token there; None where the text has ended
    speculative: int | None
    gap: float  # how far the plain choice was from falling otherwise, see `gap_of`
    rounding: bool  # True: in float64 the texts are the same


def first_difference(plain: list[int], speculative: list[int]) -> int | None:
    """The first index where they differ (one may have ended), None when they are equal."""
    if plain == speculative:
        return None
    pairs = zip(plain, speculative)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(plain), len(speculative)))


def explain(
    models: ModelSet,
    drafter: str,
    prompt_ids: list[int],
    options: dict,
    texts: tuple[list[int], list[int]],
) -> Difference | None:
    """Compare the texts (plain, speculative) that `generate` made with `options`; None when they are equal.

    options: max_new_tokens, temperature, seed, stop.
    """
    place = first_difference(*texts)
    if place is None:
        return None
    wide = replace(models, target=copy.deepcopy(models.target).double())
    again = [generate(wide.target, prompt_ids, which, **options).tokens for which in (None, wide.drafter(drafter))]
    tokens = [text[place] if place < len(text) else None for text in texts]
    common = [*prompt_ids, *texts[0][:place]]
    _, rows = wide.target.start().read(common, list(range(len(common))))
    gap = gap_of(rows[-1], SamplingConfig(options["temperature"]), options["seed"], len(common))
    return Difference(place, *tokens, gap, again[0] == again[1])


def gap_of(row: np.ndarray, sampling: SamplingConfig, seed: int, position: int) -> float:
    """How close the choice at `position` was, given the logits `row` (V,).

    Temperature 0: the difference of the two largest logits. Above: the distance of the drawn
    number from the nearer edge of the interval it fell into, a probability.
    """
    if sampling.temperature == 0:
        second, first = np.sort(row)[-2:]
        return float(first - second)
    edges = np.concatenate([[0.0], np.cumsum(next_token_law(row, sampling))])
    return float(np.abs(edges[1:-1] - uniform(seed, target_draw(position))).min())
