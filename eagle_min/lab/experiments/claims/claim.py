"""What experiments about a claim share: the columns of tau, and the words of the verdict, which follow from the rows.

Whether a claim holds is said by a rule that was fixed before there were numbers. Where two taus are
compared, both are measured behind the same prefixes, and held-out files are drawn anew as in
`measures.bootstrap`, for both at once: the claim *holds* when the 95 % interval of their difference lies
above 0, *does not hold here* when it lies below 0, and is *not decided here* when 0 is in it. The interval
is about the text. Where heads were trained, other seeds of the training are a further source of
differences that it does not see. Where one figure is said to follow another over bins, the claim holds when
their correlation is at least STRONG.

Read next: `confidence.py`.
"""

from collections.abc import Sequence

import numpy as np

from ...figures.tables import Column, interval
from ...options import Option, count
from ...record import Row

HOLDS, OPEN, FAILS = "holds", "not decided here", "does not hold here"
STRONG = 0.9  # correlation
MEMBERS = 20  # a bin with fewer has no vote

Judged = tuple[str, str]  # one of the words, and the numbers behind it

TAU: list[Column] = [
    ("tau (95 %)", interval("tau")),
    ("less than", lambda row: row.get("behind", "")),
    ("by (95 %)", interval("gap")),
]


def num_prefixes(default: int) -> Option:
    """How much text tau is measured on."""
    return count("prefixes", default, "random held-out prefixes of code")


def word_for(low: float, high: float) -> str:
    """The word for an interval of what is claimed to be above 0."""
    return HOLDS if low > 0 else FAILS if high < 0 else OPEN


def overall(parts: Sequence[Judged]) -> str:
    """One line: the word of the part that is worst for the claim, then all the numbers, others with their own word."""
    worst = next(word for word in (FAILS, OPEN, HOLDS) if any(word == part[0] for part in parts))
    return f"{worst}: " + "; ".join(text if word == worst else f"{text} ({word})" for word, text in parts)


def ranked(rows: Sequence[Row]) -> str:
    """The verdict on rows of which some are claimed to be behind others."""
    taus, parts = {row["variant"]: row["tau"] for row in rows}, []
    for row in rows:
        if "behind" in row:
            both = f"{row['behind']} {taus[row['behind']]:.2f} against {row['variant']} {row['tau']:.2f}"
            gap = f"difference {row['gap']:+.2f} [{row['gap_low']:+.2f}, {row['gap_high']:+.2f}]"
            parts.append((word_for(row["gap_low"], row["gap_high"]), f"{both}, {gap}"))
    return overall(parts)


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
