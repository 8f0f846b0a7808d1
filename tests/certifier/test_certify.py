"""The certifier: right samplers pass, wrong ones are refuted by a small world, the rest is undecided."""

import importlib
import random
import re
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import samplers
import torch
from hypothesis import given
from hypothesis import strategies as st

from eagle_min.exactness import assert_lossless, certify
from eagle_min.exactness.acceptance import rules
from eagle_min.exactness.judge.kinds import KINDS
from eagle_min.exactness.judge.report import report
from eagle_min.exactness.judge.sampler import Sampler
from eagle_min.exactness.law import Limits, law
from eagle_min.exactness.undrawn.number import UndrawnNumber
from eagle_min.exactness.undrawn.uniform import LatticeUniform, Uniform
from eagle_min.exactness.undrawn.watch import drawing_from, watched
from eagle_min.exactness.worlds.tables import Table, World

certifier = importlib.import_module("eagle_min.exactness.judge.search")  # its name is that of its function

WRONG = [
    *(("chain", name) for name in ("residual_from_target", "one_coin", "row_too_late")),
    ("tree", "siblings_not_renormalised"),
    ("tree-sampled", "recursive_iid"),
    ("tree-iid", "recursive"),
    ("batch", "batch_with_one_coin"),
    ("loop", "decoder_past_the_stop"),
    ("loop", "decoder_without_filter"),
]
QUICK = ("residual_from_target",)  # the others in the ci tier
SLOWER = ("chain_random", "chain_torch_in_place", "one_number_rescaled", "recursive_iid")  # right ones of the ci tier
UNDECIDED = {
    "looks_at_the_number": r"the code looks at the random number itself, as a float, .* \(samplers\.py:\d+\)",
    "races": r"two random numbers are compared: an exponential or Gumbel race .* \(samplers\.py:\d+\)",
    "draws_exponentials": r"a race of exponential numbers cannot be enumerated \(samplers\.py:\d+\)",
    "seeds": r"a seed or a saved state of the generator cannot be enumerated \(samplers\.py:\d+\)",
    "remembers": "hidden state: .*",
    "draws_without_end": "a run of the program asks more than 1000 questions",
}


@pytest.fixture(autouse=True)
def module_under_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The samplers' generator as it would be had the certifier imported the file."""
    with watched():
        monkeypatch.setattr(samplers, "GENERATOR", np.random.default_rng(0))


@pytest.mark.parametrize(
    ("kind", "name"),
    [pytest.param(*row, marks=[pytest.mark.ci] if row[1] in SLOWER else []) for row in samplers.RIGHT],
)
def test_right_samplers_are_exact(kind, name):
    verdict = assert_lossless(getattr(samplers, name), kind, num_worlds=5)
    assert verdict.num_worlds > 5 and verdict.num_branches > 30
    assert kind in ("batch", "loop") or 1 <= verdict.committed <= verdict.committed_at_most + 1e-9


def test_fractions_are_compared_with_equality():
    verdict = assert_lossless(samplers.chain_dice, "chain", exact=True, num_worlds=15)
    assert verdict.fractions and verdict.largest_distance == 0 and isinstance(verdict.committed, Fraction)
    assert "exact (==) on all" in report(verdict)


RULES = {"token_by_token": "chain", "block": "chain", "traversal": "tree-sampled", "k_seq": "tree-iid"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.ci] if name == "k_seq" else []) for name in RULES]
)
def test_further_rules_are_exact_and_stay_below_the_bound(name):
    verdict = assert_lossless(getattr(rules, name), RULES[name], exact=True, num_worlds=12)
    assert verdict.largest_distance == 0
    assert verdict.committed <= verdict.committed_at_most


@pytest.mark.ci
def test_block_verification_accepts_more_than_token_by_token_and_no_more_than_the_bound():
    """Also the example of the paper: p = (1/3, 2/3), q = (2/3, 1/3), two drafts: 10/9 and 11/9 accepted."""
    best = certify(rules.block, "chain", exact=True, num_worlds=12)
    usual = certify(rules.token_by_token, "chain", exact=True, num_worlds=12)
    assert usual.committed < best.committed <= best.committed_at_most == usual.committed_at_most
    p, q = (Fraction(1, 3), Fraction(2, 3)), (Fraction(2, 3), Fraction(1, 3))
    world = World(Table((p, p)), Table((q, q)), (-1, 0, 1), (0, 0, 0))
    for rule, wanted in ((rules.token_by_token, Fraction(10, 9)), (rules.block, Fraction(11, 9))):
        first = Sampler(rule, KINDS["chain"], True, Limits()).cycle_law(world, ())
        assert sum((len(text) - 1) * chance for text, chance in first.items()) == wanted


def test_without_replacement_traversal_accepts_more_than_level_by_level():
    """Two children and one below each: 1.4346 accepted, enumerated independently; level by level 1.3746."""
    p, q = (tuple(Fraction(w, 10) for w in ws) for ws in ((5, 3, 2), (2, 5, 3)))
    world = World(Table((p, p)), Table((q, q)), (-1, 0, 0, 1, 2), (0, 0, 1, 0, 0))
    first = Sampler(rules.traversal, KINDS["tree-sampled"], True, Limits()).cycle_law(world, ())
    assert round(float(sum((len(text) - 1) * chance for text, chance in first.items())), 4) == 1.4346


@pytest.mark.parametrize(
    ("kind", "name"),
    [pytest.param(*row, marks=[] if row[1] in QUICK else [pytest.mark.ci]) for row in WRONG],
)
def test_wrong_samplers_are_refuted_by_a_small_world(kind, name):
    verdict = certify(getattr(samplers, name), kind)
    assert verdict.status == "refuted"
    found = verdict.counterexample
    world = found.world.world if kind == "loop" else found.world
    assert world.num_drafted <= 3 and world.target.vocab_size <= 4
    assert found.broken or sum(found.got.values()) == pytest.approx(1) == sum(found.wanted.values())
    text = report(verdict)
    assert text.startswith("REFUTED") and "wanted" in text or "the function r" in text
    with pytest.raises(AssertionError, match="REFUTED"):
        assert_lossless(getattr(samplers, name), kind)


@pytest.mark.parametrize(
    "kind", [*(pytest.param(each, marks=pytest.mark.ci) for each in ("chain", "tree")), "tree-sampled"]
)
def test_known_faults_are_refuted_and_named(kind):
    """By their own name, though the smallest world may suit another fault as well; half of them have it alone."""
    alone = 0
    for known in KINDS[kind].known_faults:
        verdict = certify(known.sampler, kind)
        named = verdict.counterexample.known
        assert verdict.status == "refuted" and f"{known.name} ({known.origin})" in named
        assert f"the law is that of a known fault: {named}" in report(verdict)
        alone += ", or: " not in named
    assert 2 * alone >= len(KINDS[kind].known_faults)


def test_a_known_fault_that_takes_too_many_branches_names_nothing():
    world = World(*(Table(((Fraction(1, 2), Fraction(1, 2)),)) for _ in range(2)), (-1, 0), (0, 0))
    sampler = Sampler(samplers.chain_dice, KINDS["chain"], True, Limits(max_branches=1))
    assert certifier.known_faults_like(sampler, certifier.Counterexample(world, {}, {})) is None


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_cannot_be_enumerated_is_undecided_and_says_why(name):
    verdict = certify(getattr(samplers, name), "chain", num_worlds=10, limits=Limits(max_branches=50))
    assert verdict.status == "undecided"
    assert re.fullmatch(UNDECIDED[name], verdict.reason)


def test_a_refutation_stays_one_when_a_smaller_world_is_undecided(monkeypatch):
    def judge(sampler, world, verdict):
        if world.num_drafted == 2:
            return certifier.Counterexample(world, {}, {})
        if verdict.counterexample is not None:
            raise certifier.Undecided("too small to say")

    monkeypatch.setattr(certifier, "judge", judge)
    verdict = certify(samplers.chain_numpy, "chain")
    assert verdict.status == "refuted" and verdict.counterexample.world.num_drafted == 2


def test_time_is_bounded_too():
    verdict = certify(samplers.chain_numpy, "chain", limits=Limits(max_seconds=1e-9))
    assert verdict.status == "undecided" and "took more than" in verdict.reason


@pytest.mark.parametrize(
    "broken", [[], *(pytest.param(each, marks=pytest.mark.ci) for each in ([7], ["a"], [0, 1, 0, 1, 0], None))]
)
def test_what_no_sampler_may_return_is_refuted(broken):
    verdict = certify(lambda draft_tokens, draft_probs, target_probs: broken, "chain")
    assert verdict.status == "refuted" and verdict.counterexample.broken.startswith("returned")
    assert report(verdict).startswith("REFUTED: the contract of the kind chain is broken")


def test_a_sampler_that_raises_is_refuted():
    verdict = certify(lambda draft_tokens, draft_probs, target_probs: 1 / 0, "chain")
    assert verdict.counterexample.broken == "raised ZeroDivisionError: division by zero"


def test_sources_are_put_back_whatever_happens():
    before = random.random, np.random.rand, np.random.default_rng, torch.manual_seed, random.Random
    with pytest.raises(ZeroDivisionError), watched():
        assert np.random.default_rng is not before[2]
        raise ZeroDivisionError
    assert before == (random.random, np.random.rand, np.random.default_rng, torch.manual_seed, random.Random)
    assert isinstance(torch.rand(1), torch.Tensor)


# --- the numbers that nobody has drawn ---

MAPS = {
    "u < x": (lambda u, x: u < x, lambda x: x),
    "x > u": (lambda u, x: x > u, lambda x: x),
    "u >= x": (lambda u, x: u >= x, lambda x: 1 - x),
    "1 - u < x": (lambda u, x: 1 - u < x, lambda x: x),
    "u * 3 <= x": (lambda u, x: u * 3 <= x, lambda x: x / 3),
    "u / 2 + 1/4 < x": (lambda u, x: u / 2 + Fraction(1, 4) < x, lambda x: min(max(2 * x - Fraction(1, 2), 0), 1)),
    "-u > -x": (lambda u, x: -u > -x, lambda x: x),
    "1 / u > x": (lambda u, x: 1 / u > x, lambda x: min(1 / x, 1) if x else 1),
}


@pytest.mark.parametrize("name", MAPS)
@given(st.fractions(0, 1, max_denominator=12))
def test_a_comparison_has_the_probability_of_its_interval(name, x):
    question, chance = MAPS[name]
    found = law(lambda dice: bool(question(UndrawnNumber(Uniform(dice, ("u",), [])), x)))
    assert found.get(True, 0) == chance(x)


@given(st.lists(st.fractions(0, 1, max_denominator=8), min_size=1, max_size=4))
def test_several_questions_about_one_number_agree(thresholds):
    def program(dice):
        u = UndrawnNumber(Uniform(dice, ("u",), []))
        return tuple(u < x for x in thresholds)

    cuts = sorted({Fraction(0), Fraction(1), *thresholds})
    wanted = {}
    for low, high in zip(cuts, cuts[1:]):
        key = tuple(low < x for x in thresholds)
        wanted[key] = wanted.get(key, 0) + high - low
    assert law(program) == wanted


@given(st.integers(1, 6))
def test_a_rounded_number_picks_evenly(count):
    found = law(lambda dice: int(UndrawnNumber(Uniform(dice, ("u",), [])) * count))
    assert found == {number: Fraction(1, count) for number in range(count)}


def test_choices_of_every_source_have_their_weights():
    p = np.array([0.5, 0.25, 0.25])
    draws = {
        "numpy": lambda: int(np.random.choice(3, p=p)),
        "multinomial": lambda: int(np.random.multinomial(1, p).argmax()),
        "generator": lambda: int(np.random.default_rng().choice(3, p=p)),
        "python": lambda: random.choices([0, 1, 2], weights=[2, 1, 1])[0],
        "torch": lambda: torch.multinomial(torch.tensor(p), 1).item(),
        "distribution": lambda: torch.distributions.Categorical(torch.tensor(p)).sample().item(),
    }
    for name, draw in draws.items():

        def program(dice, draw=draw):
            with drawing_from(dice, corners=[]):
                return draw()

        with watched():
            found = law(program)
        assert found == pytest.approx({0: 0.5, 1: 0.25, 2: 0.25}), name


def test_without_replacement_the_second_draw_knows_the_first():
    def program(dice):
        with drawing_from(dice, corners=[]):
            return tuple(torch.multinomial(torch.tensor([2.0, 1.0, 1.0]), 2).tolist())

    with watched():
        found = law(program)
    assert found[0, 1] == pytest.approx(0.25) and found[1, 0] == pytest.approx(1 / 6) and (0, 0) not in found


@given(st.integers(1, 4), st.fractions(-1, 2, max_denominator=40), st.booleans())
def test_a_lattice_number_has_the_points_below_the_threshold(bits, x, closed):
    question = (lambda u: u <= x) if closed else (lambda u: u < x)
    found = law(lambda dice: bool(question(UndrawnNumber(LatticeUniform(dice, ("u",), [], bits)))))
    below = sum(k <= x * 2**bits if closed else k < x * 2**bits for k in range(2**bits))
    assert found.get(True, 0) == Fraction(below, 2**bits)


@pytest.mark.ci
def test_on_the_lattice_an_inclusive_comparison_lets_the_forbidden_through():
    """sgl-project/sglang #35771: a coin of exactly 0 is at most p / q = 0."""

    def inclusive(draft_tokens, draft_probs, target_probs):
        for place, token in enumerate(draft_tokens):
            if np.random.rand() * draft_probs[place, token] > target_probs[place, token]:
                rest = np.maximum(target_probs[place] - draft_probs[place], 0)
                return [*draft_tokens[:place], np.random.choice(len(rest), p=rest / rest.sum())]
        return [*draft_tokens, np.random.choice(target_probs.shape[1], p=target_probs[-1])]

    assert certify(inclusive, "chain", num_worlds=10).status == "exact"  # a single point has no probability
    verdict = certify(inclusive, "chain", bits=2)
    assert verdict.status == "refuted" and "with coins k / 2^2 the impossible happens" in report(verdict)
    assert certify(samplers.chain_numpy, "chain", bits=2, num_worlds=10).status == "exact"


def test_on_the_lattice_too_a_sampler_that_raises_where_draft_and_target_agree_is_refuted():
    def fails(draft_tokens, draft_probs, target_probs):
        if np.array_equal(draft_probs, target_probs[: len(draft_probs)]):
            raise ZeroDivisionError("nothing is left")
        return [int(np.argmax(target_probs[0]))]

    verdict = certify(fails, "chain", bits=2, num_worlds=10)
    assert verdict.counterexample.world.draft == verdict.counterexample.world.target
    assert verdict.counterexample.broken == "raised ZeroDivisionError: nothing is left"


def strict(draft_tokens, draft_probs, target_probs):
    """A comparison the wrong way round: refuses a draft of ratio 1 when the coin is 0, and the law is right."""
    for place, token in enumerate(draft_tokens):
        if not 1 - np.random.rand() < target_probs[place, token] / draft_probs[place, token]:
            rest = np.maximum(target_probs[place] - draft_probs[place], 0)
            rest = rest if rest.any() else target_probs[place]
            return [*draft_tokens[:place], np.random.choice(len(rest), p=rest / rest.sum())]
    return [*draft_tokens, np.random.choice(target_probs.shape[1], p=target_probs[-1])]


def match_on_a_chain(draft_tokens, draft_probs, target_probs):
    """The target's own draws; drafts are only guesses of them, which may be wrong though p = q."""
    return samplers.match([-1, *draft_tokens], range(-1, len(draft_tokens)), target_probs)


@pytest.mark.parametrize(
    ("sampler", "noted"),
    [
        (strict, True),
        pytest.param(match_on_a_chain, True, marks=pytest.mark.ci),
        pytest.param(samplers.chain_numpy, False, marks=pytest.mark.ci),
    ],
)
def test_on_the_lattice_a_draft_that_is_refused_though_p_is_q_is_noted_and_refutes_nothing(sampler, noted):
    assert certify(sampler, "chain", num_worlds=5).status == "exact"
    for bits in (2, 5):
        verdict = certify(sampler, "chain", bits=bits, num_worlds=4)
        assert verdict.status == "exact" and (certifier.REFUSED_EQUAL in verdict.corners) is noted
        assert report(verdict).count(f"numerical corner: {certifier.REFUSED_EQUAL}") == noted


@pytest.mark.parametrize(
    ("kind", "name"),
    [pytest.param(*row, marks=[] if row[0] in ("tree", "batch") else [pytest.mark.ci]) for row in samplers.RIGHT],
)
def test_no_right_sampler_is_refuted_on_the_lattice(kind, name):
    assert certify(getattr(samplers, name), kind, bits=3, num_worlds=3).status == "exact"


# --- other people's code ---


def by_transformers(draft_tokens, draft_probs, target_probs, raw: float = 0.0):
    """`transformers` as shipped. `raw`: the draft was drawn from `draft_probs`, but what is handed over is
    that law before a filter, mixed here with as much of an even one."""
    from transformers.generation.utils import _speculative_sampling

    count, vocab_size = draft_probs.shape
    q = (1 - raw) * torch.tensor(draft_probs) + raw / vocab_size
    ids = torch.tensor([[0, *draft_tokens]])
    kept, _ = _speculative_sampling(ids, q.log()[None], count, torch.tensor(target_probs).log()[None])
    return kept[0].tolist()


@pytest.mark.ci
def test_transformers_verifies_exactly_with_the_law_of_the_draft():
    pytest.importorskip("transformers.generation.utils")  # imported before a run is watched
    verdict = assert_lossless(by_transformers, "chain", num_worlds=15)
    assert any("u <= 0 holds for u = 0" in corner for corner in verdict.corners)  # its comparison is inclusive


@pytest.mark.ci
def test_transformers_with_the_raw_law_of_a_filtered_draft_is_refuted():
    """huggingface/transformers #47932: drawn from the filtered q, verified with the raw one."""
    pytest.importorskip("transformers.generation.utils")  # imported before a run is watched
    verdict = certify(partial(by_transformers, raw=0.5), "chain")
    assert verdict.status == "refuted"
