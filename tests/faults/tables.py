"""The tables of what these scripts find out about the tests: their columns, and the page that shows stored rows.

    python tests/faults/tables.py    puts the rows of bank.json, controls.json and score.json into results.md

    bank.py       which property of a sampler notices which fault, and at what price
    controls.py   right samplers, none of which may be refuted
    score.py      the mutation score of the core

Each script explains its columns.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import paths  # noqa: F401 first, for it says where the others lie
from properties import PROPERTIES

from eagle_min.lab.figures.blocks import find_blocks, origin, replace_blocks
from eagle_min.lab.figures.tables import Column, markdown_table, number, word
from eagle_min.lab.record import Row, read_rows

FOLDER = Path(__file__).parent
PAGE = FOLDER / "results.md"


def yes(name: str) -> Callable[[Row], str]:
    """Shows whether a property noticed the fault; an empty cell where it has nothing to say."""
    return lambda row: {True: "yes", False: "-", None: ""}[row[name]]


def samples(row: Row) -> str:
    """A number of samples in three digits."""
    return "never" if row["num_samples"] is None else f"{row['num_samples']:.3g}"


NAMED: list[Column] = [("code", word("code")), ("fault", word("name"))]
NOTICED: list[Column] = [
    *NAMED,
    ("kind", word("kind")),
    *((name, yes(name)) for name in PROPERTIES),
    ("origin", word("origin")),
]
POWER: list[Column] = [
    *NAMED,
    ("total variation", number("total_variation", 5)),
    ("samples for 5 sigma", samples),
    ("seconds to enumerate", number("seconds", 3)),
    ("seconds to refute", number("seconds_to_refute", 1)),
]
CERTIFIED: list[Column] = [
    ("right sampler", word("certified")),
    ("kind", word("kind")),
    ("verdict", word("status")),
    ("compared", word("compared")),
    ("drawn worlds", number("drawn_worlds", 0)),
    ("sequences of answers", number("num_branches", 0)),
]
SCORED: list[Column] = [
    ("mutants of", word("mutants_of")),
    *((name, number(name, 0)) for name in ("mutants", "killed", "equivalent", "survived", "error")),
    ("score", number("score", 3)),
]
TABLES: dict[str, tuple[str, Sequence[Column]]] = {  # name on the page -> file of rows, columns
    "controls": ("controls.json", CERTIFIED),
    "bank": ("bank.json", NOTICED),
    "bank.power": ("bank.json", POWER),
    "score": ("score.json", SCORED),
}


def tables(folder: Path = FOLDER) -> dict[str, str]:
    """What the page has between the markers of each name: a table, and under it the command that measured it.
    ValueError when rows are missing."""
    stored = {name: read_rows(folder / file) for name, (file, _) in TABLES.items()}
    return {name: f"{markdown_table(TABLES[name][1], rows)}\n\n{origin(rows[0])}\n" for name, rows in stored.items()}


def stale(page: Path = PAGE, folder: Path = FOLDER) -> list[str]:
    """Names of the tables that differ from what is stored now, or that only the page or only the rows know."""
    shown, wanted = find_blocks(page), tables(folder)
    return [name for name in {**shown, **wanted} if shown.get(name) != wanted.get(name)]


def main(page: Path = PAGE, folder: Path = FOLDER) -> int:
    """Bring the page up to date, and say how many tables it has. The exit status."""
    replace_blocks(page, tables(folder))
    print(f"{page}: {len(find_blocks(page))} tables")
    return 0


if __name__ == "__main__":
    sys.exit(main())
