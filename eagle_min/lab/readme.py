"""`python -m eagle_min readme`: the README's tables, from the stored rows and nothing else.

A table stands between two markers, and whatever is there is replaced:

    <!-- results:begin compare.code -->
    <!-- results:end compare.code -->

The first part of a name is a file of rows, `compare.json`, or `target`, the card of the shipped
target, or one of BESIDE_TESTS, rows about the tests; a second part, if any, keeps the rows of that domain
or figure. A test asks `stale` whether README and JSON still agree.
Read next: nothing; this is the last of the measuring.
"""

import argparse
import re
from pathlib import Path

from ..checkpoint import read_card
from ..config import require
from ..drafters.model_set import SHIPPED
from ..files import write_atomically
from . import bank, bench, choose, compare, pictures, rules, typical
from .record import Column, Row, interval, markdown_table, number, read_rows
from .study import STUDIES

RESULTS = SHIPPED / "results"
CARD = SHIPPED / "tiny" / "target.json"
BESIDE_TESTS = ("bank", "controls", "score")  # stored in tests/, by a script there of the same name
COLUMNS_WITH = {  # by a field that the rows have; the first that fits
    "chosen": choose.COLUMNS,
    "bonus": typical.COLUMNS,
    "drafter": compare.COLUMNS,
    "rule": rules.COLUMNS,
    "code": bank.NOTICED,
    "certified": bank.CERTIFIED,
    "mutants_of": bank.SCORED,
    "figure": bench.COLUMNS,
}
PUBLISHED = {  # tau and times faster: Vicuna-13B on HumanEval, temperature 0; table 1 of 2406.16858 and of 2503.01840
    "eagle3": (7.54, 6.47),
    "eagle2@eagle-paper": (5.41, 4.96),
    "eagle1@eagle-paper": (4.39, 3.58),
    "medusa": (2.78, 2.50),
    "small-chain": (2.57, 2.23),
    "lookup": (1.93, 1.85),
    "lookahead": (1.75, 1.71),
}
BRIEF: list[Column] = [  # of rows of `compare` in which temperature 1 stands beside temperature 0
    ("drafter", lambda row: row["drafter"]),
    ("tau, T=0 (95 %)", interval("tau", "tau_low", "tau_high")),
    ("times faster", number("ratio")),
    ("same text", lambda row: f"{row['num_identical']}/{row['num_prompts']}"),
    ("tau, T=1 (95 %)", lambda row: interval("tau", "tau_low", "tau_high")(row["hot"])),
    ("times faster, T=1", lambda row: number("ratio")(row["hot"])),
    ("million parameters", number("parameters", 2, 1e-6)),
    ("published tau and times faster, Vicuna-13B", lambda row: published(row["drafter"])),
]
SECOND_TABLES = {"bank.power": bank.POWER, "compare.brief": BRIEF, "compare.costs": compare.COSTS}  # of all the rows
MARKER = re.compile(r"<!-- results:(begin|end) ([\w.-]+) -->")
BLOCK = re.compile(r"(<!-- results:begin ([\w.-]+) -->\n)(.*?)(<!-- results:end \2 -->)", re.DOTALL)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--readme", type=Path, default=SHIPPED.parent / "README.md")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of stored rows")


def run(args: argparse.Namespace) -> int:
    """Bring all tables and pictures up to date. ValueError, one line, for markers or files that do not fit."""
    blocks = find_blocks(args.readme)
    stems = sorted({name.partition(".")[0] for name in blocks})
    update(args.readme, *(source_of(stem, args.results) for stem in stems))
    pictures.update(args.results)
    print(f"{args.readme}: {len(blocks)} tables")
    return 0


def source_of(name: str, results: Path) -> Path:
    """The file that a marker's table comes from."""
    stem = name.partition(".")[0]
    if stem in BESIDE_TESTS:
        return SHIPPED.parent / "tests" / f"{stem}.json"
    return CARD if stem == "target" else results / f"{stem}.json"


def update(readme_path: Path, *json_paths: Path) -> None:
    """Write the tables whose names begin with the name of a JSON file into the README, all or none.

    ValueError when a file has no marker, a marker lacks its partner, or no row fits.
    """
    blocks, tables = find_blocks(readme_path), {}
    for path in json_paths:
        names = [name for name in blocks if name.partition(".")[0] == path.stem]
        require(bool(names), f"markers in {readme_path.name}", sorted(blocks), f"some for {path.stem}")
        rows = stored_rows(path)
        tables |= {name: render(name, rows) for name in names}
    text = readme_path.read_text(encoding="utf-8")
    text = BLOCK.sub(lambda found: found[1] + tables.get(found[2], found[3]) + found[4], text)
    write_atomically(readme_path, lambda file: file.write(text.encode()))


def find_blocks(readme_path: Path) -> dict[str, str]:
    """What stands between the markers of each name. ValueError unless the markers pair up."""
    require(readme_path.is_file(), "README", str(readme_path), "an existing file")
    text = readme_path.read_text(encoding="utf-8")
    blocks = {found[2]: found[3] for found in BLOCK.finditer(text)}
    wanted = [(kind, name) for name in blocks for kind in ("begin", "end")]
    markers = MARKER.findall(text)
    require(markers == wanted, "markers in the README", markers, "begin NAME, end NAME, each name once")
    return blocks


def stored_rows(json_path: Path) -> list[Row]:
    """Rows from a file of them; from the card of a target the rows about its held-out text."""
    if json_path.stem != "target":
        return read_rows(json_path)
    card = read_card(json_path.parent, json_path.stem)
    figures = [(f"{domain}: target", bits) for domain, bits in card.get("held_out_bits_per_byte", {}).items()]
    figures += [(f"code: {rival}", bits) for rival, bits in card.get("rivals_on_held_out_code", {}).items()]
    rows = [bench.entry(setting, bits, "bits/byte") for setting, bits in figures]
    if "held_out_sums_right" in card:
        rows.append(bench.entry("held-out sums right", card["held_out_sums_right"], "share"))
        both = card["of_them_unseen_both_ways_right"]
        rows.append(bench.entry("of them, those unseen the other way round too", both, "share"))
    return [{"figure": "held-out text", **row, "command": card.get("command", "")} for row in rows]


def render(name: str, rows: list[Row]) -> str:
    """The table of a marker's name, and under it the command that measured it."""
    _, _, part = name.partition(".")
    whole = not part or name in SECOND_TABLES
    kept = [row for row in rows if whole or part in (row.get("figure"), row.get("domain"))]
    require(bool(kept), f"rows for the table {name}", 0, "at least 1")
    try:
        kept = side_by_side(kept) if name == "compare.brief" else kept
        text = study_text(kept) if "study" in kept[0] else markdown_table(columns_of(name, kept[0]), kept)
        return f"{text}\n\n{origin(kept[0])}\n"
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration) as error:
        raise ValueError(f"rows for the table {name} are not complete: {error!r}") from error


def columns_of(name: str, row: Row) -> list[Column]:
    """What a table of this name and of such rows shows."""
    return SECOND_TABLES.get(name) or next(columns for key, columns in COLUMNS_WITH.items() if key in row)


def side_by_side(rows: list[Row]) -> list[Row]:
    """The rows of temperature 0, best first, each with what the same drafter does at temperature 1 as `hot`."""
    hot = {row["drafter"]: row for row in rows if row["temperature"] == 1}
    cold = [{**row, "hot": hot[row["drafter"]]} for row in rows if row["temperature"] == 0]
    return sorted(cold, key=lambda row: -row["tau"])


def published(drafter: str) -> str:
    """What the papers say of a system, tau first; empty for what they do not have."""
    figures = PUBLISHED.get(drafter)
    return "" if figures is None else f"{figures[0]:.2f}, {figures[1]:.2f}"


def study_text(rows: list[Row]) -> str:
    """A study: its claim, what came of it, the picture, and the numbers for who wants them."""
    name = rows[0]["study"]
    study = STUDIES[name]
    table = markdown_table(study.columns, [row for row in rows if "drawn" not in row])
    drawn = [f"```text\n{row['drawn']}\n```" for row in rows if "drawn" in row]
    picture = f'<picture><img alt="study {name}" src="tinymodels/results/study_{name}.svg"></picture>'
    numbers = ["<details><summary>the numbers</summary>", table, *drawn, "</details>"]
    return "\n\n".join([f"*{study.claim}*", f"**Here:** {study.verdict(rows)}.", picture, *numbers])


def origin(row: Row) -> str:
    """One line: command, and of commit, machine and day what the row knows."""
    known = [f"commit {row['commit'][:12]}"] if "commit" in row else []
    known += [row[key] for key in ("machine", "date") if key in row]
    return ", ".join([f"`{row['command']}`", *known])


def stale(readme_path: Path, results: Path = RESULTS) -> list[str]:
    """Names of the tables that differ from what is stored now, or have nothing stored."""
    return [name for name, block in find_blocks(readme_path).items() if block != current(name, results)]


def current(name: str, results: Path) -> str | None:
    """The table of a name as it should be; None when nothing that fits is stored."""
    try:
        return render(name, stored_rows(source_of(name, results)))
    except ValueError:
        return None
