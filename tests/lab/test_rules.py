"""`python -m eagle_min lab rules`: the laws it reads off a model, and the table it makes of them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import CONFIG, random_drafter, random_head, random_target, slow_head, slow_target, weights
from running import run_experiment

from eagle_min.config import TreeConfig
from eagle_min.lab import record
from eagle_min.lab.experiments import rules


def softmax(row: np.ndarray, temperature: float) -> np.ndarray:
    weights = np.exp((row - row.max()) / temperature)
    return weights / weights.sum()


@given(st.integers(0, 2), st.lists(st.integers(0, 5), min_size=2, max_size=6), st.sampled_from([0.5, 1.0, 1.5]))
def test_the_laws_behind_a_prefix_are_those_of_the_slow_networks(seed, ids, temperature):
    """One call on the whole vocabulary reads what reading each token alone would give."""
    drafter = random_drafter(seed=seed, tree=TreeConfig(num_nodes=CONFIG.vocab_size + 1))
    laws = rules.laws_at(rules.logits_behind(drafter, ids), temperature)
    target, lm_head = random_target(seed), weights(random_target(seed))["lm_head.weight"]
    embed = weights(target)["embed.weight"]
    features, logits = slow_target(target, ids)
    np.testing.assert_allclose(laws.p, softmax(logits[-1], temperature), atol=1e-9)
    guesses = slow_head(random_head(seed), features[:-1], embed[ids[1:]])
    np.testing.assert_allclose(laws.q, softmax(lm_head @ guesses[-1], temperature), atol=1e-9)
    for token in range(CONFIG.vocab_size):
        np.testing.assert_allclose(
            laws.second_p[token], softmax(slow_target(target, [*ids, token])[1][-1], temperature), atol=1e-9
        )
        own = np.concatenate([features[:-1], guesses[-1:]])
        second = slow_head(random_head(seed), own, embed[[*ids[1:], token]])[-1]
        np.testing.assert_allclose(laws.second_q[token], softmax(lm_head @ second, temperature), atol=1e-9)


def test_no_rule_is_above_its_bound_on_the_pairs_that_are_written_down():
    for pair in rules.PAIRS.values():
        figures = rules.figures_of(rules.written_down(*pair))
        assert all(isinstance(value, Fraction) for value in figures.values())
        for (drafts, rule), value in figures.items():
            assert value <= figures.get((drafts, "bound"), value), (drafts, rule)


def test_the_command_stores_a_row_for_each_rule(small_set, small_text, tmp_path, capsys):
    path = tmp_path / "rules.json"
    assert run_experiment(rules.EXPERIMENT, "--model", small_set, "--prefixes", 2, "--json", path) == 0
    rows = record.read_rows(path)
    assert [(row["drafts"], row["rule"]) for row in rows] == list(rules.RULES)
    assert all(0 <= row[world] <= 2 for row in rows for world in rules.WORLDS)
    assert "block verification" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prefixes", "0"], "prefixes must be at least 1, got 0"),
        (["--seed", "-1"], "seed must be between 0 and"),
        (["--head", "none"], "none"),
    ],
)
def test_a_bad_option_is_refused(small_set, small_text, words, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        run_experiment(rules.EXPERIMENT, "--model", small_set, *words)
