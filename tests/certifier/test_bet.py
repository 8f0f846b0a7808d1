"""The test by samples: what it refutes, what it says when it does not, and that its error rates are kept."""

import math
import random
import re
from fractions import Fraction

import numpy as np
import pytest
import samplers
import torch
from hypothesis import given
from hypothesis import strategies as st

from eagle_min.__main__ import main
from eagle_min.dice import uniform
from eagle_min.exactness.judge import bet as sample
from eagle_min.exactness.judge.bet import Evidence, certify_by_samples, drawn_worlds
from eagle_min.exactness.judge.kinds import KINDS
from eagle_min.exactness.judge.report import report

OTHERS = "--exact, --bits, --max-branches and --max-seconds"  # options of enumeration
RIGHT = [
    ("chain", "draws_exponentials"),
    ("chain", "one_number_rescaled"),
    ("tree", "match"),
    ("batch", "batch"),
    ("loop", "decoder"),
]
WRONG = [
    ("chain", "residual_from_target"),
    ("tree", "siblings_not_renormalised"),
    ("batch", "batch_with_one_coin"),
    ("loop", "decoder_past_the_stop"),
]


@pytest.fixture(autouse=True)
def one_state_of_all_generators() -> None:
    random.seed(1), np.random.seed(1), torch.manual_seed(1)


@pytest.mark.parametrize(("kind", "name"), RIGHT)
def test_a_right_sampler_is_not_refuted_and_not_called_exact(kind, name):
    verdict = certify_by_samples(getattr(samplers, name), kind, 200, num_worlds=4)
    assert verdict.status == "undecided" and verdict.num_worlds == 4
    assert "not refuted by 200 samples in each of 4 worlds" in report(verdict)


@pytest.mark.parametrize(("kind", "name"), WRONG)
def test_a_wrong_sampler_is_refuted_with_the_world_shown(kind, name):
    verdict = certify_by_samples(getattr(samplers, name), kind, 600, num_worlds=30)
    assert verdict.status == "refuted"
    assert "right sampler is refuted with probability at most 1e-06" in report(verdict)
    assert re.search("behind (nothing|0|1|2)", report(verdict))


def test_one_number_for_a_whole_call_is_enough_and_shared_with_no_draft(tmp_path, capsys):
    """The command starts all generators from one seed; were drafts drawn by another of them, a draft and the coin
    that accepts it would be one number."""
    sampler = f"{samplers.__file__}:one_number_rescaled"
    assert main(["certify", sampler, "--kind", "chain", "--sample", "1000", "--worlds", "4"]) == 3
    assert capsys.readouterr().out.startswith("undecided: not refuted by 1000 samples in each of 4 worlds")


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_no_generator_that_starts_from_the_seed_has_the_numbers_of_the_drafts(seed):
    random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
    sources = [random.random, random.Random(seed).random, np.random.rand, np.random.default_rng(seed).random]
    sources += [np.random.Generator(np.random.Philox(kind)).random for kind in (seed, np.random.SeedSequence(seed))]
    sources += [np.random.Generator(np.random.Philox(key=seed << bits)).random for bits in (0, 64)]
    sources += [lambda: torch.rand((), dtype=torch.float64).item(), lambda: uniform(seed, ("coin", 0))]
    drafts = sample.DrawnDice(seed).generator
    drawn = {drafts.random() for _ in range(200)}
    assert len(drawn) == 200 and not drawn & {source() for source in sources for _ in range(200)}


def test_what_is_drawn_has_its_weights():
    """A thousand draws, far from what anything but these weights would give."""
    dice = sample.DrawnDice(3)
    drawn = [dice.categorical(np.array([3, 0, 1], dtype=object), ()) for _ in range(1000)]
    assert 700 < drawn.count(0) < 800 and drawn.count(1) == 0
    assert 200 < sum(dice.accept(Fraction(1, 4), ()) for _ in range(1000)) < 300


def test_what_no_sampler_may_return_is_refuted_here_too():
    verdict = certify_by_samples(lambda draft_tokens, draft_probs, target_probs: [7], "chain", 10)
    assert verdict.counterexample.broken.startswith("returned [7]")


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.integers(1, 3))
def test_under_the_target_the_capital_is_worth_one_on_average(weights, length):
    """The mean over all sequences of texts of that length, in the target's law: the gambler gains nothing."""
    law = {(token,): Fraction(weight, sum(weights)) for token, weight in enumerate(weights)}
    sequences = {(): 1.0}
    for _ in range(length):
        sequences = {(*s, t): c * float(p) for s, c in sequences.items() for t, p in law.items()}
    mean = 0.0
    for sequence, chance in sequences.items():
        evidence = Evidence(law)
        for text in sequence:
            evidence.add(text)
        mean += chance * math.exp(evidence.log_capital)
    assert mean == pytest.approx(1)


def test_a_forbidden_text_is_enough():
    evidence = Evidence({(0,): Fraction(1), (1,): Fraction(0)})
    evidence.add((1,))
    assert evidence.log_capital == math.inf


def test_error_rates_are_those_of_all_worlds_together(monkeypatch):
    """In a world the capital of `enough` is reached by chance with a probability of exp(-enough) (Ville)."""
    false_alarms, risks = [], []
    gather = sample.gather

    def spied(sampler, world, dice, num_samples, enough):
        false_alarms.append(math.exp(-enough))
        return gather(sampler, world, dice, num_samples, enough)

    monkeypatch.setattr(sample, "gather", spied)
    monkeypatch.setattr(Evidence, "distance", lambda self, risk: risks.append(risk) or 0.0)
    certify_by_samples(samplers.chain_numpy, "chain", 1, num_worlds=4)
    assert len(false_alarms) == len(risks) == 4
    assert sum(false_alarms) == pytest.approx(sample.FALSE_ALARM) and sum(risks) == pytest.approx(sample.MISSED)


def test_the_stated_distance_shrinks_like_one_over_the_root_and_covers_what_was_counted():
    even = {(0,): Fraction(1, 2), (1,): Fraction(1, 2)}
    distances = []
    for count in (100, 10_000):
        evidence = Evidence(even)
        for number in range(count):
            evidence.add((number % 2,))
        distances.append(evidence.distance(1e-3))
    assert distances[0] == pytest.approx(10 * distances[1])
    assert distances[1] == pytest.approx(math.sqrt(2 / 10_000 * (3 * math.log(2) + 3 * math.log(10))) / 2)
    evidence = Evidence(even)
    for _ in range(10_000):
        evidence.add((0,))
    assert evidence.distance(1e-3) > 0.5


@pytest.mark.parametrize("kind", ["chain", "tree", "tree-sampled", "tree-iid", "batch", "loop"])
def test_texts_have_the_length_of_the_law_they_are_compared_with(kind):
    function = {"batch": "batch", "loop": "decoder", "chain": "chain_numpy", "tree": "match"}
    name = function.get(kind, "recursive_iid" if kind == "tree-iid" else "recursive")
    row = KINDS[kind]
    sampler = sample.UnwatchedSampler(getattr(samplers, name), row, False, sample.Limits())
    for world in drawn_worlds(row.drawn, 5):
        wanted = row.laws.wanted(world)
        assert sum(wanted.values()) == 1
        dice = sample.DrawnDice(3)
        for _ in range(20):
            assert wanted.get(row.laws.one_text(sampler, world, dice), 0) > 0


def test_the_command_says_the_same_twice_and_never_exact(capsys):
    words = [
        "certify",
        f"{samplers.__file__}:draws_exponentials",
        "--kind",
        "chain",
        "--sample",
        "300",
        "--worlds",
        "3",
    ]
    assert main(words) == 3
    first = capsys.readouterr().out
    assert first.startswith("undecided: not refuted by 300 samples in each of 3 worlds")
    assert main(words) == 3 and capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sample", "0"], "error: sample must be at least 1, got 0\n"),
        *(
            (["--sample", "5", *words], f"error: --sample must be without {OTHERS}, got 5\n")
            for words in (
                ["--exact"],
                ["--bits", "2"],
                ["--bits", "0"],
                ["--max-branches", "20000"],
                ["--max-seconds", "60"],
            )
        ),
        (["--sample", "5", "--worlds", "0"], "error: worlds must be at least 1, got 0\n"),
        (["--sample", "many"], "error: argument --sample: invalid int value: 'many'\n"),
    ],
)
def test_bad_options_are_one_line(words, message, capsys):
    assert main(["certify", f"{samplers.__file__}:match", "--kind", "tree", *words]) == 2
    assert capsys.readouterr().err == message
