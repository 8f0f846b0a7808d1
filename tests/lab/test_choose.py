"""What a comparison rests on: lengths of trees and learning rates that were tried, and cards that tell of trainings."""

import json
from pathlib import Path
from types import SimpleNamespace

import networks
import pytest
from running import run_experiment

from eagle_min.lab import experiment
from eagle_min.lab.experiments import choose, compare, rates
from eagle_min.train.corpus import Corpus
from eagle_min.train.rivals.registry import RIVALS


@pytest.fixture
def small_set(tmp_path: Path) -> Path:
    return networks.small_set(tmp_path / "set")


def test_lengths_are_tried_on_training_text_and_one_of_each_drafter_is_chosen(small_set, tmp_path, monkeypatch):
    corpus = Corpus({"code": [(f"{i}.py", f"def f{i}(x):\n    return x + {i}\n" * 9) for i in range(4)]}, {})
    monkeypatch.setattr(choose, "load_corpus", lambda: corpus)
    monkeypatch.setattr(experiment, "load_held_out", lambda: corpus)
    seen = []
    real = choose.prefix_figures

    def figures(models, drafter, prefixes, temperature, seed):
        seen.append({prefix.file for prefix in prefixes})
        return real(models, drafter, prefixes, temperature, seed)

    monkeypatch.setattr(choose, "prefix_figures", figures)
    path = tmp_path / "choose.json"
    assert run_experiment(choose.EXPERIMENT, "--model", small_set, "--prefixes", 3, "--json", path) == 0
    rows = json.loads(path.read_text())
    tried = {
        name: [row for row in rows if row["drafter"] == name] for name in dict.fromkeys(r["drafter"] for r in rows)
    }
    assert list(tried) == ["eagle2", "ratio", "chain", "lookup", "lookahead"]  # what the set has weights for
    assert all(len(found) == len(choose.DEPTHS) for name, found in tried.items() if name != "lookahead")
    assert len(tried["lookahead"]) == len(choose.LOOKAHEADS) and len(choose.LOOKUPS) == len(choose.DEPTHS)
    for found in tried.values():
        assert [row for row in found if row["chosen"]] == [choose.chosen(found)]
    assert set().union(*seen) <= {f"{i}.py" for i in range(4)} and set(rows[0]["heads_sha256"]) == {"eagle"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--prefixes", 0), "prefixes must be at least 1, got 0"),
        (("--seed", -1), "seed must be between 0 and"),
        (("--model", "none-such"), "no models 'none-such'"),
        (("--json", "/"), "--json must be a file in a folder that can be written to, got '/'"),
    ],
)
def test_a_bad_option_of_choose_is_refused(words, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        run_experiment(choose.EXPERIMENT, *words)


def test_each_rate_is_tried_with_each_network_in_a_run_of_its_own(small_set, tmp_path, monkeypatch):
    seen = []

    def trial(models, train, folder):
        seen.append((train.matrix_lr, train.other_lr, train.num_steps, train.seed, folder.name))
        return SimpleNamespace(losses=[(100, 9.0), (200, train.matrix_lr)])

    networks = ("mtp", "head-paper")
    for name in networks:
        monkeypatch.setitem(rates.TRIALS, name, trial)
    monkeypatch.setattr(experiment, "load_held_out", lambda: Corpus({}, {"code": []}))
    path = tmp_path / "rates.json"
    words = (
        "--model",
        small_set,
        "--networks",
        ",".join(networks),
        "--steps",
        200,
        "--runs",
        tmp_path,
        "--seed",
        5,
        "--json",
        path,
    )
    assert run_experiment(rates.EXPERIMENT, *words) == 0
    assert seen == [
        (rate, pytest.approx(rate / 5), 200, 5, f"rates-{name}-{rate:g}") for name in networks for rate in rates.RATES
    ]
    rows = json.loads(path.read_text())
    assert [row["value"] for row in rows] == [*rates.RATES, *rates.RATES]
    assert rows[4]["setting"] == "head-paper: 0.03 and 0.006" and {row["figure"] for row in rows} == {"rates"}


def test_every_network_of_the_comparison_has_its_trials():
    assert set(rates.TRIALS) == {"head-paper", "head-steps", *RIVALS}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--networks", "mamba"), "network must be one of head-paper, .*, got 'mamba'"),
        (("--steps", 150), "steps must be a multiple of 100, above 0, got 150"),
        (("--steps", 0), "steps must be a multiple of 100, above 0, got 0"),
        (("--seed", -1), "seed must be between 0 and"),
    ],
)
def test_a_bad_option_of_rates_is_refused(words, message):
    with pytest.raises(ValueError, match=message):
        run_experiment(rates.EXPERIMENT, *words)


@pytest.mark.parametrize("changes", [{"tokens_seen": "many"}, {"tokens_seen": None}, {"started_from": "eagle"}])
def test_a_card_that_does_not_tell_of_its_training_is_found_before_anything_is_measured(
    small_set, changes, monkeypatch
):
    card = json.loads((small_set / "eagle.json").read_text())
    (small_set / "eagle.json").write_text(json.dumps(card | changes))
    monkeypatch.setattr(experiment, "load_held_out", None)
    with pytest.raises(ValueError, match="training told by the card of 'eagle' must be cards with an integer"):
        run_experiment(compare.EXPERIMENT, "--model", small_set, "--drafters", "eagle2")
