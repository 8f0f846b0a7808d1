"""The worst case: a head with random weights, timed in turn with plain decoding (the figure of `../bench.py`).

Read next: `tree.py`.
"""

from collections.abc import Iterator, Sequence

from .. import bench
from ..record import Column, Row, number
from ..svg import Bar, bars
from .setting import FAILS, HOLDS, Setting, Study, overall

COLUMNS: list[Column] = [("setting", lambda row: row["setting"]), ("ratio", number("ratio"))]


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each temperature."""
    drafter, num_prompts = setting.drafter("eagle2"), setting.sizes["prompts"]
    for where, slowdown in bench.slowdowns(setting.models, drafter, num_prompts, setting.seed):
        yield {"setting": where, "ratio": slowdown}


def verdict(rows: Sequence[Row]) -> str:
    """No slower than without."""
    return overall([(HOLDS if row["ratio"] <= 1 else FAILS, f"{row['setting']} {row['ratio']:.2f}") for row in rows])


def picture(rows: Sequence[Row]) -> str:
    """Plain decoding is 1."""
    drawn = [Bar(row["setting"].partition(":")[0], row["ratio"], colour=1) for row in rows]
    return bars("seconds a token with a random head, plain decoding being 1", [Bar("plain", 1.0), *drawn])


STUDY = Study(
    claim="Drafting never makes decoding slower, for in the worst case each target call still yields a token "
    "(articles that count calls and not seconds).",
    sizes={"prompts": 5},
    columns=COLUMNS,
    rows=measured,
    verdict=verdict,
    picture=picture,
)
