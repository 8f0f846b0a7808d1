"""The README's pictures, drawn from the stored rows and nothing else; `python -m eagle_min readme` makes them anew.

    tau.svg           tokens committed per target call, each drafter at both temperatures
    faster.svg        seconds per token of plain decoding over those of each drafter
    alpha.svg         share accepted at each place of a chain draft, of those that were tried there
    calibration.svg   share of drafted tokens accepted, by draft probability
    study_NAME.svg    what each study says

Read next: `readme.py`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from ..files import write_atomically
from .record import Row, read_rows
from .study import STUDIES
from .svg import Bar, Point, bars, lines

DOMAIN = "code"


def on_code(rows: Sequence[Row]) -> list[Row]:
    """The rows about held-out code, temperature by temperature."""
    return sorted((row for row in rows if row["domain"] == DOMAIN), key=lambda row: row["temperature"])


def labelled(row: Row, value: str, low: str, high: str) -> Bar:
    """A bar for a drafter at a temperature, which gives it its colour."""
    label = f"{row['drafter']}, T={row['temperature']:g}"
    return Bar(label, row[value], row[low], row[high], colour=int(row["temperature"] > 0))


def tau(rows: Sequence[Row]) -> str:
    """From the rows of `compare`."""
    chart = [labelled(row, "tau", "tau_low", "tau_high") for row in on_code(rows)]
    return bars("tau: tokens per target call behind held-out code, with 95 % intervals", chart)


def faster(rows: Sequence[Row]) -> str:
    """From the rows of `compare`."""
    chart = [labelled(row, "ratio", "ratio_low", "ratio_high") for row in on_code(rows)]
    return bars("times faster than plain decoding, code; lines: the middle half of the prompts", chart)


def alpha(rows: Sequence[Row]) -> str:
    """From the rows of `compare` that have such figures: those of chains."""
    series = {
        f"{row['drafter']}, T={row['temperature']:g}": list(enumerate(map(float, row["alphas"])))
        for row in on_code(rows)
        if row["alphas"]
    }
    return lines(
        "n-alpha: how well a chain does as it leaves the text behind", series, "n, place in the draft", "share"
    )


def calibration(rows: Sequence[Row]) -> str:
    """From the rows of `bench` about calibration; bins in which nothing was tried are left out."""
    series: dict[str, list[Point]] = {}
    for row in rows:
        if row["figure"] == "calibration" and row["value"] is not None:
            name = row["setting"].partition(",")[0]
            series.setdefault(name, []).append((row["mean_probability"], row["value"]))
    return lines("calibration on held-out code", series, "draft probability", "share accepted", diagonal=True)


PICTURES: dict[str, tuple[str, Callable[[Sequence[Row]], str]]] = {  # file -> file of rows, and what draws it
    "tau.svg": ("compare.json", tau),
    "faster.svg": ("compare.json", faster),
    "alpha.svg": ("compare.json", alpha),
    "calibration.svg": ("bench.json", calibration),
    **{f"study_{name}.svg": (f"study_{name}.json", study.picture) for name, study in STUDIES.items()},
}


def drawn(results: Path) -> dict[str, str]:
    """The pictures of the rows that a folder has. ValueError, one line, when these are not complete."""
    stored = [name for name, (rows, _) in PICTURES.items() if (results / rows).exists()]
    try:
        return {name: PICTURES[name][1](read_rows(results / PICTURES[name][0])) for name in stored}
    except (KeyError, TypeError) as error:
        raise ValueError(f"rows for a picture are not complete: {error!r}") from error


def update(results: Path) -> None:
    """Write all pictures beside the rows they are made of."""
    for name, content in drawn(results).items():
        write_atomically(results / name, lambda file, content=content: file.write(content.encode()))


def stale(results: Path) -> list[str]:
    """Names of the pictures that differ from what the rows say now, or are not there."""
    return [
        name
        for name, content in drawn(results).items()
        if not (results / name).exists() or (results / name).read_text(encoding="utf-8") != content
    ]
