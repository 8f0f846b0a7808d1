"""What `compare` stores, shown: the table of all figures, that of costs, two that are short, and three pictures.

    summary          the systems that the papers compare, at most eight, for the top of the repository
    compare.brief    each drafter once, temperature 1 beside temperature 0, and what was published
    tau.svg          tokens committed per target call, each drafter at both temperatures
    faster.svg       seconds per token of plain decoding over those of each drafter
    alpha.svg        share accepted at each place of a chain draft, of those that were tried there

Read next: `blocks.py`.
"""

from collections.abc import Sequence
from functools import partial

from ..record import Row
from .svg import Bar, bars, lines
from .tables import Column, first_alphas, interval, number, short, word

DOMAIN = "code"  # of all that is short

ALL: list[Column] = [
    ("drafter", word("drafter")),
    ("text", word("domain")),
    ("T", short("temperature")),
    ("tau, held-out prefixes (95 %)", interval("tau")),
    ("tau, free-running", number("tau_free")),
    ("n-alpha, n from 0", first_alphas),
    ("nodes", number("nodes", 1)),
    ("distinct", number("distinct")),
    ("ms/token plain", number("seconds_plain", scale=1e3)),
    ("ms/token", number("seconds_speculative", scale=1e3)),
    ("faster", number("ratio")),
    ("middle half of prompts", lambda row: f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f}"),
    ("same text", lambda row: f"{row['num_identical']}/{row['num_prompts']}"),
    ("bits/byte", number("bits_per_byte", 3)),
]
COSTS: list[Column] = [
    *ALL[:3],
    ("accepted a cycle", lambda row: f"{row['tau'] - 1:.2f}"),
    ("draft passes", number("draft_passes", 1)),
    ("ms a cycle, prefill shared out", number("seconds_per_cycle", 1, 1e3)),
    ("ms drafting a tree", number("seconds_drafting", 1, 1e3)),
    ("faster", number("ratio")),
    ("million parameters", number("parameters", 2, 1e-6)),
    ("million training tokens", number("training_tokens", 1, 1e-6)),
]
PUBLISHED = {  # tau and times faster: Vicuna-13B on HumanEval, temperature 0; table 1 of 2406.16858 and of 2503.01840
    "eagle3": "7.54, 6.47",
    "eagle2@eagle-paper": "5.41, 4.96",
    "eagle1@eagle-paper": "4.39, 3.58",
    "medusa": "2.78, 2.50",
    "small-chain": "2.57, 2.23",
    "lookup": "1.93, 1.85",
    "lookahead": "1.75, 1.71",
}
BRIEF: list[Column] = [  # of rows `side_by_side`
    ("drafter", word("drafter")),
    ("tau, T=0 (95 %)", interval("tau")),
    ("times faster", number("ratio")),
    ("same text", lambda row: f"{row['num_identical']}/{row['num_prompts']}"),
    ("tau, T=1 (95 %)", lambda row: interval("tau")(row["hot"])),
    ("times faster, T=1", lambda row: number("ratio")(row["hot"])),
    ("million parameters", number("parameters", 2, 1e-6)),
    ("published tau and times faster, Vicuna-13B", lambda row: PUBLISHED.get(row["drafter"], "")),
]
METHODS = {  # a row of the summary -> the drafter that stands for it
    "EAGLE-3": "eagle3",
    "EAGLE-2, head trained in steps": "eagle2",
    "EAGLE-2, the paper's loss": "eagle2@eagle-paper",
    "EAGLE-1, children drawn at T=1": "eagle1-sampled@eagle-paper",
    "small draft model": "small",
    "Medusa": "medusa",
    "prompt look-up": "lookup",
}
SUMMARY: list[Column] = [  # of rows that `summary` makes
    ("method", word("method")),
    ("drafter", word("drafter")),
    ("tau, T=0", number("tau")),
    ("times as fast, T=0", number("ratio")),
    ("tau, T=1", lambda row: number("tau")(row["hot"])),
    ("times as fast, T=1", lambda row: number("ratio")(row["hot"])),
]


def side_by_side(rows: Sequence[Row]) -> list[Row]:
    """The rows of temperature 0, best first, each with what the same drafter does at temperature 1 as `hot`."""
    hot = {(row["drafter"], row["domain"]): row for row in rows if row["temperature"] == 1}
    cold = [row | {"hot": hot[row["drafter"], row["domain"]]} for row in rows if row["temperature"] == 0]
    return sorted(cold, key=lambda row: -row["tau"])


def summary(rows: Sequence[Row]) -> list[Row]:
    """A row for plain decoding, which commits one token per target call by definition, and one for each of METHODS."""
    found = {row["drafter"]: row for row in side_by_side([row for row in rows if row["domain"] == DOMAIN])}
    plain = {"method": "plain decoding", "drafter": "none", "tau": 1.0, "ratio": 1.0}
    drafted = [found[drafter] | {"method": method} for method, drafter in METHODS.items()]
    return [{**drafted[0], **plain, "hot": plain}, *sorted(drafted, key=lambda row: -row["tau"])]


def on_code(rows: Sequence[Row]) -> list[Row]:
    """The rows about held-out code, temperature by temperature."""
    return sorted((row for row in rows if row["domain"] == DOMAIN), key=lambda row: row["temperature"])


def label(row: Row) -> str:
    """A drafter at a temperature."""
    return f"{row['drafter']}, T={row['temperature']:g}"


def bar_chart(title: str, key: str, rows: Sequence[Row]) -> str:
    """SVG: a bar for each drafter and temperature, which gives it its colour, with the interval of the figure."""
    low, high = f"{key}_low", f"{key}_high"
    chart = [Bar(label(row), row[key], row[low], row[high], int(row["temperature"] > 0)) for row in on_code(rows)]
    return bars(title, chart)


tau = partial(bar_chart, "tau: tokens per target call behind held-out code, with 95 % intervals", "tau")
faster = partial(bar_chart, "times faster than plain decoding, code; lines: the middle half of the prompts", "ratio")


def alpha(rows: Sequence[Row]) -> str:
    """SVG: a line for each drafter and temperature whose drafts are chains."""
    series = {label(row): list(enumerate(map(float, row["alphas"]))) for row in on_code(rows) if row["alphas"]}
    return lines(
        "n-alpha: how well a chain does as it leaves the text behind", series, "n, place in the draft", "share"
    )
