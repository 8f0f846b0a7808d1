"""How large things may grow: files, functions, lines, the core, each ring, a folder."""

import ast
from pathlib import Path

import pytest
from house import FILES, PACKAGE, ROOT, TESTS, core_files, folders, name_of, num_lines, parsed

# lines a ring may have, blank ones not counted, its pages and pictures included; a ring costs its reader too
BUDGETS = {"train": 2000, "drafters": 1200, "exactness": 4300, "lab": 2500, "show": 900, "interop": 900, "course": 1200}
IN_A_FOLDER = 16  # files that a reader can still hold in mind


def num_filled_lines(path: Path) -> int:
    """Of a file, those that are not blank: there is no prize for crowding."""
    return sum(bool(line.strip()) for line in path.read_text(encoding="utf-8").splitlines())


def test_sizes_of_files():
    assert {name_of(path): num_lines(path) for path in FILES if num_lines(path) > 250} == {}
    assert {name_of(path): num_lines(path) for path in TESTS if num_lines(path) > 400} == {}


def test_size_of_the_core():
    assert len(core_files()) <= 14
    assert sum(map(num_filled_lines, core_files())) <= 1900


@pytest.mark.parametrize("ring", [path.name for path in folders("eagle_min") if path.parent == PACKAGE])
def test_each_ring_keeps_its_budget(ring):
    files = [path for path in (PACKAGE / ring).rglob("*") if path.is_file()]
    written = [path for path in files if path.suffix not in (".pyc", ".md")]
    assert sum(map(num_filled_lines, written)) <= BUDGETS[ring]


@pytest.mark.parametrize("folder", [*folders("eagle_min"), *folders("tests"), ROOT / "tutorials"], ids=name_of)
def test_a_folder_holds_at_most_sixteen_files(folder):
    """The core's is the exception: its order is the lesson's order."""
    if folder != PACKAGE:
        assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= IN_A_FOLDER


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(parsed(path)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


@pytest.mark.parametrize("path", FILES + TESTS, ids=name_of)
def test_functions_are_at_most_forty_lines(path):
    lengths = {node.name: node.end_lineno - node.lineno + 1 for node in functions(path)}
    assert {name: length for name, length in lengths.items() if length > 40} == {}


def test_lines_are_at_most_120_wide():
    wide = [
        f"{name_of(path)}:{number}"
        for path in FILES + TESTS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert wide == []
