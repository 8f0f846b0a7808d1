"""Stored rows, and the tables and pictures that are made of them: this repository's, and small ones."""

import json
import math
from pathlib import Path

import pytest

import eagle_min
from eagle_min.__main__ import main
from eagle_min.checkpoint import save_model
from eagle_min.config import ModelConfig
from eagle_min.lab import record, results
from eagle_min.lab.figures import comparison, tables
from eagle_min.lab.figures.blocks import find_blocks
from eagle_min.model import GPT
from eagle_min.train.batches import versions
from eagle_min.train.corpus import load_held_out

ORIGIN = {"command": "python -m eagle_min x", "commit": "c" * 40, "machine": "a|b, 2 cores", "date": "2026-01-02T03:04"}


def markers(name: str) -> str:
    return f"<!-- results:begin {name} -->\n<!-- results:end {name} -->\n"


def bench_rows(value: float) -> list[dict]:
    return [{"figure": name, "setting": "s", "value": value, "unit": "ms", **ORIGIN} for name in ("step", "calls")]


def useless_rows(ratio: float) -> list[dict]:
    return [{"study": "useless", "setting": "T=0: seconds", "ratio": ratio, **ORIGIN}]


def test_pages_and_pictures_say_what_is_stored_and_only_tables_change(tmp_path: Path) -> None:
    page, folder = tmp_path / "README.md", tmp_path / "results"
    before = "# Top\n<!-- results:begin bench.step -->\nold\n<!-- results:end bench.step -->\nmiddle\n"
    page.write_text(before + "".join(map(markers, ("bench", "study_useless"))) + "end\n")
    record.write_rows(folder / "bench.json", bench_rows(1.5))
    record.write_rows(folder / "study_useless.json", useless_rows(1.5))
    assert results.stale(page, folder) == ["bench.step", "bench", "study_useless"]
    assert main(["lab", "results", "--readme", str(page), "--results", str(folder)]) == 0
    assert results.stale(page, folder) == []
    text = page.read_text()
    assert [text.count(word) for word in ("\nold\n", "| step | s | 1.500 | ms |", "| calls |")] == [0, 2, 1]
    assert text.startswith("# Top\n<!-- results:begin bench.step -->\n| figure |") and text.endswith("-->\nend\n")
    assert "**Here:** does not hold here: T=0: seconds 1.50." in text and 'src="results/study_useless.svg"' in text
    assert [path.name for path in folder.glob("*.svg")] == ["study_useless.svg"]
    assert results.stale_pictures(folder) == []
    record.write_rows(folder / "bench.json", bench_rows(1.6))
    record.write_rows(folder / "study_useless.json", useless_rows(1.6))
    assert results.stale(page, folder) == ["bench.step", "bench", "study_useless"]
    assert results.stale_pictures(folder) == ["study_useless.svg"]


def test_the_summary_has_plain_decoding_first_and_both_temperatures_of_seven_methods(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(markers("summary"))
    rows = [
        {"drafter": name, "domain": domain, "temperature": t, "tau": place + t + 2, "ratio": place - t + 9, **ORIGIN}
        for domain in ("prose", "code")
        for t in (0.0, 1.0)
        for place, name in enumerate([*comparison.METHODS.values(), "chain"], 10 * (domain == "prose"))
    ]
    record.write_rows(tmp_path / "compare.json", rows)
    results.update(page, tmp_path)
    cells = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")][2:]
    assert cells[0] == ["plain decoding", "none", "1.00", "1.00", "1.00", "1.00"]
    wanted = {method: (name, place) for place, (method, name) in enumerate(comparison.METHODS.items())}
    assert [cell[0] for cell in cells[1:]] == list(wanted)[::-1]  # the largest tau first
    for method, *figures in cells[1:]:
        name, place = wanted[method]
        assert figures == [name, *(f"{value:.2f}" for value in (place + 2, place + 9, place + 3, place + 8))]


def test_a_table_can_come_from_the_card_of_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = {"held_out_bits_per_byte": {"code": 1.1}, "rivals_on_held_out_code": {"lzma": 1.5}}
    save_model(GPT(ModelConfig(5, 4, 1, 1, 4, 8)), tmp_path, "target", {**card, "command": "python -m eagle_min y"})
    monkeypatch.setattr(results, "CARD", tmp_path / "target.json")
    page = tmp_path / "README.md"
    page.write_text(markers("target"))
    assert results.stale(page, tmp_path) == ["target"]
    results.update(page, tmp_path)
    assert results.stale(page, tmp_path) == []
    cells = [line.split(" | ")[1:3] for line in page.read_text().splitlines() if line.startswith("| held-out")]
    assert cells == [["code: target", "1.100"], ["code: lzma", "1.500"]]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- results:begin bench -->\n", "markers in the README must be begin NAME, end NAME"),
        ("<!-- results:begin bench -->\n<!-- results:end other -->\n", "markers in the README must be begin NAME"),
        ("no marker\n", "markers in README.md must be one pair at least, got []"),
        ("<!-- results:begin beauty -->\n<!-- results:end beauty -->\n", "name of a table must be one of compare, "),
        ("<!-- results:begin bench.x -->\n<!-- results:end bench.x -->\n", "rows for the table bench.x must be at"),
    ],
)
def test_a_readme_that_does_not_fit_is_left_alone(tmp_path: Path, page: str, message: str) -> None:
    path = tmp_path / "README.md"
    path.write_text(page)
    record.write_rows(tmp_path / "bench.json", bench_rows(1.0))
    with pytest.raises(ValueError) as caught:
        results.update(path, tmp_path)
    assert message in str(caught.value) and path.read_text() == page


@pytest.mark.parametrize("content", ["", "{}", "[]", "[1]", "nonsense"])
def test_a_file_that_holds_no_rows_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(content)
    with pytest.raises(ValueError) as caught:
        record.read_rows(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="results must be a readable file"):
        record.read_rows(tmp_path / "missing.json")


def test_rows_are_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    record.write_rows(path, [{"value": 1.0}])
    with pytest.raises(ValueError):
        record.write_rows(path, [{"value": math.nan}])
    assert record.read_rows(path) == [{"value": 1.0}] and list(tmp_path.iterdir()) == [path]


def test_the_tables_pad_columns_and_escape_bars() -> None:
    columns = [("a", lambda row: row["a"]), ("number", tables.number("n", 1))]
    rows = [{"a": "x|y", "n": 1.25}, {"a": "z", "n": None}]
    assert tables.text_table(columns, rows) == "a    number\nx|y  1.2\nz"
    assert tables.markdown_table(columns, rows) == "| a | number |\n| --- | --- |\n| x\\|y | 1.2 |\n| z |  |"


@pytest.mark.parametrize("page", results.PAGES, ids=lambda page: page.parent.name)
def test_the_pages_of_this_repository_equal_its_stored_results(page: Path) -> None:
    assert results.stale(page) == []


def test_every_file_of_rows_is_shown_on_the_page_beside_it() -> None:
    shown = {name.partition(".")[0] for name in find_blocks(results.RESULTS / "README.md")}
    stored = {path.stem for path in results.RESULTS.glob("*.json")}
    assert shown == stored | {"target"}


@pytest.mark.ci
def test_the_held_out_text_is_the_one_the_target_was_measured_on() -> None:
    card = json.loads((eagle_min.load("tiny").folder / "target.json").read_text())
    if card.get("versions") is None:
        pytest.skip("the card of the target names no versions")
    if card["versions"] != versions():
        pytest.skip("other versions of Python or the packages than the target was trained with")
    assert load_held_out().fingerprint() == card["corpus_sha256"]
