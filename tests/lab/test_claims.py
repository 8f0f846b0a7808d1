"""Experiments about claims: each runs, says what its numbers say, and compares what it claims to compare."""

import json
import math
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from growing import ROOT, Draft, paths
from hypothesis import given
from hypothesis import strategies as st
from networks import random_head, random_target, slow_head, slow_target, weights
from oracles import falling
from running import run_experiment
from strategies import table_models, tree_configs
from test_short_trainings import log_softmax

import eagle_min
import eagle_min.train.network
from eagle_min import grow
from eagle_min.__main__ import main
from eagle_min.decode import Cycle
from eagle_min.lab import command, runner
from eagle_min.lab.experiment import Experiment, Setting
from eagle_min.lab.experiments.claims import (
    claim,
    confidence,
    entropy,
    short_trainings,
    size,
    temperature,
    tree,
    useless,
)
from eagle_min.lab.experiments.claims.claim import FAILS, HOLDS, OPEN
from eagle_min.lab.experiments.registry import EXPERIMENTS
from eagle_min.lab.instruments import measures, timing
from eagle_min.lab.instruments.measures import Start
from eagle_min.lab.record import read_rows
from eagle_min.show.terminal import label
from eagle_min.train import variants

CLAIMS = {name: experiment for name, experiment in EXPERIMENTS.items() if experiment.claim}
TRAINED = ("inputs", "loss")
SMALL = {"prefixes": 3, "prompts": 1, "max_new_tokens": 4, "nodes": 6, "tokens": 512}


def starts(*groups: tuple[str, list[int]]) -> list[Start]:
    """First cycles of each file with so many tokens each."""
    return [Start(file, [Cycle(tuple(range(n)), n - 1, None, (), None) for n in counts]) for file, counts in groups]


@pytest.fixture
def small(small_set, small_text, monkeypatch, tmp_path):
    """The words that every experiment on the small set begins with."""
    rng = np.random.default_rng(0)
    streams = {name: rng.integers(0, 257, 20_000).astype(np.uint16) for name in ("code", "prose", "sums")}
    monkeypatch.setattr(eagle_min.train.network, "training_streams", lambda *_: streams)
    monkeypatch.setattr(timing, "WARM_UP_TOKENS", 2)
    monkeypatch.setattr(size, "SIZES", (2, 5))
    monkeypatch.setattr(temperature, "TEMPERATURES", (0.0, 1.0))
    monkeypatch.setattr(useless.costs, "GENERATED", 4)
    monkeypatch.setattr(short_trainings, "HEAD_BATCH_TOKENS", 512)
    monkeypatch.setattr(variants, "HEAD_SHAPE", {"hidden": 8})
    return ["--model", small_set]


def sized(name: str) -> list[object]:
    """Options for a run that is over at once."""
    wanted = [option.name for option in CLAIMS[name].options if option.name in SMALL]
    return [word for size in wanted for word in ("--" + size.replace("_", "-"), SMALL[size])]


QUICK = ("entropy", "useless")  # the others in the ci tier


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=[pytest.mark.ci]) for name in CLAIMS]
)
def test_an_experiment_stores_its_rows_draws_them_and_ends_with_what_they_say(small, tmp_path, capsys, name):
    files = ["--json", tmp_path / "rows.json", "--picture", tmp_path / "rows.svg"]
    folder = ["--run", tmp_path / "runs" / "short"] if name in TRAINED else []
    assert run_experiment(CLAIMS[name], *small, *sized(name), *files, *folder) == 0
    rows, out = read_rows(tmp_path / "rows.json"), capsys.readouterr().out
    assert out.startswith(f"claim: {CLAIMS[name].claim}\n")
    assert out.splitlines()[-1] == CLAIMS[name].verdict(rows)  # stored rows are enough
    assert out.splitlines()[-1].partition(":")[0] in (HOLDS, OPEN, FAILS)
    picture = (tmp_path / "rows.svg").read_text()
    [draw] = CLAIMS[name].pictures.values()
    assert picture == draw(rows) and ElementTree.fromstring(picture) is not None
    for row in rows:
        assert row["study"] == name and (list(row["heads_sha256"]) == []) == (name in TRAINED)
        assert {"command", "seed", "commit", "machine", "versions", "date", "corpus_sha256", "target_sha256"} <= set(
            row
        )


def test_the_list_names_each_experiment_with_its_question(capsys):
    assert main(["lab"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = {name: each for name, each in EXPERIMENTS.items() if name not in ("compare", "bench")}
    assert [line.split()[0] for line in lines] == [*listed, "results"]
    assert all(line.endswith(each.question) for line, each in zip(lines, listed.values()))
    assert all(each.question.endswith("?") and "\n" not in each.question for each in EXPERIMENTS.values())
    assert all((each.verdict is None) == (not each.claim) for each in EXPERIMENTS.values())
    assert all(each.claim.endswith(".") for each in CLAIMS.values())


def test_help_says_the_question_and_the_claim_of_each(capsys):
    for name, experiment in command.LISTED.items():
        with pytest.raises(SystemExit) as leaving:
            main(["lab", name, "--help"])
        out = " ".join(capsys.readouterr().out.split())
        assert leaving.value.code == 0 and out.startswith(f"usage: python -m eagle_min lab {name} ")
        assert experiment.question.replace(" ", "") in out.replace(" ", "")  # lines may break at a hyphen
        assert experiment.claim.replace(" ", "") in out.replace(" ", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["speed"], "argument NAME: invalid choice: 'speed' (choose from "),
        (["confidence", "--prefixes", "0"], "prefixes must be at least 1, got 0"),
        (["useless", "--prompts", "-1"], "prompts must be at least 1, got -1"),
        (["tree", "--nodes", "0"], "nodes must be at least 1, got 0"),
        (["size", "--max-new-tokens", "few"], "argument --max-new-tokens: invalid int value: 'few'"),
        (["tree", "--seed", "-1"], "seed must be between 0 and"),
        (["tree", "--json", "/"], "--json must be a file in a folder that can be written to, got '/'"),
        (
            ["tree", "--json", "x.svg", "--picture", "./x.svg"],
            "--picture must be another file than that of --json, got",
        ),
        (["tree", "--head", ""], "no model ''"),
        (["tree", "--picture", "/"], "--picture must be a file in a folder that can be written to, got '/'"),
        (["tree", "--picture", "x.png"], "--picture must be a file whose name ends in .svg, got 'x.png'"),
        (["tree", "--tokens", "9"], "unrecognized arguments: --tokens 9"),
        (["inputs", "--head", "eagle"], "unrecognized arguments: --head eagle"),
        (["tree", "--run", "runs/x"], "unrecognized arguments: --run runs/x"),
        (["tree", "--pref", "3"], "unrecognized arguments: --pref 3"),
        (["tree", "--model", "none-such"], "no models 'none-such'"),
    ],
)
def test_a_bad_option_is_one_line(words, message, capsys):
    assert main(["lab", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"error: {message}") and err.count("\n") == 1


# ---- words that follow from the numbers ----


def test_both_drafters_are_counted_on_the_same_files():
    """Files differ far more than drafters; the difference is the same in each, so its interval is a point."""
    one, other = starts(("a", [9, 9]), ("b", [2, 2])), starts(("a", [8, 8]), ("b", [1, 1]))
    row = measures.gap_figures("one", one, other, 0)
    assert row == {"behind": "one", "gap": 1, "gap_low": 1, "gap_high": 1}
    assert measures.gap_figures("other", other, one, 0)["gap_high"] == -1
    figures = measures.tau_figures(one, 0)
    assert figures["tau"] == 22 / 4 and figures["tau_low"] == 2 and figures["tau_high"] == 9


def test_a_difference_that_some_files_have_and_others_not_has_an_interval():
    one = starts(*((f"{i}", [3 + i % 2]) for i in range(40)))
    other = starts(*((f"{i}", [3]) for i in range(40)))
    row = measures.gap_figures("one", one, other, 0)
    assert row["gap"] == 0.5 and 0.2 < row["gap_low"] < 0.5 < row["gap_high"] < 0.8


@pytest.mark.parametrize(("ends", "word"), [((0.1, 0.4), HOLDS), ((-0.4, -0.1), FAILS), ((-0.1, 0.4), OPEN)])
def test_the_word_is_that_of_the_interval(ends, word):
    row = {"variant": "b", "tau": 2.0, "behind": "a", "gap": sum(ends) / 2, "gap_low": ends[0], "gap_high": ends[1]}
    said = claim.ranked([{"variant": "a", "tau": 2.15}, row])
    assert said.startswith(f"{word}: a 2.15 against b 2.00, difference {row['gap']:+.2f} [{ends[0]:+.2f}, ")


def test_the_worst_word_goes_first_and_the_others_stay_with_their_numbers():
    assert claim.overall([(HOLDS, "x"), (FAILS, "y"), (OPEN, "z")]) == f"{FAILS}: x (holds); y; z ({OPEN})"
    assert claim.overall([(HOLDS, "x"), (OPEN, "z")]) == f"{OPEN}: x (holds); z"
    assert claim.overall([(HOLDS, "x"), (HOLDS, "z")]) == "holds: x; z"


@pytest.mark.parametrize(
    ("values", "rising", "falling_word"),
    [([0, 1, 2], HOLDS, FAILS), ([2, 1, 0], FAILS, HOLDS), ([0, 2, 1], FAILS, FAILS), ([1, 1, 1], OPEN, OPEN)],
)
def test_one_figure_follows_another_where_they_are_strongly_correlated(values, rising, falling_word):
    pairs = list(enumerate(values))
    assert claim.follows("it", pairs)[0] == rising
    assert claim.follows("it", pairs, sign=-1)[0] == falling_word
    assert claim.follows("it", pairs[:2])[0] == OPEN and claim.follows("it", [])[0] == OPEN


def test_bins_with_few_members_have_no_vote():
    bins = [(20, 0.1, 0.1), (20, 0.5, 0.5), (20, 0.9, 0.9), (19, 0.95, 0.0)]
    rows = [{"temperature": 0, "num_tried": n, "mean_probability": x, "acceptance": y} for n, x, y in bins]
    assert confidence.verdict(rows).startswith("holds: T=0: from 0.10 at 0.10 to 0.90 at 0.90, correlation +1.00, 0.00")
    rows[-1]["num_tried"] = 20
    assert confidence.verdict(rows).startswith(FAILS)


@pytest.mark.parametrize(("ratio", "word"), [(2.6, HOLDS), (2.2, OPEN), (1.9, FAILS)])
def test_the_largest_tree_must_be_the_fastest(ratio, word):
    rows = [
        {"num_nodes": 24, "tau": 4.7, "ratio": 2.4, "ratio_low": 2.1, "ratio_high": 2.6},
        {"num_nodes": 64, "tau": 5.1, "ratio": ratio, "ratio_low": 1.0, "ratio_high": 3.0},
    ]
    said = size.verdict(rows)
    assert said.startswith(f"{word}: 64 nodes have tau 5.10 and are {ratio:.2f} times as fast")
    assert ("24 nodes have tau 4.70" in said) == (word != HOLDS)


def test_a_useless_head_is_that_of_the_bench_and_costs_something_when_it_costs_time(monkeypatch):
    asked, slowdowns = [], [("T=0: slow", 2.0), ("T=1: fast", 0.9)]
    monkeypatch.setattr(useless.costs, "slowdowns", lambda *given: asked.append(given) or slowdowns)
    given = SimpleNamespace(models="models", seed=3, options=SimpleNamespace(prompts=5), drafter=lambda name: name)
    rows = list(useless.measured(given))
    assert asked == [("models", "eagle2", 5, 3)]
    assert useless.verdict(rows) == f"{FAILS}: T=0: slow 2.00; T=1: fast 0.90 (holds)"


# ---- what is compared ----


def scripted(taus: dict):
    """A setting whose drafters have these tokens in each cycle, by name or grower, and by temperature."""
    drafters = []

    def drafter(name, tree=None):
        drafters.append(SimpleNamespace(name=name, tree=tree, grow=None))
        return drafters[-1]

    def first_cycles(one, heat):
        return starts(("a", [taus[one.name if one.grow is None else one.grow][heat]] * 2))

    return SimpleNamespace(
        drafter=drafter, first_cycles=first_cycles, seed=0, options=SimpleNamespace(nodes=9), drafters=drafters
    )


def test_each_drafter_is_compared_with_itself_at_the_lowest_temperature(monkeypatch):
    monkeypatch.setattr(temperature, "TEMPERATURES", (0.0, 0.5, 1.0))
    taus = {
        "eagle2": {0.0: 6, 0.5: 5, 1.0: 3},
        "eagle1": {0.0: 4, 0.5: 3, 1.0: 2},
        "eagle1-sampled": {0.0: 4, 0.5: 3, 1.0: 5},
    }
    rows = list(temperature.measured(scripted(taus)))
    found = {(row["drafter"], row["temperature"]): (row["tau"], row.get("gap")) for row in rows}
    assert found == {(n, t): (x, own[0.0] - x if t else None) for n, own in taus.items() for t, x in own.items()}
    said = temperature.verdict(rows)
    assert said.startswith(f"{FAILS}: eagle2 6.00 at T=0 against 3.00 at T=1, falling in 2 of 2 steps (holds); ")
    assert "eagle1-sampled 4.00 at T=0 against 5.00 at T=1, falling in 1 of 2 steps; " in said
    assert said.endswith("drawn children have the larger tau at T = 1")


def test_every_grower_gets_the_same_nodes_and_is_compared_with_eagle_2():
    growers = list(tree.GROWERS.values())
    given = scripted({grower: {0.0: 9 - place} for place, grower in enumerate(growers)})
    rows = list(tree.measured(given))
    assert [row["tau"] for row in rows] == [9, 8, 7, 6, 5, 4] and [
        drafter.grow for drafter in given.drafters
    ] == growers
    assert [row.get("gap") for row in rows] == [None, 1, 2, 3, 4, 5]
    assert {drafter.tree.num_nodes for drafter in given.drafters} == {9}
    assert {row["behind"] for row in rows[1:]} == {"EAGLE-2"}


def slow_candidates(model, width: int, depth: int, value: bool):
    """(path -> rank) of all candidates in order, and the paths expanded, level by level."""
    pool, levels, beam = {}, [], [((), 0.0)]
    for _ in range(depth):
        level = []
        for path, above in beam:
            row = model.log_weights((ROOT, *path))
            best = [token for token in falling(list(row))[:width] if row[token] > -math.inf]
            level += [((*path, token), (above if value else 0.0) + row[token]) for token in best]
        pool |= dict(level)
        beam = [level[place] for place in falling([rank for _, rank in level])[:width]]
        levels += [path for path, _ in beam]
    return pool, levels


def slow_best(pool: dict, budget: int) -> set:
    """Again and again the best path whose parent was taken."""
    taken = []
    while len(taken) < budget:
        free = [path for path in pool if path not in taken and path[:-1] in ((), *taken)]
        if not free:
            break
        taken.append(free[falling([pool[path] for path in free])[0]])
    return set(taken)


MODELS = st.sampled_from([2, 3, 5]).flatmap(table_models)


@given(MODELS, tree_configs(), st.integers(0, 4))
def test_growers_without_a_part_of_the_rule_keep_what_brute_force_keeps(model, config, depth):
    budget, room = config.num_nodes - 1, min(depth, config.depth)
    room = min(room, budget)
    narrow = max(1, min(config.top_k, -(-budget // max(1, min(depth, config.depth)))))
    wanted = {
        "no rerank": set(slow_candidates(model, config.top_k, room, True)[1][:budget]),
        "no rerank, narrow levels": set(slow_candidates(model, narrow, room, True)[1][:budget]),
        "no path product": slow_best(slow_candidates(model, config.top_k, room, False)[0], budget),
        "neither": set(slow_candidates(model, config.top_k, room, False)[1][:budget]),
    }
    for name, kept in wanted.items():
        found = tree.GROWERS[name](ROOT, Draft(model), config, depth)
        found.check_invariants()
        assert set(paths(found)) == kept, name


@given(MODELS, tree_configs(), st.integers(0, 4))
def test_with_both_parts_the_tree_is_eagle_2s(model, config, depth):
    whole = tree.ablated(ROOT, Draft(model), config, depth, value=True, rerank=True)
    assert paths(whole) == paths(grow.confidence(ROOT, Draft(model), config, depth))


# ---- entropy ----


@given(st.integers(0, 2), st.lists(st.integers(0, 5), min_size=3, max_size=7))
def test_first_drafts_are_those_of_the_slow_networks(seed, ids):
    features, logits = slow_target(random_target(seed), ids)
    embed, lm_head = (weights(random_target(seed))[f"{name}.weight"] for name in ("embed", "lm_head"))
    guesses = slow_head(random_head(seed), features[:-1], embed[ids[1:]])
    found = entropy.first_drafts(random_target(seed), random_head(seed), ids).numpy()
    assert len(found) == len(ids) - 2
    for place, numbers in enumerate(found):
        law = np.exp(log_softmax(logits[place + 1]))
        draft = int(np.argmax(lm_head @ guesses[place]))
        wanted = [-(law * np.log2(law)).sum(), draft == np.argmax(law), law[draft], law.max()]
        np.testing.assert_allclose(numbers, wanted, atol=1e-9)


def test_places_are_counted_in_the_bin_of_their_entropy(monkeypatch):
    table = torch.tensor([[0.0, 1, 0.9, 0.9], [0.99, 0, 0.5, 0.7], [1.0, 1, 0.3, 0.3], [2.5, 0, 0.1, 0.2]])
    monkeypatch.setattr(entropy, "first_drafts", lambda *_: table.double())
    monkeypatch.setattr(entropy, "tree_row", lambda given, prompt: {"prompt": prompt})
    models = SimpleNamespace(target=SimpleNamespace(vocab_size=5))
    one = SimpleNamespace(
        models=models, prefixes=[SimpleNamespace(ids=[])], drafter=lambda name: SimpleNamespace(head=0)
    )
    *bins, easy, hard = entropy.measured(one)
    assert [(row["low"], row["high"], row["num_places"]) for row in bins] == [(0, 1, 2), (1, 2, 1), (2, 3, 1)]
    for row, wanted in zip(bins, ([0.495, 0.5, 0.7, 0.8], [1, 1, 0.3, 0.3], [2.5, 0, 0.1, 0.2])):
        assert [row[key] for key in ("entropy", "greedy", "sampled", "most")] == pytest.approx(wanted)
    assert (easy["prompt"], hard["prompt"]) == (entropy.EASY, entropy.HARD)


@pytest.mark.parametrize("prompt", [entropy.EASY, entropy.HARD])
def test_the_tree_that_is_shown_is_cut_where_the_target_goes_another_way(small_set, prompt):
    models = eagle_min.load(str(small_set))
    row = entropy.tree_row(Setting(models, SimpleNamespace(seed=0, head="eagle")), prompt)
    ids = models.tokenizer.prompt(prompt)
    accepted = row["drawn"].count("●") - 1
    greedy = eagle_min.generate(models.target, ids, max_new_tokens=accepted + 1).tokens
    assert row["drawn"].endswith(f"then the target's own: {label(models.tokenizer, greedy[-1])}")
    root = row["drawn"].splitlines()[1]
    assert root.startswith(f"● {label(models.tokenizer, ids[-1])}  (root")
    assert row["root_children"] == sum(line[0] in "├└" for line in row["drawn"].splitlines()[2:])


@pytest.mark.parametrize(("easy", "hard", "word"), [(1, 5, HOLDS), (5, 1, FAILS), (2, 2, OPEN)])
def test_the_easy_prompt_must_have_fewer_children(easy, hard, word):
    trees = {entropy.EASY: {"root_children": easy}, entropy.HARD: {"root_children": hard}}
    assert entropy.fewer_children(trees) == (word, f"tokens tried behind `10 + 2 =`: {easy}, behind `10 + 2`: {hard}")


def test_what_was_drawn_stands_below_the_table(capsys):
    rows = [{"low": 0, "high": 1, "num_places": 0}, {"prompt": "x", "drawn": "a tree"}]
    told = Experiment(
        "x", "Is it?", [], None, [entropy.COLUMNS], claim="it is so.", verdict=lambda rows: f"{len(rows)} rows"
    )
    said, table, drawn, verdict = runner.report(told, json.loads(json.dumps(rows))).split("\n\n")
    assert (said, drawn, verdict) == ("claim: it is so.", "a tree", "2 rows") and len(table.splitlines()) == 2
