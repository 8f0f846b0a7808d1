"""Seconds, measured so that a comparison is fair.

What is compared takes turns in one process: for each prompt every decoder runs once, in an
order that turns by one place from prompt to prompt, so that a machine that slows down slows
all of them and none always runs first. All have run before anything counts. The clock goes
round whole calls of `generate`, the prefill included. Read next: `costs.py`.
"""

import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from ...config import require
from ...decode import Drafter, Generation, generate
from ...model import GPT
from .counted import CountedDrafter

WARM_UP_TOKENS = 16


class Timed(NamedTuple):
    """A text and how long it took."""

    text: Generation
    seconds: float

    @property
    def per_token(self) -> float:
        return self.seconds / len(self.text.tokens)


def in_turn(
    target: GPT,
    drafters: Mapping[str, Drafter | None],
    prompts: Sequence[Sequence[int]],
    max_new_tokens: int,
    temperature: float,
    seed: int,
    stop: Collection[int] = (),
) -> dict[str, list[Timed]]:
    """Each prompt decoded by each drafter (None: plain), with the seed `seed` + its number."""
    require(max_new_tokens >= 1, "max_new_tokens", max_new_tokens, "at least 1, to be timed")
    names = list(drafters)
    results: dict[str, list[Timed]] = {name: [] for name in names}
    for name in names:
        generate(target, prompts[0], drafters[name], max_new_tokens=WARM_UP_TOKENS, temperature=temperature)
        if isinstance(drafters[name], CountedDrafter):
            drafters[name].forget()
    for place, prompt in enumerate(prompts):
        options = {"max_new_tokens": max_new_tokens, "temperature": temperature, "seed": seed + place, "stop": stop}
        turn = place % len(names)
        for name in names[turn:] + names[:turn]:
            begin = time.perf_counter()
            text = generate(target, prompt, drafters[name], **options)
            results[name].append(Timed(text, time.perf_counter() - begin))
    return results


def seconds_per_token(runs: Sequence[Timed]) -> float:
    """Total seconds over total tokens."""
    return sum(run.seconds for run in runs) / sum(len(run.text.tokens) for run in runs)


def ratio_figures(slow: Sequence[Timed], fast: Sequence[Timed]) -> dict:
    """How many times faster, in seconds per token, and the lower and upper quartile of that over the prompts."""
    low, high = np.quantile([a.per_token / b.per_token for a, b in zip(slow, fast, strict=True)], [0.25, 0.75])
    ratio = seconds_per_token(slow) / seconds_per_token(fast)
    return {"ratio": ratio, "ratio_low": float(low), "ratio_high": float(high)}


def medians(calls: Mapping[Hashable, Callable[[], object]], rounds: int) -> dict:
    """Median seconds of each call over `rounds` rounds in turn, after one round that is not counted."""
    seconds: dict = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - begin)
    return {name: median(values[1:]) for name, values in seconds.items()}
