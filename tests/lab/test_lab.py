"""`compare` and `bench` on a small random set of models: what they store, which way ratios stand, what they refuse."""

import argparse
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from running import run_experiment

import eagle_min
from eagle_min.checkpoint import read_card, save_model
from eagle_min.config import ModelConfig, TreeConfig
from eagle_min.drafters.registry import REGISTRY
from eagle_min.head import EagleHead
from eagle_min.lab.experiment import Setting
from eagle_min.lab.experiments import bench, compare
from eagle_min.lab.instruments import costs, measures, prefixes, timing
from eagle_min.lab.instruments.prefixes import Prefix
from eagle_min.model import GPT
from eagle_min.train.corpus import Corpus

PROMISED = {  # what a row of `compare` has to tell
    *("drafter", "domain", "temperature", "tau", "tau_low", "tau_high", "tau_free", "alphas", "distinct"),
    *("seconds_plain", "seconds_speculative", "ratio", "ratio_low", "ratio_high", "bits_per_byte", "num_prefixes"),
    *("nodes", "command", "seed", "commit", "machine", "versions", "date", "corpus_sha256", "target_sha256"),
}


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
    monkeypatch.setattr(costs, "in_turn", lambda target, everyone, *rest: seen.update(everyone) or {})
    models = eagle_min.load(str(small_set))
    drafter = models.drafter("eagle2")
    with pytest.raises(KeyError):  # nothing was timed
        list(costs.slowdowns(models, drafter, 1, 0))
    trained, useless = drafter.head.state_dict(), seen["useless"].head.state_dict()
    assert not any(torch.equal(trained[name], useless[name]) for name in trained if trained[name].ndim == 2)


def test_compare_stores_a_row_for_each_drafter_domain_and_temperature(
    small_set: Path, small_text: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "new folder" / "compare.json"
    monkeypatch.setattr(timing, "WARM_UP_TOKENS", 2)
    words = ("--drafters", "chain,eagle2@other", "--domains", "code,sums", "--temperatures", "0,1", "--quick")
    words += ("--prefixes", 4, "--max-new-tokens", 24)  # what is given goes before what a trial run has
    assert run_experiment(compare.EXPERIMENT, "--model", small_set, *words, "--json", path) == 0
    rows = json.loads(path.read_text())
    places = [(row["domain"], row["temperature"], row["drafter"]) for row in rows]
    assert places == [(d, t, n) for d in ("code", "sums") for t in (0, 1) for n in ("chain", "eagle2@other")]
    for row in rows:
        assert PROMISED <= set(row)
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
    assert run_experiment(compare.EXPERIMENT, "--model", small_set, *words, "--prompts", 1, "--max-new-tokens", 4) == 0
    captured = capsys.readouterr()
    wanted = [name for name, kind in REGISTRY.items() if kind.weights in (None, "eagle")]
    missing = [name for name in REGISTRY if name not in wanted]
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


@pytest.mark.ci
def test_bench_stores_every_figure_it_was_asked_for(
    small_set: Path, small_text: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)  # as if it were not installed
    monkeypatch.setattr(costs, "GENERATED", 4)
    monkeypatch.setattr(timing, "WARM_UP_TOKENS", 2)
    words = ("--rounds", 1, "--prefixes", 3, "--json", tmp_path / "bench.json")
    assert run_experiment(bench.EXPERIMENT, "--model", small_set, *words) == 0
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
    setting = Setting(SimpleNamespace(target=None), argparse.Namespace(rounds=1))
    drafter = SimpleNamespace(tree=TreeConfig())
    monkeypatch.setattr(costs, "step_seconds", lambda *_: {"step": 6.0, "bare": 2.0})
    monkeypatch.setattr(costs, "transformers_seconds", lambda *_: {"ours": 2.0, "theirs": 8.0})
    monkeypatch.setattr(costs, "call_seconds", lambda *_: {1: 2.0, 8: 10.0})
    monkeypatch.setattr(costs, "head_seconds", lambda *_: {"head": 1.0, "step": 7.0})
    figures = {
        row["setting"]: row["value"]
        for figure in (bench.step, bench.transformers, bench.calls, bench.head)
        for row in figure(setting, drafter)
    }
    assert figures["plain step / bare"] == 3 and figures["transformers / ours"] == 4
    assert figures["8 nodes / 1 node"] == 5 and figures["8 nodes / plain step"] == pytest.approx(1 / 7)


def test_a_useless_head_is_timed_against_plain_and_calibration_at_both_temperatures(monkeypatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(costs, "EagleDrafter", lambda *_: None)
    monkeypatch.setattr(costs, "prompt_ids", lambda *_: [])
    monkeypatch.setattr(costs, "in_turn", lambda *_: {"plain": 2.0, "useless": 6.0})
    monkeypatch.setattr(costs, "seconds_per_token", lambda seconds: seconds)
    monkeypatch.setattr(Setting, "first_cycles", lambda self, drafter, temperature: asked.append(temperature) or [])
    drafter = SimpleNamespace(head=EagleHead(ModelConfig(16, 16, 1, 1, 16)), grow=None, tree=None)
    models = SimpleNamespace(target=None, tokenizer=None, drafter=lambda *_: drafter)
    setting = Setting(models, argparse.Namespace(rounds=1, seed=0, head="eagle"))
    assert [row["value"] for row in bench.useless(setting, drafter)] == [3, 3]
    assert len(list(bench.calibrated(setting, drafter))) == 20 and asked == [0.0, 1.0]


def test_agreement_is_counted_in_the_bin_of_the_targets_own_certainty(monkeypatch: pytest.MonkeyPatch) -> None:
    sure, same = torch.tensor([0.1, 0.5, 0.89, 0.9, 1.0]), torch.tensor([False, True, False, True, True])
    monkeypatch.setattr(bench, "first_choices", lambda *_: (sure, same))
    setting = Setting(SimpleNamespace(target=None), argparse.Namespace(seed=0))
    vars(setting)["prefixes"] = [Prefix("file", [1, 2, 3])]
    values = [row["value"] for row in bench.agreement(setting, SimpleNamespace(head=None))]
    assert values == pytest.approx([3 / 5, 1 / 5, 0, 2 / 5, 1 / 2, 2 / 5, 1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--drafters", "eagle9"], f"drafter must be one of none, {', '.join(REGISTRY)}, got 'eagle9'"),
        (["--drafters", ""], f"drafter must be one of none, {', '.join(REGISTRY)}, got ''"),
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
        run_experiment(compare.EXPERIMENT, "--model", small_set, *words)
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
        run_experiment(bench.EXPERIMENT, "--model", small_set, *words)
