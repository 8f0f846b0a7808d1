"""The tutorials keep their form, and run.

Form (fast): percent cells that open as a notebook, prose and code in turn, assertions in the last
code cell, two exercises to break things at the very end. Content (marked `ci`): each script runs
to its last assertion, from a directory that is not the repository.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "tutorials").glob("[0-9]*.py"))
MAY_IMPORT = {"eagle_min", "numpy", "torch", *sys.stdlib_module_names}

every_tutorial = pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)


def cells(path: Path) -> list[tuple[str, list[str]]]:
    """(kind, lines) of each percent cell; kind is `code` or `markdown`."""
    result: list[tuple[str, list[str]]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# %%"):
            assert line in ("# %%", "# %% [markdown]"), f"{path.name}: unknown kind of cell {line!r}"
            result.append(("markdown" if "[markdown]" in line else "code", []))
        else:
            assert result, f"{path.name} has text before its first cell"
            result[-1][1].append(line)
    return result


def test_there_are_four_lessons_numbered_in_order():
    numbers = [path.name[:2] for path in TUTORIALS]
    assert numbers == [f"{i + 1:02d}" for i in range(len(TUTORIALS))] and len(TUTORIALS) >= 4


@every_tutorial
def test_a_tutorial_is_made_of_prose_and_code_cells(path):
    kinds = [kind for kind, _ in cells(path)]
    assert kinds[0] == "markdown" == kinds[-1]
    assert kinds.count("markdown") >= 5 and kinds.count("code") >= 5
    title = cells(path)[0][1][0]
    assert title.startswith(f"# # {int(path.name[:2])}. "), title
    for kind, lines in cells(path):
        body = [line for line in lines if line]
        assert body, f"{path.name} has an empty cell"
        if kind == "markdown":
            assert all(line.startswith("#") for line in body), f"{path.name}: code in a markdown cell: {body}"


@every_tutorial
def test_every_code_cell_parses_on_its_own(path):
    for kind, lines in cells(path):
        if kind == "code":
            ast.parse("\n".join(lines), filename=str(path))
    compile(path.read_text(encoding="utf-8"), str(path), "exec")


@every_tutorial
def test_a_tutorial_ends_with_assertions_and_two_exercises(path):
    code = [lines for kind, lines in cells(path) if kind == "code"]
    asserted = [node for node in ast.walk(ast.parse("\n".join(code[-1]))) if isinstance(node, ast.Assert)]
    assert len(asserted) >= 4, f"{path.name}: {len(asserted)} assertions in the last code cell"
    closing = cells(path)[-1][1]
    numbered = [line[2:4] for line in closing if line[2:3].isdigit()]
    assert closing[0] == "# ## Break it" and numbered == ["1.", "2."], closing


@every_tutorial
def test_a_tutorial_stays_short_and_needs_no_further_package(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert max(map(len, lines)) <= 120
    tree = ast.parse("\n".join(lines))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} <= MAY_IMPORT
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert all(node.end_lineno - node.lineno < 40 for node in functions)


@pytest.mark.ci
@every_tutorial
def test_a_tutorial_runs_to_its_last_assertion_from_any_directory(path, tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "all assertions hold"
    assert not list(tmp_path.iterdir()), "a tutorial leaves nothing behind"
