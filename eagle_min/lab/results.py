"""`lab results`: brings tables and pictures up to date, from the stored rows and nothing else.

A table stands on a page between two markers (`figures/blocks.py`). The first part of its name is a file of rows in
tinymodels/results, `compare.json` say; or `target`, the card of the shipped target. A second part, if any, keeps the
rows of that figure or domain, or is another table of all of them. A test asks `stale` whether pages and rows still
agree. Read next: `command.py`.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ..checkpoint import read_card
from ..config import require
from ..drafters.model_set import SHIPPED
from .experiments.registry import EXPERIMENTS
from .figures import comparison
from .figures.blocks import find_blocks, origin, replace_blocks
from .figures.tables import VALUES, Column, entry, markdown_table
from .record import Row, read_rows, write_text

RESULTS = SHIPPED / "results"
CARD = SHIPPED / "tiny" / "target.json"
PAGES = (SHIPPED.parent / "README.md", RESULTS / "README.md")
CLAIMS = {experiment.stored: experiment for experiment in EXPERIMENTS.values() if experiment.claim}
FIRST_TABLES: dict[str, Sequence[Column]] = {  # by the first part of a name
    **{experiment.stored: experiment.tables[0] for experiment in EXPERIMENTS.values()},
    "compare_others": comparison.ALL,
    "target": VALUES,
}
Arrange = Callable[[Sequence[Row]], Sequence[Row]]
OTHER_TABLES: dict[str, tuple[Sequence[Column], Arrange]] = {  # by the whole name; and what is done to all the rows
    "summary": (comparison.SUMMARY, comparison.summary),
    "compare.brief": (comparison.BRIEF, comparison.side_by_side),
    "compare.costs": (comparison.COSTS, list),
}
PICTURES = {  # file -> file of rows, and what draws it
    name: (f"{experiment.stored}.json", draw)
    for experiment in EXPERIMENTS.values()
    for name, draw in experiment.pictures.items()
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--readme", type=Path, nargs="+", default=PAGES, help="pages with markers")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of stored rows")


def run(args: argparse.Namespace) -> int:
    """Bring all tables and pictures up to date. ValueError, one line, for markers or files that do not fit."""
    for page in args.readme:
        print(f"{page}: {update(page, args.results)} tables")
    for name, content in drawn(args.results).items():
        write_text(args.results / name, content)
    return 0


def update(page: Path, results: Path) -> int:
    """Write all tables of a page, all or none, and return how many. ValueError when markers do not pair up, or a
    table has no rows that fit."""
    tables = {name: table(name, page, results) for name in find_blocks(page)}
    replace_blocks(page, tables)
    return len(tables)


def stale(page: Path, results: Path = RESULTS) -> list[str]:
    """Names of the tables that differ from what is stored now. ValueError for one with nothing stored."""
    return [name for name, block in find_blocks(page).items() if block != table(name, page, results)]


def table(name: str, page: Path, results: Path) -> str:
    """What a page has between the markers of a name: a table, and under it the command that measured it."""
    first, _, part = name.partition(".")
    columns, arrange = OTHER_TABLES.get(name) or (FIRST_TABLES.get(first), list)
    require(columns is not None, "name of a table", name, f"one of {', '.join([*FIRST_TABLES, *OTHER_TABLES])}")
    source = {"target": CARD, "summary": results / "compare.json"}.get(first, results / f"{first}.json")
    rows = stored_rows(source)
    whole = not part or name in OTHER_TABLES
    kept = [row for row in rows if whole or part in (row.get("figure"), row.get("domain"))]
    require(bool(kept), f"rows for the table {name}", 0, "at least 1")
    try:
        shown = arrange(kept)
        text = claim_text(first, shown, page, results) if first in CLAIMS else markdown_table(columns, shown)
        return f"{text}\n\n{origin(shown[0])}\n"
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration) as error:
        raise ValueError(f"rows for the table {name} are not complete: {error!r}") from error


def claim_text(stored: str, rows: Sequence[Row], page: Path, results: Path) -> str:
    """An experiment about a claim: the claim, what came of it, the picture, and the numbers for who wants them."""
    experiment = CLAIMS[stored]
    numbers = markdown_table(experiment.tables[0], [row for row in rows if "drawn" not in row])
    trees = [f"```text\n{row['drawn']}\n```" for row in rows if "drawn" in row]
    file = Path(os.path.relpath(results, page.parent), f"{stored}.svg").as_posix()
    picture = f'<picture><img alt="study {experiment.name}" src="{file}"></picture>'
    folded = ["<details><summary>the numbers</summary>", numbers, *trees, "</details>"]
    return "\n\n".join([f"*{experiment.claim}*", f"**Here:** {experiment.verdict(rows)}.", picture, *folded])


def stored_rows(path: Path) -> list[Row]:
    """Rows from a file of them; from the card of a target the rows about its held-out text."""
    if path != CARD:
        return read_rows(path)
    card = read_card(path.parent, path.stem)
    figures = [(f"{domain}: target", bits) for domain, bits in card.get("held_out_bits_per_byte", {}).items()]
    figures += [(f"code: {rival}", bits) for rival, bits in card.get("rivals_on_held_out_code", {}).items()]
    rows = [entry(setting, bits, "bits/byte") for setting, bits in figures]
    if "held_out_sums_right" in card:
        rows.append(entry("held-out sums right", card["held_out_sums_right"], "share"))
        both = card["of_them_unseen_both_ways_right"]
        rows.append(entry("of them, those unseen the other way round too", both, "share"))
    return [{"figure": "held-out text", **row, "command": card.get("command", "")} for row in rows]


def drawn(results: Path) -> dict[str, str]:
    """The pictures of the rows that a folder has. ValueError, one line, when these are not complete."""
    stored = {name: (results / file, draw) for name, (file, draw) in PICTURES.items() if (results / file).exists()}
    try:
        return {name: draw(read_rows(path)) for name, (path, draw) in stored.items()}
    except (KeyError, TypeError) as error:
        raise ValueError(f"rows for a picture are not complete: {error!r}") from error


def stale_pictures(results: Path) -> list[str]:
    """Names of the pictures that differ from what the rows say now, or are not there."""
    return [
        name
        for name, content in drawn(results).items()
        if not (results / name).exists() or (results / name).read_text(encoding="utf-8") != content
    ]
