"""The page of myths: every command on it exists and prints what the page shows, and every assertion has teeth."""

import ast
import importlib.util
import re
import subprocess
import sys
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest

from eagle_min.grow import ratio

ROOT = Path(__file__).resolve().parents[2]
LESSON, PAGE = ROOT / "tutorials" / "myths.py", ROOT / "tutorials" / "myths.md"
ENTRY = re.compile(
    r"^### (?P<claim>[^\n]+)\n\n(?P<prose>.+?)\n\n"
    r"```sh\npython tutorials/myths\.py (?P<name>\S+)\n```\n```text\n(?P<figures>.+?)```$",
    re.MULTILINE | re.DOTALL,
)

PARTS = [ROOT / "tutorials" / f"myths_{part}.py" for part in ("tables", "biased", "exact", "proved", "eagle2")]

spec = importlib.util.spec_from_file_location("myths", LESSON)
myths = importlib.util.module_from_spec(spec)
spec.loader.exec_module(myths)
myths_proved = sys.modules["myths_proved"]

TEXT = PAGE.read_text(encoding="utf-8")
ENTRIES = {entry["name"]: entry for entry in ENTRY.finditer(TEXT)}
TREES = [ast.parse(path.read_text(encoding="utf-8")) for path in (LESSON, *PARTS)]


def test_the_page_and_the_lesson_have_the_same_myths_in_the_same_order():
    assert list(ENTRIES) == list(myths.MYTHS) and len(ENTRIES) >= 12
    for name, entry in ENTRIES.items():
        assert entry["claim"] == myths.MYTHS[name].__doc__


def test_nothing_on_the_page_escapes_these_tests():
    """Each heading, each command and each block of figures is part of an entry."""
    assert TEXT.count("\n### ") == TEXT.count("```sh\n") == TEXT.count("```text\n") == len(ENTRIES)
    commands = re.findall(r"^python tutorials/myths\.py (.*)$", TEXT, re.MULTILINE)
    assert commands == list(myths.MYTHS)


@pytest.mark.parametrize("name", myths.MYTHS)
def test_a_command_prints_the_figures_of_the_page(name, capsys):
    """The function asserts its figures too, and would raise."""
    assert myths.main([name]) == 0
    assert capsys.readouterr().out == ENTRIES[name]["figures"]


@pytest.mark.parametrize("name", myths.MYTHS)
def test_each_entry_is_short(name):
    prose = ENTRIES[name]["prose"]
    assert "\n\n" not in prose and 25 <= len(prose.split()) <= 90
    assert ENTRIES[name]["figures"].count("\n") <= 14


def decorated() -> list[ast.FunctionDef]:
    """The functions that settle a myth."""
    functions = [node for tree in TREES for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [node for node in functions if [ast.unparse(mark) for mark in node.decorator_list] == ["myth"]]


def test_each_myth_ends_with_an_assertion():
    assert len(decorated()) == len(myths.MYTHS)
    assert [node.name for node in decorated() if not isinstance(node.body[-1], ast.Assert)] == []


def accept_all(tree, law_at, dice, position, cycle):
    """Wrong: the first child is always taken."""
    return [0, 1], 0


FAULTS = {  # a myth, and what is put in place of a thing that it uses
    "tree-without-q": {"rejection_walk": accept_all},
    "greedy-second-best": {"next_token_law": lambda p, sampling: p},
    "one-hot-rule": {"rejection_walk": accept_all},
    "sorted-children": {"match_walk": lambda tree, law_at, dice, position: ([0, 1], 0)},
    "grandparent": {"ancestor_mask": lambda parents: np.eye(len(parents), dtype=bool)},
    "ratio-rule": {"confidence": ratio},
    "many-samples": {"mean_error": lambda wanted, num_samples: 1 / num_samples},
    "high-acceptance": {"accepted_at_node": lambda *laws, **how: Fraction(1)},
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_assertion_fails_when_what_it_asserts_is_false(name, monkeypatch):
    for thing, fault in FAULTS[name].items():
        monkeypatch.setattr(sys.modules[myths.MYTHS[name].__module__], thing, fault)
        if hasattr(sys.modules["myths_tables"], thing):  # what is shared must know it too
            monkeypatch.setattr(sys.modules["myths_tables"], thing, fault)
    with pytest.raises(AssertionError):
        myths.main([name])


def test_the_error_of_a_histogram_is_the_mean_over_all_samples():
    """Against the definition: each count of each token, times its probability."""
    law = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    for n in (1, 2, 7, 10):
        mean = Fraction(0)
        for p in law:
            mean += sum(comb(n, k) * p**k * (1 - p) ** (n - k) * abs(Fraction(k, n) - p) for k in range(n + 1)) / 2
        assert myths_proved.mean_error(np.array(law, dtype=object), n) == pytest.approx(float(mean), rel=1e-12)


def test_an_unknown_name_is_one_line(capsys):
    assert myths.main(["no-such-myth"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and re.fullmatch(r"error: NAME must be one of [^\n]+, got 'no-such-myth'\n", err)


def test_the_figures_come_from_tables_alone():
    """No module that holds a network or loads one is imported."""
    nodes = [node for tree in TREES for node in ast.walk(tree)]
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    known = {"config", "dice", "exactness", "grow", "sampling", "tree", "verify"}
    assert {module.split(".")[1] for module in imported if module.startswith("eagle_min.")} <= known
    assert not [node for node in nodes if isinstance(node, ast.Import) and "eagle_min" in ast.unparse(node)]


@pytest.mark.parametrize("path", [LESSON, *PARTS], ids=lambda path: path.stem)
def test_each_file_has_the_form_of_a_tutorial_and_is_one_sitting(path):
    parts = re.split(r"^# %%(.*)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    kinds, bodies = parts[1::2], parts[2::2]
    assert parts[0] == "" and set(kinds) == {"", " [markdown]"} and kinds[0] == " [markdown]"
    assert bodies[0].startswith("# # ") and sum(body.count("\n") + 1 for body in bodies) <= 250
    for kind, body in zip(kinds, bodies):
        if kind:
            assert all(line.startswith("#") for line in body.splitlines() if line)
        ast.parse(body)
    functions = [node for node in ast.walk(ast.parse("".join(bodies))) if isinstance(node, ast.FunctionDef)]
    assert all(node.end_lineno - node.lineno < 40 for node in functions)


def test_the_lesson_ends_with_two_exercises():
    last = LESSON.read_text(encoding="utf-8").split("# %% [markdown]\n")[-1]
    assert last.startswith("# ## Break it\n") and re.findall(r"^# (\d\.)", last, re.M) == ["1.", "2."]


@pytest.mark.ci
def test_all_of_it_runs_from_any_directory(tmp_path):
    command = [sys.executable, "-X", "utf8", str(LESSON)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "all assertions hold"
    assert not list(tmp_path.iterdir()), "a lesson leaves nothing behind"
