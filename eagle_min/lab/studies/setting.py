"""What all studies share: their options, tau with an interval, and words that follow from the numbers.

Whether a claim holds is said by a rule that was fixed before there were numbers. Where two taus are
compared, both are measured behind the same prefixes, and held-out files are drawn anew as in
`measures.bootstrap`, for both at once: the claim *holds* when the 95 % interval of their difference lies
above 0, *does not hold here* when it lies below 0, and is *not decided here* when 0 is in it. The interval
is about the text. Where heads were trained, other seeds of the training are a further source of
differences that it does not see. Where one figure is said to follow another over bins, the claim holds when
their correlation is at least STRONG.

Read next: `confidence.py`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...config import TreeConfig
from ...decode import Drafter, tau
from ...drafters.model_set import ModelSet
from ..measures import RESAMPLES, Start, bootstrap, first_cycles
from ..prefixes import Prefix
from ..record import Column, Row, interval

HOLDS, OPEN, FAILS = "holds", "not decided here", "does not hold here"
STRONG = 0.9  # correlation
MEMBERS = 20  # a bin with fewer has no vote

Judged = tuple[str, str]  # one of the words, and the numbers behind it


@dataclass(frozen=True)
class Setting:
    """What a study is run with; its options are checked."""

    models: ModelSet
    seed: int
    head: str | None  # of the set; None where the study trains its own
    prefixes: Sequence[Prefix]  # of held-out code; none where the study has no use for them
    sizes: Mapping[str, int]
    folder: Path  # of trainings; those of a study begin with its name

    def drafter(self, name: str, tree: TreeConfig | None = None) -> Drafter:
        """A drafter of the registry with the head that was asked for."""
        return self.models.drafter(name, self.head, tree)

    def first_cycles(self, drafter: Drafter, temperature: float) -> list[Start]:
        """What is decoded behind the prefixes."""
        return first_cycles(self.models.target, drafter, self.prefixes, temperature, self.seed)


@dataclass(frozen=True)
class Study:
    """A row of the registry. `verdict` and `picture` know the rows alone, so stored ones will do."""

    claim: str  # one sentence, with its source
    sizes: Mapping[str, int]  # name of an option -> its default
    columns: Sequence[Column]
    rows: Callable[[Setting], Iterator[Row]]  # a row with `drawn` is text for below the table
    verdict: Callable[[Sequence[Row]], str]
    picture: Callable[[Sequence[Row]], str]  # SVG
    trains: bool = False  # heads of its own, instead of one of the set


TAU: list[Column] = [
    ("tau (95 %)", interval("tau", "tau_low", "tau_high")),
    ("less than", lambda row: row.get("behind", "")),
    ("by (95 %)", interval("gap", "gap_low", "gap_high")),
]


def tau_figures(starts: Sequence[Start], seed: int) -> Row:
    """tau over the cycles behind the prefixes, and its interval."""
    low, high = bootstrap(starts, seed)
    return {"tau": tau(cycle for start in starts for cycle in start.cycles), "tau_low": low, "tau_high": high}


def gap_figures(name: str, better: Sequence[Start], starts: Sequence[Start], seed: int) -> Row:
    """How far `starts` are behind what is claimed to be better, called `name`, and a paired interval of that.

    Both begin at the same prefixes, so their files are drawn together: what makes a text easy for both cancels.
    """
    totals: dict[str, list[int]] = {}
    for place, group in enumerate((better, starts)):
        for file, cycles in group:
            numbers = totals.setdefault(file, [0, 0, 0, 0])
            numbers[2 * place] += sum(len(cycle.tokens) for cycle in cycles)
            numbers[2 * place + 1] += len(cycles)
    table = np.array(list(totals.values()))  # (files, 4): tokens and calls of the one and of the other
    drawn = np.random.default_rng(seed).integers(len(table), size=(RESAMPLES, len(table)))
    low, high = np.quantile(difference(table[drawn].sum(axis=1)), [0.025, 0.975])
    return {"behind": name, "gap": float(difference(table.sum(axis=0))), "gap_low": float(low), "gap_high": float(high)}


def difference(totals: np.ndarray) -> np.ndarray:
    """(..., 4) tokens and calls of two drafters -> (...) tau of the first less tau of the second."""
    tokens, calls, other_tokens, other_calls = np.moveaxis(totals, -1, 0)
    return tokens / calls - other_tokens / other_calls


def judge(low: float, high: float) -> str:
    """The word for an interval of what is claimed to be above 0."""
    return HOLDS if low > 0 else FAILS if high < 0 else OPEN


def overall(parts: Sequence[Judged]) -> str:
    """One line: the word of the part that is worst for the claim, then all the numbers, others with their own word."""
    worst = next(word for word in (FAILS, OPEN, HOLDS) if any(word == part[0] for part in parts))
    return f"{worst}: " + "; ".join(text if word == worst else f"{text} ({word})" for word, text in parts)


def ranked(rows: Sequence[Row]) -> str:
    """The verdict on rows of which some are claimed to be behind others."""
    taus = {row["variant"]: row["tau"] for row in rows}
    return overall(
        [
            (
                judge(row["gap_low"], row["gap_high"]),
                f"{row['behind']} {taus[row['behind']]:.2f} against {row['variant']} {row['tau']:.2f}, "
                f"difference {row['gap']:+.2f} [{row['gap_low']:+.2f}, {row['gap_high']:+.2f}]",
            )
            for row in rows
            if "behind" in row
        ]
    )


def correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's; None for fewer than three pairs, or where one of the two never changes."""
    x, y = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def follows(name: str, pairs: Sequence[tuple[float, float]], sign: int = 1) -> Judged:
    """Whether the second figure rises (`sign` 1) or falls (-1) with the first; bins in rising order of the first."""
    strength = correlation(pairs)
    if strength is None:
        return OPEN, f"{name}: {len(pairs)} bins with {MEMBERS} or more in them, too few or all alike"
    word = HOLDS if sign * strength >= STRONG else FAILS
    (first, low), (last, high) = pairs[0], pairs[-1]
    return word, f"{name}: from {low:.2f} at {first:.2f} to {high:.2f} at {last:.2f}, correlation {strength:+.2f}"
