"""Is this sampler lossless? The search for a world in which it is not, and the verdict when there is none.

Hypothesis draws worlds, and a few are tried always. In each the sampler's law, over one cycle or two, is enumerated and
compared with the target's own, which is a product of table entries. With Fractions the comparison is `==`; with
floats the laws may be 1e-6 apart in total variation. Where they differ, Hypothesis looks for a smaller world with
the same fault. What cannot be enumerated makes the verdict "undecided", with the reason. Read next: `bet.py`.
"""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Flaky

from ...config import is_count, require
from ..law import BranchLimit, HiddenState, Limits, total_variation
from ..no_verdict import Undecided
from ..undrawn.watch import none_unwatched, watched
from ..worlds.decodings import AnyWorld, in_fractions
from .call import BrokenContract, OutOfTime
from .kinds import KINDS, most_accepted
from .report import report
from .sampler import Sampler
from .verdict import TOLERANCE, Counterexample, Verdict

LIMITS = Limits(max_branches=20_000, max_seconds=60.0)  # of the law of one cycle

REFUSED_EQUAL = (
    "where p = q a draft is refused or the bonus missing: a match walk may, a rule that accepts with p/q must not"
)

SEARCH = settings(
    database=None,
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


class Refuted(Exception):
    """Raised towards Hypothesis, which then looks for a smaller world."""


def certify(
    function: Callable,
    kind: str,
    *,
    exact: bool = False,
    bits: int | None = None,
    num_worlds: int = 40,
    limits: Limits = LIMITS,
) -> Verdict:
    """Judge `function` as a sampler of this kind (see `kinds.py`).

    exact: hand over Fractions instead of float64, and compare with ==. bits: let uniform numbers be multiples of
    2^-bits, and ask only for what must not happen at all (`judge_support`). num_worlds: so many are drawn, and those of
    `always_tried.py` come behind them. limits: for the law of one cycle. ValueError for an unknown kind, a number
    out of range, or a function that cannot be called as its kind says.
    """
    check_options(kind, bits, num_worlds, limits)
    row = KINDS[kind]
    sampler, verdict = Sampler(function, row, exact, limits, bits), Verdict(kind, exact, bits)

    def search(drawn: AnyWorld) -> None:
        equal = [replace(drawn, draft=drawn.target)] if bits is not None and row.tries_equal else []
        for world in (drawn, *equal):
            try_world(sampler, world, verdict)

    try:
        worlds = row.drawn.filter(in_fractions) if exact else row.drawn
        settings(SEARCH, max_examples=num_worlds)(given(worlds)(search))()
        for world in row.always_tried:
            try_and_confirm(search, world)
    except Refuted:
        verdict.status, found = "refuted", verdict.counterexample
        if bits is None and found.broken is None:
            verdict.counterexample = replace(found, known=known_faults_like(sampler, found))
    except Flaky:
        verdict.status = "undecided"
        verdict.reason = "hidden state: wrong in a world, then right in the same"
    verdict.num_branches, verdict.corners = sampler.num_branches, list(dict.fromkeys(sampler.corners))
    return verdict


def check_options(kind: str, bits: int | None, num_worlds: int, limits: Limits) -> None:
    """ValueError, one line, for one that is not allowed."""
    require(kind in KINDS, "kind", kind, f"one of {', '.join(KINDS)}")
    require(is_count(num_worlds), "worlds", num_worlds, "an integer of at least 1")
    require(bits is None or (is_count(bits) and bits <= 24), "bits", bits, "an integer between 1 and 24")
    require(isinstance(limits, Limits), "limits", limits, "Limits")


def try_and_confirm(search: Callable[[AnyWorld], None], world: AnyWorld) -> None:
    """Judge a world that is not drawn. `Refuted` when the sampler is wrong there twice; `Flaky` when it is right the
    second time, which Hypothesis raises for worlds that it draws."""
    try:
        search(world)
    except Refuted:
        search(world)
        raise Flaky("right the second time") from None


def try_world(sampler: Sampler, world: AnyWorld, verdict: Verdict) -> None:
    """Judge one world, unless no more can be learned; `Refuted` when the sampler is wrong there."""
    if verdict.status == "undecided":
        return  # nothing that could come would decide it
    if verdict.hangs is None:
        found = what_is_wrong(sampler, world, verdict)
    else:  # looking for a smaller world would take as long again, each time
        found = verdict.counterexample if world == verdict.hangs else None
    if found is not None:
        verdict.counterexample = found
        raise Refuted  # here alone and behind no other error: Hypothesis tells failures apart by where they arise


def what_is_wrong(sampler: Sampler, world: AnyWorld, verdict: Verdict) -> Counterexample | None:
    """What speaks against the sampler in one world. None: nothing does, and the verdict rests on this world too, or
    has become "undecided"."""
    try:
        with watched(), none_unwatched():
            return (judge if verdict.bits is None else judge_support)(sampler, world, verdict)
    except BrokenContract as error:
        if isinstance(error.__cause__, OutOfTime):
            verdict.hangs = world
        return Counterexample(world, {}, {}, str(error))
    except (Undecided, BranchLimit, HiddenState) as error:
        if verdict.counterexample is None:  # else it was looking for a smaller one: this is none
            verdict.status, verdict.reason = "undecided", str(error)
        return None


def judge(sampler: Sampler, world: AnyWorld, verdict: Verdict) -> Counterexample | None:
    """Compare the two laws in one world: the counterexample when they differ, else the world counts in the verdict.
    `BrokenContract` for what no sampler may do, `Undecided`, `BranchLimit` or `HiddenState` for what has no law."""
    got, first_cycle = sampler.kind.laws.got(sampler, world)
    wanted = sampler.kind.laws.wanted(world)
    distance = total_variation(got, wanted)
    if sampler.exact and 0 < distance <= TOLERANCE and any(isinstance(chance, float) for chance in got.values()):
        raise Undecided("the sampler computes with floats, and Fractions were to be compared")
    if distance > (0 if sampler.exact else TOLERANCE):
        return Counterexample(world, got, wanted)
    verdict.add_passed(world, distance)
    if first_cycle:
        verdict.committed += sum(len(text) * chance for text, chance in first_cycle.items())
        verdict.committed_at_most += most_accepted(world, verdict.kind) + 1
    return None


def judge_support(sampler: Sampler, world: AnyWorld, verdict: Verdict) -> Counterexample | None:
    """Where uniform numbers are multiples of 2^-bits: the counterexample when a text comes to which the target gives
    probability 0. Errors as `judge`.

    That a draft is refused though p = q is no fault of a law: a match walk does it most of the time. A rule that
    accepts with p/q does it only when it compares the wrong way at the end of the unit interval, so it is noted.
    """
    got, first_cycle = sampler.kind.laws.got(sampler, world)
    wanted = sampler.kind.laws.wanted(world)
    impossible = {text: chance for text, chance in got.items() if not wanted.get(text)}
    if impossible:
        return Counterexample(world, impossible, {})
    if sampler.kind.tries_equal and world.draft == world.target:
        if any(chance and len(text) <= world.num_drafted for text, chance in first_cycle.items()):
            sampler.corners.append(REFUSED_EQUAL)
    verdict.num_worlds += 1
    return None


def known_faults_like(sampler: Sampler, found: Counterexample) -> str | None:
    """The known faults of the sampler's kind that have the same law in this world, in a small one perhaps more than
    one; None when there is none."""
    names = []
    for known in sampler.kind.known_faults:
        other = Sampler(known.sampler, sampler.kind, sampler.exact, sampler.limits)
        try:
            law, _ = other.got_and_wanted(found.world)
        except (BrokenContract, BranchLimit):
            continue
        if total_variation(law, found.got) <= TOLERANCE:
            names.append(f"{known.name} ({known.origin})")
    return ", or: ".join(names) or None


def assert_lossless(function: Callable, kind: str, **options: object) -> Verdict:
    """AssertionError, with the report, unless `function` is exact on every world tried. Options as
    `certify` takes them."""
    verdict = certify(function, kind, **options)
    assert verdict.status == "exact", report(verdict)
    return verdict
