"""tau by temperature, for two rules of verification and two shapes of tree.

    eagle2            the likeliest tokens as EAGLE-2 chooses them, the match walk
    eagle1            the likeliest tokens in EAGLE-1's fixed shape, the match walk
    eagle1-sampled    the same shape with children drawn from the draft's law, recursive rejection

The last two differ in nothing but drawing, and at temperature 0 not even in that. Read next: `useless.py`.
"""

from collections.abc import Iterator, Sequence

from ...experiment import Experiment, Setting
from ...figures.svg import lines
from ...figures.tables import Column, short, word
from ...instruments.measures import gap_figures, tau_figures
from ...options import HEAD, SEED
from ...record import Row
from .claim import TAU, num_prefixes, overall, word_for

TEMPERATURES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
DRAFTERS = ("eagle2", "eagle1", "eagle1-sampled")
COLUMNS: list[Column] = [("drafter", word("drafter")), ("T", short("temperature")), *TAU]


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each drafter and temperature; those above the lowest temperature say how far they are behind it."""
    for name in DRAFTERS:
        drafter, coldest = setting.drafter(name), None
        for temperature in TEMPERATURES:
            starts = setting.first_cycles(drafter, temperature)
            gap = gap_figures(f"T={TEMPERATURES[0]:g}", coldest, starts, setting.seed)
            yield {"drafter": name, "temperature": temperature, **tau_figures(starts, setting.seed), **gap}
            coldest = coldest or starts


def verdict(rows: Sequence[Row]) -> str:
    """The lowest temperature against the highest, for each drafter; and from where on drawn children win."""
    parts = []
    for name in dict.fromkeys(row["drafter"] for row in rows):
        first, *_, last = own = [row for row in rows if row["drafter"] == name]
        steps = list(zip(own, own[1:]))
        text = (
            f"{name} {first['tau']:.2f} at T={first['temperature']:g} against {last['tau']:.2f} at "
            f"T={last['temperature']:g}, falling in {sum(b['tau'] < a['tau'] for a, b in steps)} of {len(steps)} steps"
        )
        parts.append((word_for(last["gap_low"], last["gap_high"]), text))
    return f"{overall(parts)}; {drawn_children(rows)}"


def drawn_children(rows: Sequence[Row]) -> str:
    """Where EAGLE-1's shape has the larger tau with children that are drawn."""
    taus = {(row["drafter"], row["temperature"]): row["tau"] for row in rows}
    temperatures = sorted({temperature for _, temperature in taus})
    won = [f"{t:g}" for t in temperatures if taus["eagle1-sampled", t] > taus["eagle1", t]]
    return f"in EAGLE-1's shape drawn children have the larger tau at T = {', '.join(won) or 'none of these'}"


def picture(rows: Sequence[Row]) -> str:
    """A line for each drafter."""
    curves = {name: [] for name in dict.fromkeys(row["drafter"] for row in rows)}
    for row in rows:
        curves[row["drafter"]].append((row["temperature"], row["tau"]))
    return lines("tau behind held-out code by temperature", curves, "temperature", "tau")


EXPERIMENT = Experiment(
    name="temperature",
    question="Are fewer drafts accepted at a higher temperature, whichever exact rule verifies them?",
    claim="The higher the temperature, the fewer drafts are accepted, whichever exact rule verifies them "
    "(tables of 2401.15077 and 2406.16858: tau is smaller at temperature 1 than at 0).",
    options=[HEAD, num_prefixes(200), SEED],
    rows=measured,
    tables=[COLUMNS],
    verdict=verdict,
    pictures={"study_temperature.svg": picture},
)
