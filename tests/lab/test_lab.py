"""The figures against their definitions on hand-made cycles; stored rows; the README's tables."""

import argparse
import json
import math
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import networks
import numpy as np
import pytest
import torch

import eagle_min
import eagle_min.train.target
from eagle_min.checkpoint import read_card, save_model
from eagle_min.config import ModelConfig, TreeConfig
from eagle_min.drafters.model_set import SHIPPED
from eagle_min.drafters.registry import KINDS
from eagle_min.head import EagleHead
from eagle_min.lab import bank, bench, compare, measures, pictures, prefixes, readme, record, shapes, timing
from eagle_min.lab.prefixes import Prefix
from eagle_min.model import GPT
from eagle_min.train.corpus import Corpus, load_held_out

ISSUED = {  # what a row of `compare` has to tell
    *("drafter", "domain", "temperature", "tau", "tau_low", "tau_high", "tau_free", "alphas", "distinct"),
    *("seconds_plain", "seconds_speculative", "ratio", "ratio_low", "ratio_high", "bits_per_byte", "num_prefixes"),
    *("nodes", "command", "seed", "commit", "machine", "versions", "date", "corpus_sha256", "target_sha256"),
}


# ---- the commands, on a small random set of models ----


@pytest.fixture(scope="module")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random target and two random heads, and a vocabulary of bytes."""
    return networks.small_set(tmp_path_factory.mktemp("set"), ("eagle", "other"))


@pytest.fixture
def small_text(monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Two held-out documents a domain instead of the installed packages."""
    texts = {domain: [(f"{domain}/{i}", f"{domain} {i} " * 20) for i in range(2)] for domain in ("code", "prose")}
    corpus = Corpus({}, {**texts, "sums": [(f"sums/{a}", f"{a} + 9 = {a + 9}") for a in range(30)]})
    for module in (compare, bench):
        monkeypatch.setattr(module, "load_held_out", lambda: corpus)
    return corpus


def options(command, *words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args([str(word) for word in words])


def test_prefixes_are_decoded_at_the_temperature_of_their_row(small_set: Path, monkeypatch) -> None:
    seen = []
    real = measures.first_cycles
    monkeypatch.setattr(measures, "first_cycles", lambda *args: (seen.append(args[3]), real(*args))[1])
    models = eagle_min.load(str(small_set))
    cuts = [prefixes.Prefix("a", [1, 2, 3])]
    for temperature in (0.0, 0.7):
        measures.prefix_figures(models.target, models.drafter("chain"), cuts, temperature, 0)
    assert seen == [0.0, 0.7]


def test_the_useless_drafter_is_not_the_trained_one(small_set: Path, monkeypatch) -> None:
    seen = {}
    monkeypatch.setattr(bench, "in_turn", lambda target, everyone, *rest: seen.update(everyone) or {})
    models = eagle_min.load(str(small_set))
    drafter = models.drafter("eagle2")
    with pytest.raises(KeyError):  # nothing was timed
        list(bench.useless(models, drafter, argparse.Namespace(seed=0, rounds=6)))
    trained, useless = drafter.head.state_dict(), seen["useless"].head.state_dict()
    assert not any(torch.equal(trained[name], useless[name]) for name in trained if trained[name].ndim == 2)


def test_compare_stores_a_row_for_each_drafter_domain_and_temperature(
    small_set: Path, small_text: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "new folder" / "compare.json"
    monkeypatch.setattr(timing, "WARM_UP_TOKENS", 2)
    words = ("--drafters", "chain,eagle2@other", "--domains", "code,sums", "--temperatures", "0,1", "--quick")
    words += ("--prefixes", 4, "--max-new-tokens", 6)  # what is given goes before what a trial run has
    assert compare.run(options(compare, "--model", small_set, *words, "--json", path)) == 0
    rows = json.loads(path.read_text())
    places = [(row["domain"], row["temperature"], row["drafter"]) for row in rows]
    assert places == [(d, t, n) for d in ("code", "sums") for t in (0, 1) for n in ("chain", "eagle2@other")]
    for row in rows:
        assert ISSUED <= set(row)
        assert row["tau_low"] <= row["tau"] <= row["tau_high"] and row["tau"] >= 1
        assert (row["alphas"] is None) == (row["drafter"] != "chain")
        assert row["ratio"] == pytest.approx(row["seconds_plain"] / row["seconds_speculative"])
        assert row["num_prefixes"] == 4 and row["num_identical"] == row["num_prompts"] == 2
        assert row["corpus_sha256"] == small_text.fingerprint()
        weights = EagleHead(ModelConfig(**read_card(small_set, "eagle")["config"]))
        assert row["parameters"] == sum(param.numel() for param in weights.parameters())
        assert row["draft_passes"] > 0 and 0 < row["seconds_drafting"] < row["seconds_per_cycle"]
    first, second = capsys.readouterr().out.split("\n\n")
    assert len(first.splitlines()) == len(second.splitlines()) == 1 + len(rows)


def test_all_drafters_are_those_that_the_set_has_weights_for(small_set, small_text, capsys) -> None:
    words = ("--drafters", "all", "--domains", "sums", "--temperatures", "0", "--quick", "--prefixes", 2)
    assert compare.run(options(compare, "--model", small_set, *words, "--prompts", 1, "--max-new-tokens", 4)) == 0
    captured = capsys.readouterr()
    wanted = [name for name, kind in KINDS.items() if kind.weights in (None, "eagle")]
    missing = [name for name in KINDS if name not in wanted]
    assert f"left out, for want of weights: {', '.join(missing)}\n" in captured.err
    rows = captured.out.split("\n\n")[1].splitlines()[1:]
    assert [line.split()[0] for line in rows] == wanted


def test_training_tokens_count_all_that_weights_started_from(tmp_path) -> None:
    sha = save_model(GPT(ModelConfig(5, 4, 1, 1, 4, 8)), tmp_path, "target", {})
    card = {"kind": "head", "target_sha256": sha, "tokens_seen": 3, "started_from": {"tokens_seen": 20}}
    card["started_from"]["started_from"] = {"tokens_seen": 100, "started_from": None}
    save_model(EagleHead(ModelConfig(5, 4, 1, 1, 4, 8)), tmp_path, "eagle", card)
    models = SimpleNamespace(folder=tmp_path)
    assert compare.weights_figures(models, "eagle2")["training_tokens"] == 123
    assert compare.weights_figures(models, "lookup") == {"parameters": 0, "training_tokens": 0}
    assert compare.weights_figures(models, "none") == {"parameters": 0, "training_tokens": 0}


def test_shapes_trains_each_candidate_and_keeps_the_rows_in_the_card(
    small_set: Path, small_text: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    rng = np.random.default_rng(0)
    streams = {name: rng.integers(0, 257, 20_000).astype(np.uint16) for name in ("code", "prose", "sums")}
    for module in (shapes, eagle_min.train.target):
        monkeypatch.setattr(module, "training_streams", lambda *_: streams)
    monkeypatch.setattr(shapes, "load_held_out", lambda: small_text)
    monkeypatch.setattr(shapes, "SHAPES", ((16, 1, 1), (16, 2, 2)))
    monkeypatch.setattr(shapes, "TRIAL_STEPS", 1)
    monkeypatch.setattr(shapes, "ROUNDS", 1)
    folder = tmp_path / "set"
    shutil.copytree(small_set, folder)
    before = json.loads((folder / "target.json").read_text())
    words = ("--model", folder, "--folder", tmp_path, "--seconds", 1)
    assert shapes.run(options(shapes, *words)) == 0
    card = json.loads((folder / "target.json").read_text())
    rows = card.pop("shape_study")["rows"]
    assert card == before
    assert [(row["width"], row["num_layers"]) for row in rows] == [(16, 1), (16, 2)]
    assert all(row["bits_per_byte"] > 0 and row["call_ratio"] > 0 and row["tokens"] >= 8192 for row in rows)
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.ci
def test_bench_stores_every_figure_it_was_asked_for(
    small_set: Path, small_text: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)  # as if it were not installed
    monkeypatch.setattr(bench.costs, "GENERATED", 4)
    monkeypatch.setattr(timing, "WARM_UP_TOKENS", 2)
    words = ("--rounds", 1, "--prefixes", 3, "--json", tmp_path / "bench.json")
    assert bench.run(options(bench, "--model", small_set, *words)) == 0
    rows = json.loads((tmp_path / "bench.json").read_text())
    wanted = set(bench.FIGURES) - {"transformers"}
    assert {row["figure"] for row in rows} == wanted
    assert "skipped: transformers is not installed" in capsys.readouterr().err
    values = {(row["figure"], row["setting"]): row["value"] for row in rows}
    head, target = values["parameters", "head"], values["parameters", "target"]
    assert values["parameters", "head / target"] == pytest.approx(head / target)
    assert values["calls", "1 nodes / 1 node"] == 1
    whole, *parts = [row["value"] for row in rows if row["figure"] == "agreement"]
    shares, agree = parts[::2], parts[1::2]
    assert sum(shares) == pytest.approx(1)
    assert sum(share * (part or 0) for share, part in zip(shares, agree)) == pytest.approx(whole)
    bins = [row for row in rows if row["figure"] == "calibration"]
    assert len(bins) == 20 and all((row["value"] is None) == (row["num_tried"] == 0) for row in bins)


def test_each_ratio_of_the_bench_stands_the_right_way_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds are given, and the quotients are those that the rows name."""
    models = SimpleNamespace(target=None, tokenizer=None)
    drafter = SimpleNamespace(tree=TreeConfig())
    args = argparse.Namespace(rounds=1)
    monkeypatch.setattr(bench.costs, "step_seconds", lambda *_: {"step": 6.0, "bare": 2.0})
    monkeypatch.setattr(bench.costs, "transformers_seconds", lambda *_: {"ours": 2.0, "theirs": 8.0})
    monkeypatch.setattr(bench.costs, "call_seconds", lambda *_: {1: 2.0, 8: 10.0})
    monkeypatch.setattr(bench.costs, "head_seconds", lambda *_: {"head": 1.0, "step": 7.0})
    figures = {
        row["setting"]: row["value"]
        for figure in (bench.step, bench.transformers, bench.calls, bench.head)
        for row in figure(models, drafter, args)
    }
    assert figures["plain step / bare"] == 3 and figures["transformers / ours"] == 4
    assert figures["8 nodes / 1 node"] == 5 and figures["8 nodes / plain step"] == pytest.approx(1 / 7)


def test_a_useless_head_is_timed_against_plain_and_calibration_at_both_temperatures(monkeypatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(bench, "EagleDrafter", lambda *_: None)
    monkeypatch.setattr(bench, "prompt_ids", lambda *_: [])
    monkeypatch.setattr(bench, "in_turn", lambda *_: {"plain": 2.0, "useless": 6.0})
    monkeypatch.setattr(bench, "seconds_per_token", lambda seconds: seconds)
    monkeypatch.setattr(bench, "held_out_code", lambda *_: [])
    monkeypatch.setattr(bench, "first_cycles", lambda *given: asked.append(given[3]) or [])
    models = SimpleNamespace(target=None, tokenizer=None)
    drafter = SimpleNamespace(head=EagleHead(ModelConfig(16, 16, 1, 1, 16)), grow=None, tree=None)
    args = argparse.Namespace(rounds=1, prefixes=1, seed=0)
    assert [row["value"] for row in bench.useless(models, drafter, args)] == [3, 3]
    assert len(list(bench.calibrated(models, drafter, args))) == 20 and asked == [0.0, 1.0]


def test_agreement_is_counted_in_the_bin_of_the_targets_own_certainty(monkeypatch: pytest.MonkeyPatch) -> None:
    sure, same = torch.tensor([0.1, 0.5, 0.89, 0.9, 1.0]), torch.tensor([False, True, False, True, True])
    monkeypatch.setattr(bench, "held_out_code", lambda *_: [Prefix("file", [1, 2, 3])])
    monkeypatch.setattr(bench, "first_choices", lambda *_: (sure, same))
    drafter = SimpleNamespace(head=None)
    values = [
        row["value"]
        for row in bench.agreement(SimpleNamespace(target=None), drafter, argparse.Namespace(prefixes=1, seed=0))
    ]
    assert values == pytest.approx([3 / 5, 1 / 5, 0, 2 / 5, 1 / 2, 2 / 5, 1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--drafters", "eagle9"], f"drafter must be one of none, {', '.join(KINDS)}, got 'eagle9'"),
        (["--drafters", ""], f"drafter must be one of none, {', '.join(KINDS)}, got ''"),
        (["--drafters", "eagle2@"], "drafter must be NAME, or NAME@WEIGHTS where it has any, got 'eagle2@'"),
        (["--drafters", "none@eagle"], "drafter must be NAME, or NAME@WEIGHTS where it has any, got 'none@eagle'"),
        (["--domains", "code,verse"], "domain must be one of code, prose, sums, got 'verse'"),
        (["--temperatures", "0,-1"], "temperature must be finite and at least 0, got -1.0"),
        (["--temperatures", "nan"], "temperature must be finite and at least 0, got nan"),
        (["--temperatures", "warm"], "temperature must be finite and at least 0, got 'warm'"),
        (["--prefixes", "0"], "prefixes must be at least 1, got 0"),
        (["--prompts", "-1"], "prompts must be at least 1, got -1"),
        (["--max-new-tokens", "0"], "max_new_tokens must be at least 1, got 0"),
        (["--seed", "-1"], "seed must be between 0 and 2**63 - 1, got -1"),
        (["--json", "/dev/null/x.json"], "--json must be a file in a folder that can be written to"),
        (["--json", "/"], "--json must be a file in a folder that can be written to, got '/'"),
        (["--json", 241 * "x"], "--json must be a name of up to 240 bytes, got 'xxx"),
        (
            ["--json", "/proc/nowhere/x.json"],
            "--json must be a file in a folder that can be written to, got '/proc/nowh",
        ),
        (["--drafters", "eagle2@none-such"], "no model 'none-such'"),
        (["--model", "none-such"], "no models 'none-such'"),
    ],
)
def test_compare_refuses_a_bad_option_in_one_line(small_set: Path, words: list[str], message: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        compare.run(options(compare, "--model", small_set, *words))
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--figures", "speed"], "figure must be one of parameters, step, "),
        (["--rounds", "0"], "rounds must be at least 1, got 0"),
        (["--prefixes", "0"], "prefixes must be at least 1, got 0"),
        (["--seed", "-1"], "seed must be between 0 and 2**63 - 1, got -1"),
    ],
)
def test_bench_refuses_a_bad_option_in_one_line(small_set: Path, words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        bench.run(options(bench, "--model", small_set, *words))


# ---- stored rows and the README ----

ORIGIN = {"command": "python -m eagle_min x", "commit": "c" * 40, "machine": "a|b, 2 cores", "date": "2026-01-02T03:04"}


def bench_rows(value: float) -> list[dict]:
    rows = [{"figure": name, "setting": "s", "value": value, "unit": "ms", **ORIGIN} for name in ("step", "calls")]
    return [
        *rows,
        {
            "figure": "calibration",
            "setting": "T=0, x",
            "value": value / 9,
            "mean_probability": 0.5,
            "unit": "",
            **ORIGIN,
        },
    ]


def test_the_readme_and_its_pictures_say_what_is_stored_and_only_tables_change(tmp_path: Path) -> None:
    page, results = tmp_path / "README.md", tmp_path / "results"
    before = "# Top\n<!-- results:begin bench.step -->\nold\n<!-- results:end bench.step -->\nmiddle\n"
    page.write_text(before + "<!-- results:begin bench -->\n<!-- results:end bench -->\nend\n")
    record.write_rows(results / "bench.json", bench_rows(1.5))
    assert readme.stale(page, results) == ["bench.step", "bench"]
    assert readme.run(options(readme, "--readme", page, "--results", results)) == 0
    assert readme.stale(page, results) == []
    text = page.read_text()
    assert [text.count(word) for word in ("old", "| step | s | 1.500 | ms |", "| calls |")] == [0, 2, 1]
    assert text.startswith("# Top\n<!-- results:begin bench.step -->\n| figure |") and text.endswith("-->\nend\n")
    assert [path.name for path in results.glob("*.svg")] == ["calibration.svg"] and pictures.stale(results) == []
    record.write_rows(results / "bench.json", bench_rows(1.6))
    assert readme.stale(page, results) == ["bench.step", "bench"] and pictures.stale(results) == ["calibration.svg"]


def test_a_table_can_come_from_the_card_of_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = {"held_out_bits_per_byte": {"code": 1.1}, "rivals_on_held_out_code": {"lzma": 1.5}}
    save_model(GPT(ModelConfig(5, 4, 1, 1, 4, 8)), tmp_path, "target", {**card, "command": "python -m eagle_min y"})
    monkeypatch.setattr(readme, "CARD", tmp_path / "target.json")
    page = tmp_path / "README.md"
    page.write_text("<!-- results:begin target -->\n<!-- results:end target -->\n")
    assert readme.stale(page, tmp_path) == ["target"]
    readme.run(options(readme, "--readme", page, "--results", tmp_path))
    assert readme.stale(page, tmp_path) == []
    cells = [line.split(" | ")[1:3] for line in page.read_text().splitlines() if line.startswith("| held-out")]
    assert cells == [["code: target", "1.100"], ["code: lzma", "1.500"]]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- results:begin bench -->\n", "markers in the README must be begin NAME, end NAME"),
        ("<!-- results:begin bench -->\n<!-- results:end other -->\n", "markers in the README must be begin NAME"),
        ("no marker\n", "markers in README.md must be some for bench, got"),
        ("<!-- results:begin bench.x -->\n<!-- results:end bench.x -->\n", "rows for the table bench.x must be at"),
    ],
)
def test_a_readme_that_does_not_fit_is_left_alone(tmp_path: Path, page: str, message: str) -> None:
    path = tmp_path / "README.md"
    path.write_text(page)
    record.write_rows(tmp_path / "bench.json", bench_rows(1.0))
    with pytest.raises(ValueError) as caught:
        readme.update(path, tmp_path / "bench.json")
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
    columns = [("a", lambda row: row["a"]), ("number", record.number("n", 1))]
    rows = [{"a": "x|y", "n": 1.25}, {"a": "z", "n": None}]
    assert record.text_table(columns, rows) == "a    number\nx|y  1.2\nz"
    assert record.markdown_table(columns, rows) == "| a | number |\n| --- | --- |\n| x\\|y | 1.2 |\n| z |  |"


def test_the_readme_of_this_repository_equals_its_stored_results() -> None:
    if not readme.RESULTS.is_dir():
        pytest.skip("tinymodels/results is not there: nothing has been measured")
    assert readme.stale(SHIPPED.parent / "README.md") == []


@pytest.mark.ci
def test_the_held_out_text_is_the_one_the_target_was_measured_on() -> None:
    card = json.loads((eagle_min.load("tiny").folder / "target.json").read_text())
    if card.get("versions") is None:
        pytest.skip("the card of the target names no versions")
    if card["versions"] != record.versions():
        pytest.skip("other versions of Python or the packages than the target was trained with")
    assert load_held_out().fingerprint() == card["corpus_sha256"]


def test_a_file_of_rows_can_have_a_second_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"code": "A1", "name": "a fault", "kind": "chain", "origin": "x", **dict.fromkeys(bank.PROPERTIES, True)}
    row |= {"first token": False, "above bound": None, "total_variation": 0.25, "num_samples": None, "seconds": 0.5}
    row["seconds_to_refute"] = 1.25
    monkeypatch.setattr(readme, "SHIPPED", tmp_path / "tinymodels")
    (tmp_path / "tests").mkdir()
    record.write_rows(tmp_path / "tests" / "bank.json", [{**row, **ORIGIN}])
    page = tmp_path / "README.md"
    names = ("bank", "bank.power")
    page.write_text("".join(f"<!-- results:begin {name} -->\n<!-- results:end {name} -->\n" for name in names))
    readme.run(options(readme, "--readme", page, "--results", tmp_path / "nowhere"))
    lines = [line for line in page.read_text().splitlines() if line.startswith("| A1")]
    assert lines == [
        "| A1 | a fault | chain | - | yes | yes | yes | yes |  | yes | x |",
        "| A1 | a fault | 0.25000 | never | 0.500 | 1.2 |",
    ]
