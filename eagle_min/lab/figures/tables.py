"""Tables: one description of the columns serves the terminal and the page, so that the two cannot differ.

A *column* is a heading and a function that shows, as text, what a row has under it. Many experiments give rows of one
shape, a single value each (figure, setting, value, unit); `entry` makes them and VALUES shows them.
Read next: `svg.py`.
"""

from collections.abc import Callable, Sequence

from ..record import Row

Column = tuple[str, Callable[[Row], str]]


def word(key: str) -> Callable[[Row], str]:
    """Shows row[key], a text, as it is."""
    return lambda row: row[key]


def short(key: str) -> Callable[[Row], str]:
    """Shows the number row[key] with as few digits as it has."""
    return lambda row: f"{row[key]:g}"


def number(key: str, digits: int = 2, scale: float = 1.0) -> Callable[[Row], str]:
    """Shows row[key] x scale; an empty cell where there is no such figure."""
    return lambda row: "" if row.get(key) is None else f"{row[key] * scale:.{digits}f}"


def interval(key: str) -> Callable[[Row], str]:
    """Shows row[key] and the interval around it, KEY_low to KEY_high: 4.21 [4.03, 4.40]."""
    low, high = f"{key}_low", f"{key}_high"
    return lambda row: "" if row.get(key) is None else f"{row[key]:.2f} [{row[low]:.2f}, {row[high]:.2f}]"


def first_alphas(row: Row) -> str:
    """Shows the first five n-alphas; an empty cell where drafts are no chains."""
    return " ".join(f"{alpha:.2f}" for alpha in (row["alphas"] or [])[:5])


VALUES: list[Column] = [
    ("figure", word("figure")),
    ("setting", word("setting")),
    ("value", number("value", 3)),
    ("unit", word("unit")),
]


def entry(setting: str, value: float | None, unit: str, **more: float | None) -> Row:
    """A row of one value, but for the figure it belongs to; `value` None where there was nothing to count."""
    return {"setting": setting, "value": value, "unit": unit, **more}


def text_table(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """For the terminal: columns padded to one width each."""
    cells = [[heading for heading, _ in columns], *([show(row) for _, show in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells)


def markdown_table(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """For a page."""
    cells = [[heading for heading, _ in columns], ["---"] * len(columns)]
    cells += [[show(row).replace("|", r"\|") for _, show in columns] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)
