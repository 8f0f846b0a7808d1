"""Typical acceptance: its law by enumeration, that it is not the target's, and the command that measures both."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from faulty_samplers.row import P, Q
from hypothesis import given
from hypothesis import strategies as st
from networks import drafter_of, random_target, slow_target
from oracles import token_path
from running import run_experiment
from strategies import worlds_and_trees

from eagle_min.checkpoint import save_model
from eagle_min.config import ModelConfig, SamplingConfig
from eagle_min.drafters.medusa import MedusaHeads
from eagle_min.exactness.acceptance import typical
from eagle_min.exactness.acceptance.typical import BONUSES, Typical
from eagle_min.exactness.law import law, total_variation
from eagle_min.lab import record
from eagle_min.lab.experiments.typical import EXPERIMENT, figures
from eagle_min.lab.instruments.measures import first_tree
from eagle_min.sampling import next_token_law
from eagle_min.tree import DraftTree, children
from eagle_min.verify import match_walk

bonuses = pytest.mark.parametrize("bonus", BONUSES)
rules = st.builds(Typical, st.sampled_from([0.01, 0.09, 0.3, 0.9]), st.sampled_from([0.1, 0.3, 1.0]))


def laws_of(world, tree: DraftTree) -> np.ndarray:
    """(N, V) Fractions, as this world has them."""
    law_at = world.law_at(tree, world.history)
    return np.array([law_at(node) for node in range(len(tree))])


def slow_typical(tree: DraftTree, laws: np.ndarray, rule: Typical, bonus: str, dice) -> tuple[int, ...]:
    """A cycle as the official code goes about it: each leaf is a candidate, cut where a token fails; of the longest
    the likeliest. The tokens committed."""
    candidates = []  # (length, likelihood, node)
    for leaf in (node for node, below in enumerate(children(tree.parents)) if not below):
        nodes = [leaf]
        while nodes[0]:
            nodes.insert(0, tree.parents[nodes[0]])
        length, chance = 0, Fraction(1)
        for parent, node in zip(nodes, nodes[1:]):
            p = laws[parent]
            entropy = -sum(float(x) * math.log(x) for x in p if x)
            if not p[tree.tokens[node]] > min(rule.epsilon, rule.delta * math.exp(-entropy)):
                break
            length, chance = length + 1, chance * p[tree.tokens[node]]
        candidates.append((length, chance, -nodes[length]))
    last = -max(candidates)[2]  # equally likely: the first
    p = laws[last]
    token = list(p).index(max(p)) if bonus == "argmax" else dice.categorical(p, ("bonus",))
    return (*token_path(tree.tokens, tree.parents, last), token)


@bonuses
def test_the_law_of_the_first_token_is_what_enumeration_gives(bonus):
    @given(worlds_and_trees(), rules)
    def check(both, rule):
        world, tree = both
        laws = laws_of(world, tree)
        found = typical.first_token_law(tree, laws, rule, BONUSES[bonus])
        first = law(lambda dice: slow_typical(tree, laws, rule, bonus, dice)[0])
        assert {token: p for token, p in enumerate(found) if p} == first
        exact = law(lambda dice: match_walk_tokens(tree, laws, dice)[0])
        error = typical.first_token_error(tree, laws, rule, BONUSES[bonus])
        assert isinstance(error, Fraction) and error == total_variation(first, exact)

    check()


def match_walk_tokens(tree: DraftTree, laws: np.ndarray, dice) -> tuple[int, ...]:
    """The tokens that the exact rule commits."""
    path, bonus = match_walk(tree, lambda node: laws[node], dice, 5)
    return (*token_path(tree.tokens, tree.parents, path[-1]), bonus)


@given(worlds_and_trees(), rules)
def test_the_numbers_accepted_are_what_enumeration_gives(both, rule):
    world, tree = both
    laws = laws_of(world, tree)
    exact = law(lambda dice: len(match_walk_tokens(tree, laws, dice)) - 1)
    assert typical.accepted_exactly(tree, laws) == sum(count * chance for count, chance in exact.items())
    [count] = law(lambda dice: len(slow_typical(tree, laws, rule, "draw", dice)) - 1)
    assert len(typical.accepted_path(tree, laws, rule)) - 1 == count


@bonuses
def test_the_error_of_a_cycle_is_what_enumeration_gives(bonus):
    """All tokens of a cycle, against plain decoding of as many."""

    @given(worlds_and_trees(), rules)
    def check(both, rule):
        world, tree = both
        laws = laws_of(world, tree)
        committed = law(lambda dice: slow_typical(tree, laws, rule, bonus, dice))
        [length] = {len(tokens) for tokens in committed}

        def plain(dice) -> tuple[int, ...]:
            text = world.history
            for place in range(length):
                text = (*text, dice.categorical(world.target.weights(text), ("token", place)))
            return text[len(world.history) :]

        found = typical.cycle_error(tree, laws, rule, BONUSES[bonus])
        assert found == total_variation(committed, law(plain))
        assert typical.first_token_error(tree, laws, rule, BONUSES[bonus]) <= found

    check()


def test_typical_acceptance_is_biased_as_much_as_the_catalogue_says():
    """Drafts drawn from q are all accepted where p is nowhere below .09: the text has the draft's law, not the
    target's."""
    p, q = np.array(P), np.array(Q)
    mixed = p * 0
    for token, chance in enumerate(q):
        tree, laws = DraftTree((0, token), (-1, 0), (0.0, 0.0)), np.array([p, p])
        assert typical.first_token_error(tree, laws, Typical(), BONUSES["draw"]) == 1 - p[token]
        mixed += chance * typical.first_token_law(tree, laws, Typical(), BONUSES["draw"])
    assert list(mixed) == list(q)
    assert abs(mixed - p).sum() / 2 == Fraction(3, 10)


def test_a_greedy_target_is_kept():
    """At temperature 0 the threshold lies between 0 and 1, and so the rule is the exact one."""
    peak = np.array([0.0, 1.0, 0.0])
    laws = np.array([peak] * 3)
    for tokens in ((0, 1, 2), (0, 0, 2)):
        tree = DraftTree(tokens, (-1, 0, 0), (0.0, 0.0, 0.0))
        assert typical.cycle_error(tree, laws, Typical(), BONUSES["argmax"]) == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.09, 0.3), (0.5, 0.3), (0.01, 1.0)])
def test_the_threshold_is_the_papers(epsilon, delta):
    law = np.array([0.5, 0.25, 0.25, 0.0])  # an entropy of 1.5 bits
    assert math.isclose(Typical(epsilon, delta).threshold(law), min(epsilon, delta * 2**-1.5))


@given(st.integers(0, 2), st.lists(st.integers(0, 5), min_size=2, max_size=8))
def test_the_first_cycle_is_read_as_decoding_would(seed, ids):
    """The logits at each node are those of its path alone, by the slow network."""
    tree, rows = first_tree(random_target(seed), drafter_of("medusa", seed), ids)
    assert tree.tokens[0] == ids[-1] and len(tree) > 1
    for node in range(len(tree)):
        text = [*ids, *token_path(tree.tokens, tree.parents, node)]
        np.testing.assert_allclose(rows[node], slow_target(random_target(seed), text)[1][-1], atol=1e-9)


def test_figures_are_means_over_the_cycles():
    cycles = [first_tree(random_target(0), drafter_of("medusa", 0), ids) for ids in ([1, 2], [3, 4, 5])]
    row = figures(cycles, SamplingConfig(0.7), Typical(), "argmax")
    known = [(tree, np.array([next_token_law(r, SamplingConfig(0.7)) for r in rows])) for tree, rows in cycles]
    errors = [typical.first_token_error(*cycle, Typical(), BONUSES["argmax"]) for cycle in known]
    assert row["first_token_mean"] == pytest.approx(sum(errors) / 2) and row["first_token_max"] == max(errors)
    assert row["accepted_exact"] == pytest.approx(sum(typical.accepted_exactly(*cycle) for cycle in known) / 2)


@pytest.fixture
def with_medusa(small_set, small_text, tmp_path):
    """The small set of `test_lab`, with Medusa heads; the text of the command is the small one."""
    card = json.loads((small_set / "target.json").read_text())
    with torch.random.fork_rng():
        torch.manual_seed(1)
        heads = MedusaHeads(ModelConfig(**card["config"]), 2, ["0", "1", "00"])
    own = {"kind": "medusa", "target_sha256": card["sha256"], "heads": 2, "paths": list(heads.paths)}
    save_model(heads, small_set, "medusa", own)
    yield small_set
    for path in small_set.glob("medusa.*"):
        path.unlink()


def test_the_command_stores_a_row_for_each_temperature_and_bonus(with_medusa, tmp_path, capsys):
    path = tmp_path / "typical.json"
    words = ("--model", with_medusa, "--prefixes", 3, "--temperatures", "0,0.7", "--json", path)
    assert run_experiment(EXPERIMENT, *words) == 0
    rows = record.read_rows(path)
    assert [(row["temperature"], row["bonus"]) for row in rows] == [(t, b) for t in (0, 0.7) for b in BONUSES]
    assert all(row["epsilon"] == 0.09 and row["delta"] == 0.3 and row["lossless"] is False for row in rows)
    assert all(row["first_token_max"] == row["cycle_max"] == 0 for row in rows[:2])
    assert all(0 <= row["first_token_mean"] <= row["cycle_mean"] <= 1 for row in rows)
    assert list(rows[0]["heads_sha256"]) == ["medusa"]
    assert "typical (lossy)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prefixes", "0"], "prefixes must be at least 1, got 0"),
        (["--seed", "-1"], "seed must be between 0 and"),
        (["--epsilon", "0"], "epsilon must be above 0 and at most 1, got 0.0"),
        (["--delta", "nan"], "delta must be above 0 and at most 1, got nan"),
        (["--temperatures", "warm"], "temperature must be finite and at least 0, got 'warm'"),
        (["--heads", "others"], "no model 'others'"),
        (["--heads", "eagle"], "kind of 'eagle' in .* must be 'medusa', got 'head'"),
    ],
)
def test_a_bad_option_is_refused(with_medusa, words, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        run_experiment(EXPERIMENT, "--model", with_medusa, *words)
