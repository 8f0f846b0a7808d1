"""The page about the tests says what the rows beside it say."""

from pathlib import Path

import tables
from properties import PROPERTIES

from eagle_min.lab.figures.blocks import find_blocks
from eagle_min.lab.record import write_rows

ORIGIN = {"command": "python x.py", "commit": "c" * 40, "machine": "a|b, 2 cores", "date": "2026-01-02T03:04"}


def store(folder: Path, seconds: float) -> None:
    """A row in each file, the bank's with a time to refute."""
    fault = {"code": "A1", "name": "a fault", "kind": "chain", "origin": "x", **dict.fromkeys(PROPERTIES, True)}
    fault |= {"first token": False, "above bound": None, "total_variation": 0.25, "num_samples": None, "seconds": 0.5}
    control = {"certified": "right", "kind": "tree", "status": "exact", "compared": "==", "num_branches": 7}
    counts = {"mutants": 4, "killed": 3, "equivalent": 1, "survived": 0, "error": 0, "score": 1.0}
    write_rows(folder / "bank.json", [{**fault, "seconds_to_refute": seconds, **ORIGIN}])
    write_rows(folder / "controls.json", [{**control, "drawn_worlds": 40, **ORIGIN}])
    write_rows(folder / "score.json", [{"mutants_of": "all", **counts, **ORIGIN}])


def test_the_page_of_this_repository_equals_its_stored_rows() -> None:
    assert tables.stale() == []


def test_every_file_of_rows_is_shown_on_the_page_beside_it() -> None:
    shown = {name.partition(".")[0] for name in find_blocks(tables.PAGE)}
    assert shown == {path.stem for path in tables.FOLDER.glob("*.json")}


def test_the_script_changes_the_tables_that_rows_have_changed_and_nothing_else(tmp_path: Path, capsys) -> None:
    page = tmp_path / "results.md"
    markers = [f"<!-- results:begin {name} -->\n<!-- results:end {name} -->\n" for name in tables.TABLES]
    page.write_text("before\n" + "between\n".join(markers) + "after\n")
    store(tmp_path, 1.25)
    assert tables.stale(page, tmp_path) == list(tables.TABLES)
    assert tables.main(page, tmp_path) == 0 and capsys.readouterr().out == f"{page}: 4 tables\n"
    assert tables.stale(page, tmp_path) == []
    lines = page.read_text().splitlines()
    assert [line for line in lines if line.startswith(("| A1", "| right |", "| all"))] == [
        "| right | tree | exact | == | 40 | 7 |",
        "| A1 | a fault | chain | - | yes | yes | yes | yes |  | yes | x |",
        "| A1 | a fault | 0.25000 | never | 0.500 | 1.2 |",
        "| all | 4 | 3 | 1 | 0 | 0 | 1.000 |",
    ]
    assert lines.count("`python x.py`, commit cccccccccccc, a|b, 2 cores, 2026-01-02T03:04") == 4
    assert (lines[0], lines.count("between"), lines[-1]) == ("before", 3, "after")
    store(tmp_path, 1.5)
    assert tables.stale(page, tmp_path) == ["bank.power"]


def test_a_table_that_page_or_rows_do_not_know_is_stale(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text("<!-- results:begin beauty -->\n<!-- results:end beauty -->\n")
    store(tmp_path, 1.25)
    assert tables.stale(page, tmp_path) == ["beauty", *tables.TABLES]
