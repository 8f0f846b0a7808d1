"""`confidence`: draft confidence against acceptance in ten bins, at temperatures 0 and 1.

What counts as tried and as accepted is said in `../../instruments/calibration.py`. Read next: `entropy.py`.
"""

from collections.abc import Iterator, Sequence

from ...experiment import Experiment, Setting
from ...figures.svg import Point, lines
from ...figures.tables import Column, number, short
from ...instruments.calibration import calibration
from ...instruments.measures import all_cycles
from ...options import HEAD, SEED
from ...record import Row
from .claim import MEMBERS, follows, num_prefixes, overall

TEMPERATURES = (0.0, 1.0)
COLUMNS: list[Column] = [
    ("T", short("temperature")),
    ("draft probability", lambda row: f"{row['low']:.1f} to {row['high']:.1f}"),
    ("tried", lambda row: str(row["num_tried"])),
    ("mean probability", number("mean_probability")),
    ("accepted", number("acceptance")),
]


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each bin, of the trees of EAGLE-2."""
    drafter = setting.drafter("eagle2")
    for temperature in TEMPERATURES:
        for part in calibration(all_cycles(setting.first_cycles(drafter, temperature))):
            yield {"temperature": temperature, **part._asdict()}


def series(rows: Sequence[Row], least: int = 1) -> dict[str, list[Point]]:
    """(mean probability, share accepted) of the bins in which `least` nodes or more were tried, by temperature."""
    found: dict[str, list[Point]] = {f"T={row['temperature']:g}": [] for row in rows}
    for row in rows:
        if row["num_tried"] >= least:
            found[f"T={row['temperature']:g}"].append((row["mean_probability"], row["acceptance"]))
    return found


def verdict(rows: Sequence[Row]) -> str:
    """Acceptance rises with confidence, and how far from the diagonal it does so."""
    parts = []
    for name, points in series(rows, MEMBERS).items():
        word, text = follows(name, points)
        off = sum(abs(y - x) for x, y in points) / max(1, len(points))
        parts.append((word, f"{text}, {off:.2f} from the diagonal on average"))
    return overall(parts)


def picture(rows: Sequence[Row]) -> str:
    """Acceptance over confidence; on the dashed line both are the same."""
    drawn = {name: points for name, points in series(rows).items() if points}
    return lines("calibration on held-out code", drawn, "draft probability", "share accepted", diagonal=True)


EXPERIMENT = Experiment(
    name="confidence",
    question="Does a draft's confidence say how often it is accepted?",
    claim="The surer the draft is of a token, the more often it is accepted, in a nearly straight line "
    "(EAGLE-2, 2406.16858, figure 6).",
    options=[HEAD, num_prefixes(500), SEED],
    rows=measured,
    tables=[COLUMNS],
    verdict=verdict,
    pictures={"study_confidence.svg": picture},
)
