"""The worst case: a head with random weights, timed in turn with plain decoding (a figure of `bench` too).

Read next: `tree.py`.
"""

from collections.abc import Iterator, Sequence

from ...experiment import Experiment, Setting
from ...figures.svg import Bar, bars
from ...figures.tables import Column, number, word
from ...instruments import costs
from ...options import HEAD, SEED, count
from ...record import Row
from .claim import FAILS, HOLDS, overall

COLUMNS: list[Column] = [("setting", word("setting")), ("ratio", number("ratio"))]


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each temperature."""
    drafter, num_prompts = setting.drafter("eagle2"), setting.options.prompts
    for where, slowdown in costs.slowdowns(setting.models, drafter, num_prompts, setting.seed):
        yield {"setting": where, "ratio": slowdown}


def verdict(rows: Sequence[Row]) -> str:
    """No slower than without."""
    return overall([(HOLDS if row["ratio"] <= 1 else FAILS, f"{row['setting']} {row['ratio']:.2f}") for row in rows])


def picture(rows: Sequence[Row]) -> str:
    """Plain decoding is 1."""
    drawn = [Bar(row["setting"].partition(":")[0], row["ratio"], colour=1) for row in rows]
    return bars("seconds a token with a random head, plain decoding being 1", [Bar("plain", 1.0), *drawn])


EXPERIMENT = Experiment(
    name="useless",
    question="What does drafting cost when the drafter knows nothing?",
    claim="Drafting never makes decoding slower, for in the worst case each target call still yields a token "
    "(articles that count calls and not seconds).",
    options=[HEAD, count("prompts", 5, "shipped prompts"), SEED],
    rows=measured,
    tables=[COLUMNS],
    verdict=verdict,
    pictures={"study_useless.svg": picture},
)
