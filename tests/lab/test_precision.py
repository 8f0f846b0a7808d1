"""The precision ledger: nothing to see in float64, a planted rounding found node by node, rows stored."""

import copy
import json
import re
from fractions import Fraction
from itertools import islice
from pathlib import Path

import networks
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import random_drafter, random_target, slow_target

from eagle_min.__main__ import Parser, main
from eagle_min.decode import stream
from eagle_min.dice import target_draw, uniform
from eagle_min.lab import experiment, runner
from eagle_min.lab.experiments import bench, precision
from eagle_min.lab.experiments.precision import Node, chance_of_other_draw, compared, figures
from eagle_min.model import GPT
from eagle_min.train.corpus import Corpus
from eagle_min.tree import DraftTree, path_to

PROMPT = [1, 4, 0, 2, 5]
STEP = 0.5  # of the planted rounding
BYTES = networks.BYTES
SETTINGS = ("nodes compared", "largest TV", "mean TV", "another argmax", "another draw", "chance of another draw, mean")


def grown(seed: int = 0, prompt: list[int] = PROMPT) -> DraftTree:
    """The first tree behind the prompt."""
    cycles = stream(random_target(seed), prompt, random_drafter(seed=seed), max_new_tokens=20, temperature=1.0)
    tree = list(islice(cycles, 2))[1].tree
    assert max(tree.parents.count(node) for node in range(len(tree))) >= 2 and max(tree.parents) >= 1
    return tree


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("prompt", [PROMPT, [3]])
def test_in_float64_the_two_readings_agree(seed, prompt):
    tree = grown(seed, prompt)
    nodes = compared(random_target(seed), prompt, tree, seed)
    assert len(nodes) == len(tree)
    assert max(node.total_variation for node in nodes) < 1e-10
    assert max(node.chance_of_other_draw for node in nodes) < 1e-10
    assert not any(node.other_argmax or node.other_draw for node in nodes)


def coarse(target: GPT) -> GPT:
    """A target whose logits are multiples of STEP whenever more than one token is read."""
    target = copy.deepcopy(target)
    rounded = lambda module, inputs, logits: (logits / STEP).round() * STEP if len(logits) > 1 else logits  # noqa: E731
    target.lm_head.register_forward_hook(rounded)
    return target


def law_of(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def test_a_planted_rounding_shows_at_each_node_as_it_should():
    """Against the slow network: each node's text is read as a whole, and its logits are rounded here."""
    target, tree = random_target(0), grown()
    found = {seed: compared(coarse(target), PROMPT, tree, seed) for seed in range(12)}
    for node in range(len(tree)):
        text = [*PROMPT, *(tree.tokens[above] for above in path_to(tree.parents, node))]
        logits = slow_target(target, text)[1][-1]
        rounded = np.round(logits / STEP) * STEP
        p, q = law_of(rounded), law_of(logits)
        for seed, nodes in found.items():
            u = uniform(seed, target_draw(len(text)))
            one, other = (int(np.searchsorted(np.cumsum(law), u, side="right")) for law in (p, q))
            assert nodes[node].total_variation == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-9)
            assert nodes[node].other_argmax == (rounded.argmax() != logits.argmax())
            assert nodes[node].other_draw == (one != other)
    everything = [node for nodes in found.values() for node in nodes]
    rows = {row["setting"]: row["value"] for row in figures("coarse", everything)}
    assert rows["coarse: largest TV"] > 1e4 and rows["coarse: another draw"] > 0


weights = st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any)


@given(weights, weights)
def test_the_chance_of_another_draw_is_that_of_the_intervals(first, second):
    """Cut [0, 1) at every edge of either law: between two cuts nothing changes, so one point of each piece tells."""
    laws = [[Fraction(weight, sum(row)) for weight in row] for row in (first, second)]
    edges = [[sum(law[: token + 1]) for token in range(4)] for law in laws]
    cuts = sorted({Fraction(0), *edges[0], *edges[1]})
    chance = Fraction(0)
    for low, high in zip(cuts, cuts[1:]):
        drawn = [next(token for token, edge in enumerate(row) if edge > (low + high) / 2) for row in edges]
        chance += (high - low) * (drawn[0] != drawn[1])
    found = chance_of_other_draw(*(np.array([float(x) for x in law]) for law in laws))
    assert found == pytest.approx(float(chance), abs=1e-12)


def test_figures_are_means_shares_and_the_largest():
    nodes = [Node(0.25, True, False, 0.5), Node(0.75, False, False, 0.0), Node(0.5, False, True, 0.25)]
    rows = list(figures("x", [*nodes, Node(0.0, False, False, 0.25)]))
    assert [row["setting"] for row in rows] == [f"x: {setting}" for setting in SETTINGS]
    assert [row["value"] for row in rows] == [4, 0.75e6, 0.375e6, 0.25, 0.25, 0.25e6]
    assert [row["unit"] for row in rows] == ["nodes", "ppm", "ppm", "share", "share", "ppm"]


# ---- the command, on a small random set of models ----


@pytest.fixture
def small_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a random target, a random head and a vocabulary of bytes; held-out text of its own."""
    folder = tmp_path / "set"
    networks.small_set(folder)
    texts = {domain: [(f"{domain}/0", f"{domain} is here, " * 20)] for domain in ("code", "prose")}
    corpus = Corpus({}, {**texts, "sums": [(f"sums/{a}", f"{a} + 9 = {a + 9}") for a in range(30)]})
    monkeypatch.setattr(experiment, "load_held_out", lambda: corpus)
    return folder


def test_the_command_stores_the_rows_of_each_format(small_set, tmp_path, capsys):
    path = tmp_path / "precision.json"
    assert main(["lab", "precision", "--model", str(small_set), "--contexts", "4", "--json", str(path)]) == 0
    rows = json.loads(path.read_text())
    wanted = [f"{name}: {setting}" for name in ("float64", "float32", "bfloat16") for setting in SETTINGS]
    assert [row["setting"] for row in rows] == wanted
    values = {row["setting"]: row["value"] for row in rows}
    assert {values[f"{name}: nodes compared"] for name in precision.FORMATS} == {4 * 24}
    assert 0 <= values["float64: mean TV"] <= values["float64: largest TV"] < 1e-4  # ppm: 1e-10
    assert values["float64: another argmax"] == values["float64: another draw"] == 0
    for row in rows:
        assert {"command", "seed", "commit", "machine", "versions", "target_sha256", "heads_sha256"} <= set(row)
        assert row["figure"] == "precision" and list(row["heads_sha256"]) == ["eagle"]
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(rows)
    assert bench.EXPERIMENT.tables == precision.EXPERIMENT.tables


def test_prefixes_come_from_all_domains(small_set):
    corpus = experiment.load_held_out()
    for count, shares in ((1, [1, 0, 0]), (2, [1, 1, 0]), (8, [3, 3, 2])):
        files = [prefix.file.partition("/")[0] for prefix in precision.contexts(corpus, BYTES, count, 64)]
        assert [files.count(domain) for domain in ("code", "prose", "sums")] == shares


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--contexts", "0"], "contexts must be at least 1, got 0"),
        (["--contexts", "-3"], "contexts must be at least 1, got -3"),
        (["--contexts", "few"], "argument --contexts: invalid int value: 'few'"),
        (["--model", "none-such"], "no models 'none-such'"),
        (["--json", "/"], "--json must be a file in a folder that can be written to, got '/'"),
        (["--formats", "float8"], "unrecognized arguments: --formats float8"),
    ],
)
def test_bad_input_is_one_line(words, message, capsys):
    assert main(["lab", "precision", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and re.fullmatch(rf"error: {re.escape(message)}.*\n", err)


def test_the_options_are_three():
    parser = Parser()
    runner.add_arguments(precision.EXPERIMENT, parser)
    assert vars(parser.parse_args([])) == {"model": "tiny", "contexts": 20, "json": None}
