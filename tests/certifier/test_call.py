"""What a function under test may not do is a verdict with its world; what only rounding reaches is a corner."""

import random

import pytest
import samplers

from eagle_min.exactness import certify
from eagle_min.exactness.judge.report import report
from eagle_min.exactness.law import Limits


def test_what_only_rounding_can_reach_is_a_corner_and_no_refutation():
    """p / q is 1 on paper and a little less in floats: the refusal, which never is, finds no law to draw from."""

    def fragile(draft_tokens, draft_probs, target_probs):
        if random.random() >= 1 - 1e-16:
            raise ZeroDivisionError("no law left")
        return samplers.chain_numpy(draft_tokens, draft_probs, target_probs)

    verdict = certify(fragile, "chain", num_worlds=5)
    assert verdict.status == "exact"
    assert any("1e-16 the function raised ZeroDivisionError: no law left" in corner for corner in verdict.corners)

    def broken(draft_tokens, draft_probs, target_probs):
        if random.random() >= 1 - 1e-4:
            raise ZeroDivisionError("no law left")
        return samplers.chain_numpy(draft_tokens, draft_probs, target_probs)

    assert certify(broken, "chain", num_worlds=5).status == "refuted"


def test_a_sampler_that_does_not_return_is_refuted_in_one_world():
    def waits(draft_tokens, draft_probs, target_probs):
        while True:
            try:
                while True:
                    pass
            except Exception:  # what interrupts it must not be caught here
                pass

    verdict = certify(waits, "chain", limits=Limits(call_seconds=0.2))
    assert verdict.status == "refuted" and verdict.counterexample.broken == "did not return within 0.2 seconds"
    assert "the smallest world found" in report(verdict)


def test_a_call_that_ran_out_of_time_and_hid_it_is_refuted_too():
    def hides(draft_tokens, draft_probs, target_probs):
        try:
            while True:
                pass
        except:  # noqa: E722
            return samplers.chain_numpy(draft_tokens, draft_probs, target_probs)

    verdict = certify(hides, "chain", limits=Limits(call_seconds=0.2))
    assert verdict.status == "refuted" and verdict.counterexample.broken == "did not return within 0.2 seconds"


@pytest.mark.parametrize("kind", ["chain", "tree", "batch", "loop"])
def test_a_sampler_that_changes_its_arguments_is_refuted(kind):
    def scratches(*arguments):
        rows = arguments[-1][0] if kind == "batch" else arguments[-1]
        if kind == "loop":
            arguments[2].append(0)
        else:
            rows[0] = 0
        return [[0], [0]] if kind == "batch" else [0]

    def named(draft_tokens, draft_probs, target_probs):
        return scratches(draft_tokens, draft_probs, target_probs)

    verdict = certify(named if kind in ("chain", "batch") else scratches, kind)
    assert verdict.status == "refuted"
    assert verdict.counterexample.broken.startswith("changed its argument number 3")


class Unshowable(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SystemExit(0), "raised SystemExit: 0"),  # a clean exit would be taken for a verdict
        pytest.param(GeneratorExit(), "raised GeneratorExit: ", marks=pytest.mark.ci),
        pytest.param(Unshowable(), "raised Unshowable, which cannot be shown", marks=pytest.mark.ci),
        (ValueError("x" * 10**6), "raised ValueError: xxx"),
    ],
)
def test_whatever_a_sampler_raises_is_a_refutation_of_a_few_words(error, words):
    def raises(*_):
        raise error

    verdict = certify(raises, "chain", num_worlds=3)
    assert verdict.status == "refuted" and words in verdict.counterexample.broken
    assert len(verdict.counterexample.broken) < 400


def test_a_person_may_still_interrupt():
    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify(interrupted, "chain", num_worlds=3)
