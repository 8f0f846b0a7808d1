"""The mutation score: mutants are what the operators say, ids last, a missing test shows, and a sample is killed."""

import json
import random
import re
import sys

import pytest
import score
from equivalent import EQUIVALENT
from house import CORE
from mutants import mutants_of

SEED = 7  # of the samples
QUICK = ("dice", "sampling", "tree", "exactness.law")  # modules whose tests take about a second


def changes(text: str) -> set[tuple[str, str, str]]:
    """(operator, old, new) of the mutants of a text."""
    return {(mutant.operator, mutant.old, mutant.new) for mutant in mutants_of("eagle_min.example", text)}


def inside(text: str) -> str:
    """A statement in a function, where it may be deleted."""
    return f"def f(a, b, x):\n    {text}\n"


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("y = a < b", {("comparison", "<", "<=")}),
        ("y = a <= b == x", {("comparison", "<=", "<"), ("comparison", "==", "!=")}),
        ("y = (a) not in (b)", {("comparison", "not in", "in")}),
        ("y = a is b", {("comparison", "is", "is not")}),
        ("y = (a + b) * x", {("arithmetic", "+", "-"), ("arithmetic", "*", "/")}),
        ("y = a << b | x", {("arithmetic", "<<", ">>"), ("arithmetic", "|", "&")}),
        ("y = -a", {("arithmetic", "-", "+")}),
        ("y = 0, 1, 7, 0.5", {("constant", *pair) for pair in [("0", "1"), ("1", "0"), ("7", "8"), ("0.5", "1.5")]}),
        ("y = a and not b", {("boolean", "and", "or"), ("boolean", "not b", "b")}),
        ("y = True", {("boolean", "True", "False")}),
        ("y = a if b else x", {("boolean", "b", "not (b)")}),
        ("y = a[b:]", {("slice", "b:", ":"), ("slice", "b:", "b + 1:")}),
        ("y = a[:-1]", {("slice", ":-1", ":"), ("slice", ":-1", ":-2")}),
        ("y = a[::b]", {("slice", "::b", ":")}),
        ("f(a)", {("statement", "f(a)", "pass")}),
    ],
)
def test_each_operator_changes_one_thing(text, wanted):
    assert changes(inside(text)) == wanted


def test_statements_that_can_be_deleted():
    text = "a += [b]; raise ValueError(f'{a + 1} < 2')\n    y = a\n    y = b\n    x.y = a\n    return a"
    deleted = {old for operator, old, _ in changes(inside(text)) if operator == "statement"}
    assert deleted == {"a += [b]", "raise ValueError(f'{a + 1} < 2')", "y = b", "x.y = a", "return a"}


@pytest.mark.parametrize(
    "text",
    [
        'def f():\n    """1 < 2"""\n',
        "import a\nfrom b import c\n",
        "__all__ = [0][1:]\n",
        "Kind = int | None\n",
        "def f(a: list[0] = None) -> int | None: ...\n",
        "class A:\n    b: tuple[1, 2]\n",
        "class A(Protocol):\n    def f(self, a=0): ...\n",
        "require(a, 1, -b, f'{c + 1}')\n",
        "y = f'{a + 1}'\n",
    ],
)
def test_what_is_no_code_is_left_alone(text):
    assert changes(text) == set()


def test_a_mutant_is_the_text_with_one_place_changed():
    text = 'x = "●" if a < b else 1 - 2  # a <= b\n'
    wanted = {text.replace(*pair, 1) for pair in [("a < b", "a <= b"), ("1 -", "0 -"), ("1 -", "1 +"), ("2", "3")]}
    assert {mutant.text for mutant in mutants_of("eagle_min.example", text)} == wanted


def test_every_mutant_of_the_core_is_another_program_with_an_id_of_its_own():
    mutants = score.all_mutants()
    assert {mutant.module for mutant in mutants} == {f"eagle_min.{module}" for module in score.TESTS}
    assert {mutant.operator for mutant in mutants} == set(score.OPERATORS)
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        compile(mutant.text, mutant.name, "exec", dont_inherit=True)
        assert mutant.text != mutant.path.read_text(encoding="utf-8")
        assert mutant.text.splitlines()[mutant.line_number - 1].strip() or mutant.new == ""


@pytest.mark.parametrize("module", score.TESTS)
def test_ids_do_not_change_with_lines_above_or_with_comments(module):
    mutants = score.all_mutants([module])
    text = mutants[0].path.read_text(encoding="utf-8")
    edited = text.replace("\n\n\n", "\n\n\nNEW = None  # 1 < 2\n\n\n", 1).replace(":\n", ":  # 3\n")
    edited = edited.replace('"""  # 3', '"""')
    again = mutants_of(mutants[0].module, edited)
    assert [mutant.name for mutant in again] == [mutant.name for mutant in mutants]
    assert again[-1].line_number == mutants[-1].line_number + 3


def test_every_listed_equivalent_is_a_mutant_and_has_an_argument():
    assert score.mistakes([]) == []
    assert all(len(argument) > 30 for argument in EQUIVALENT.values())


def row(name: str, verdict: str) -> dict:
    fields = {"operator": "constant", "module": "eagle_min.dice", "place": "eagle_min/dice.py:3"}
    return {"id": name, "verdict": verdict, "old": "1", "new": "0", "reason": "", "seconds": 1.0, **fields}


def test_the_score_leaves_out_equivalents_and_an_error_is_no_kill(monkeypatch):
    rows = [row("a", "killed"), row("b", "killed"), row("c", "survived"), row("d", "survived"), row("e", "error")]
    assert score.score(rows) == 2 / 5
    monkeypatch.setitem(EQUIVALENT, "d", "argued")
    assert score.score(rows) == 2 / 4 and score.score([]) == 1
    assert score.mistakes(rows) == ["no such mutant: d"]
    monkeypatch.setitem(EQUIVALENT, "a", "argued wrongly")
    assert score.mistakes(rows)[0] == "killed, so not equivalent: a"


@pytest.mark.parametrize("at_least, status", [("0.5", 0), ("0.51", 1)])
def test_the_exit_status_tells_whether_the_score_is_reached(monkeypatch, capsys, at_least, status):
    rows = [row("a", "killed"), row("b", "survived")]
    monkeypatch.setattr(score, "verdicts", lambda *_: iter(rows))
    monkeypatch.setattr(sys, "argv", ["score.py", "--at-least", at_least])
    assert score.main() == status
    printed = capsys.readouterr().out
    assert "eagle_min/dice.py:3: 1  ->  0" in printed and "score 0.500" in printed


def test_counts_are_by_operator_by_module_and_of_all(tmp_path, monkeypatch):
    rows = [row("a", "killed"), row("b", "survived") | {"operator": "slice"}, row("c", "error")]
    rows[1]["module"] = "eagle_min.tree"
    monkeypatch.setattr(sys, "argv", ["score.py", "--module", "dice"])
    score.Store(None).write_counts(tmp_path / "counts.json", [{**each, "date": "today"} for each in rows])
    stored = json.loads((tmp_path / "counts.json").read_text())
    assert {(each["mutants_of"], each["mutants"], each["score"]) for each in stored} == {
        *(("constant", 2, 0.5), ("slice", 1, 0.0), ("dice.py", 2, 0.5), ("tree.py", 1, 0.0), ("all", 3, 1 / 3))
    }
    assert {each["command"] for each in stored} == {"python tests/faults/score.py --module dice"}


@pytest.mark.parametrize(
    "words, message",
    [
        (["no such mutant"], r"selection must be one that some mutant fits, got \['no such mutant', None\]"),
        (["no such mutant", "--counts", "c.json"], "selection must be one .*"),
        (["--sample", "0"], r"selection must be one .*"),
        (["--sample", "-1"], ".*negative.*"),
        *(
            ([*words, "--counts", "c.json"], "--counts must be without a selection: counts are of all, got 'c.json'")
            for words in (["dice"], ["--module", "dice"], ["--sample", "3"])
        ),
        (["--counts", "score.py/counts.json"], "--counts must be a file in a folder .*, got 'score.py/counts.json'"),
        (["--json", "score.py/rows.json"], "--json must be a file in a folder .*, got 'score.py/rows.json'"),
    ],
)
def test_a_bad_option_is_one_line_before_anything_runs(words, message, monkeypatch, capsys):
    monkeypatch.chdir(score.ROOT / "tests" / "faults")
    monkeypatch.setattr(score, "verdicts", None)
    monkeypatch.setattr(sys, "argv", ["score.py", *words])
    assert score.main() == 2
    assert re.fullmatch(f"error: {message}\n", capsys.readouterr().err)


def test_a_verdict_is_about_the_whole_core_too(tmp_path, monkeypatch):
    core = {score.ROOT / "eagle_min" / f"{name}.py" for name in (*CORE, "exactness/law")}
    assert core <= set(score.core_files())
    file = tmp_path / "core.py"
    monkeypatch.setattr(score, "core_files", lambda: [file])
    found = set()
    for text in ("a = 1", "a = 2"):
        file.write_text(text)
        found |= {score.sources_sha256(module) for module in score.TESTS}
    assert len(found) == 2 * len(score.TESTS)


@pytest.mark.ci
def test_without_its_test_a_mutant_survives_and_the_score_falls():
    test = "tests/same_law/test_dice.py::test_"
    ends, seeds = test + "the_ends_of_the_unit_interval_stay_inside_the_support", test + "seeds_outside_64_bits"
    text = score.all_mutants(["dice"])[0].path.read_text(encoding="utf-8")
    found = []
    for killers in ((seeds + "_are_refused", ends), (seeds + "_are_refused",)):
        mutants = [mutant for mutant in mutants_of("eagle_min.dice", text, killers) if mutant.new == "<="]
        coin, seed = (next(m for m in mutants if part in m.line) for part in ("_uniform(name) <", "seed <"))
        rows = [row(result.fault.name, result.verdict) for result in score.run([coin, seed])]
        found.append(score.score(rows))
    assert found == [1.0, 0.5]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    path, mutants = tmp_path / "rows.json", score.all_mutants(["dice"])[:2]
    first = list(score.verdicts(mutants, score.Store(path), 2))
    assert {stored["verdict"] for stored in first} == {"killed"} and first[0]["command"] and first[0]["commit"]
    with monkeypatch.context() as patch:
        patch.setattr(score, "run", None)  # nothing is run again
        assert sorted(map(str, score.verdicts(mutants, score.Store(path), 2))) == sorted(map(str, first))
    monkeypatch.setattr(score, "sources_sha256", lambda module: "other sources")
    assert score.Store(path).rows == {}


def check_sample(modules, number: int) -> None:
    """Every mutant of the sample is killed, or argued equivalent."""
    mutants = random.Random(SEED).sample(score.all_mutants(modules), number)
    rows = list(score.verdicts(mutants, score.Store(None), num_workers=2))
    assert len(rows) == number
    assert {score.outcome(stored) for stored in rows} <= {"killed", "equivalent"}, "\n".join(score.report(rows))
    assert score.mistakes(rows) == []


@pytest.mark.ci  # two mutants are killed every day, by the test of an interrupted run
@pytest.mark.parametrize("number", [8, 30])
def test_a_sample_of_mutants_is_noticed(number):
    check_sample(QUICK, number)


@pytest.mark.thorough
def test_a_sample_of_mutants_of_all_modules_is_noticed():
    check_sample(score.TESTS, 60)
