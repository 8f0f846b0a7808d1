"""Is this sampler lossless? A verdict with its evidence, or a world, as small as was found, in which it is not.

Hypothesis draws worlds, and some are tried always; in each of them the sampler's law over one cycle or two is
enumerated and compared with the target's own, which is a product of table entries. With Fractions the comparison is
`==`; with floats the two laws may be 1e-6 apart in total variation, which roundings stay far below and
faults far above. Whatever cannot be enumerated is "undecided", and the reason says why: a verdict is never
a guess. Read next: `rules.py`.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from ...config import is_count, require
from ..acceptance.bounds import most_accepted
from ..acceptance.known_faults import name_of
from ..law import BranchLimit, HiddenState, Limits, Number, total_variation
from ..no_verdict import Undecided
from ..undrawn.watch import none_unwatched, watched
from ..worlds.always_tried import STANDING
from ..worlds.decodings import Decoding, decodings, got_texts, in_fractions, named, wanted_texts
from ..worlds.tables import World, batches, chains, hard_cases, independent, trees
from .call import BrokenContract, OutOfTime
from .cycles import all_cycles, batch_laws
from .kinds import TOLERANCE, Law, Sampler

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

WORLDS: dict[str, st.SearchStrategy[World | Decoding]] = {
    "chain": independent(chains()),
    "tree": independent(trees()),
    "tree-sampled": independent(trees(max_drafted=3)),
    "tree-iid": independent(trees(max_drafted=3, repeated=True)),
    "batch": independent(batches()),
    "loop": independent(decodings()),
}


@dataclass(frozen=True)
class Counterexample:
    """A world in which the law is wrong: the two laws, or what was returned that never may be."""

    world: World | Decoding
    got: Law
    wanted: Law
    broken: str | None = None
    known: str | None = None  # known faults with the same law, if there are any


@dataclass
class Verdict:
    """What was found, and what it rests on."""

    kind: str
    fractions: bool  # True: Fractions were compared with ==; else floats
    bits: int | None = None  # of the uniform numbers, where only the support was judged
    num_samples: int | None = None  # drawn in a world, where nothing was enumerated (`sample.py`)
    status: str = "exact"  # or "refuted", "undecided"
    reason: str = ""  # why undecided
    counterexample: Counterexample | None = None
    num_worlds: int = 0  # that passed
    num_branches: int = 0
    largest_distance: Number = 0  # total variation, over the worlds that passed
    most_tokens: int = 0  # of a vocabulary, in the worlds that passed
    most_drafted: int = 0  # drafts at once
    most_levels: int = 0  # drafts one behind the other
    hard: Counter = field(default_factory=Counter)  # hard case -> worlds that had it
    samplings: Counter = field(default_factory=Counter)  # what whole decoders were told -> worlds
    corners: list[str] = field(default_factory=list)  # what only rounding, a number of 0 or p = q brings about
    committed: Number = 0  # tokens of a first cycle, expected, summed over worlds
    committed_at_most: Number = 0  # an upper bound of the same for every exact rule
    hangs: World | Decoding | None = None  # where a call did not return


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
    """Judge `function` by the contract `kind` (see `contracts.py`).

    exact: hand over Fractions instead of float64, and compare with ==. bits: let uniform numbers be
    multiples of 2^-bits, and ask only for what must not happen at all (`judge_support`); each world of chains is
    tried a second time with the target for its draft. num_worlds: so many are drawn; those of `standing.py` come
    behind them. limits: for the law of one cycle. ValueError for an unknown kind, a number out of range, or a
    function that cannot be called as its kind says.
    """
    check_options(kind, bits, num_worlds, limits)
    sampler, verdict = Sampler(function, kind, exact, limits, bits), Verdict(kind, exact, bits)

    def search(drawn: World | Decoding) -> None:
        equal = [replace(drawn, draft=drawn.target)] if bits is not None and kind == "chain" else []
        for world in (drawn, *equal):
            try_world(sampler, world, verdict)

    try:
        worlds = WORLDS[kind].filter(in_fractions) if exact else WORLDS[kind]
        settings(SEARCH, max_examples=num_worlds)(given(worlds)(search))()
        for world in STANDING[kind]:
            insist(search, world)
    except Refuted:
        verdict.status, found = "refuted", verdict.counterexample
        if bits is None and found.broken is None:
            verdict.counterexample = replace(found, known=name_of(sampler, found.world, found.got))
    except Flaky:
        verdict.status = "undecided"
        verdict.reason = "hidden state: wrong in a world, then right in the same"
    verdict.num_branches, verdict.corners = sampler.num_branches, list(dict.fromkeys(sampler.corners))
    return verdict


def insist(search: Callable[[World | Decoding], None], world: World | Decoding) -> None:
    """Judge a world that is not drawn. `Refuted` when the sampler is wrong there twice; `Flaky` when it is right the
    second time, as Hypothesis has it for worlds that are drawn."""
    try:
        search(world)
    except Refuted:
        search(world)
        raise Flaky("right the second time") from None


def check_options(kind: str, bits: int | None, num_worlds: int, limits: Limits) -> None:
    """ValueError, one line, for one that is not allowed."""
    require(kind in WORLDS, "kind", kind, f"one of {', '.join(WORLDS)}")
    require(is_count(num_worlds), "worlds", num_worlds, "an integer of at least 1")
    require(bits is None or (is_count(bits) and bits <= 24), "bits", bits, "an integer between 1 and 24")
    require(isinstance(limits, Limits), "limits", limits, "Limits")


def try_world(sampler: Sampler, world: World | Decoding, verdict: Verdict) -> None:
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


def what_is_wrong(sampler: Sampler, world: World | Decoding, verdict: Verdict) -> Counterexample | None:
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


def laws(sampler: Sampler, world: World | Decoding) -> tuple[Law, Law, Law]:
    """Got and wanted; and the law of a first cycle, empty where there is no one cycle."""
    if isinstance(world, Decoding):
        return got_texts(sampler, world), dict(wanted_texts(world)), {}
    if sampler.kind == "batch":
        return (*batch_laws(sampler, world), {})
    first_cycle = sampler.cycle_law(world, ())
    return (*all_cycles(sampler, world, first_cycle), first_cycle)


def judge(sampler: Sampler, world: World | Decoding, verdict: Verdict) -> Counterexample | None:
    """Compare the two laws in one world: the counterexample when they differ, else the world counts in the verdict.
    `BrokenContract` for what no sampler may do, `Undecided`, `BranchLimit` or `HiddenState` for what has no law."""
    got, wanted, first_cycle = laws(sampler, world)
    distance = total_variation(got, wanted)
    if sampler.exact and 0 < distance <= TOLERANCE and any(isinstance(chance, float) for chance in got.values()):
        raise Undecided("the sampler computes with floats, and Fractions were to be compared")
    if distance > (0 if sampler.exact else TOLERANCE):
        return Counterexample(world, got, wanted)
    verdict.num_worlds += 1
    verdict.largest_distance = max(verdict.largest_distance, distance)
    if isinstance(world, Decoding):
        verdict.samplings[named(world.sampling)] += 1
    note_sizes(verdict, world.world if isinstance(world, Decoding) else world)
    if first_cycle:
        verdict.committed += sum(len(text) * chance for text, chance in first_cycle.items())
        verdict.committed_at_most += most_accepted(world, sampler.kind) + 1
    return None


def note_sizes(verdict: Verdict, world: World) -> None:
    """What a world that passed adds to what the verdict rests on."""
    num_drafted = sum(world.sizes) if verdict.kind == "batch" else world.num_drafted
    verdict.most_tokens = max(verdict.most_tokens, world.target.vocab_size)
    verdict.most_drafted = max(verdict.most_drafted, num_drafted)
    verdict.most_levels = max(verdict.most_levels, world.num_levels)
    verdict.hard.update(hard_cases(world))


def judge_support(sampler: Sampler, world: World | Decoding, verdict: Verdict) -> Counterexample | None:
    """On the lattice: the counterexample when there comes a text that the target gives probability 0. Errors as
    `judge`.

    That a draft is refused though p = q is no fault of a law: a match walk does it most of the time. A rule that
    accepts with p/q does it only when it compares the wrong way at the end of the unit interval, so it is noted.
    """
    got, wanted, first_cycle = laws(sampler, world)
    impossible = {text: chance for text, chance in got.items() if not wanted.get(text)}
    if impossible:
        return Counterexample(world, impossible, {})
    if sampler.kind == "chain" and world.draft == world.target:
        if any(chance and len(text) <= world.num_drafted for text, chance in first_cycle.items()):
            sampler.corners.append(REFUSED_EQUAL)
    verdict.num_worlds += 1
    return None


def assert_lossless(function: Callable, kind: str, **options: object) -> Verdict:
    """AssertionError, with the report, unless `function` is exact on every world tried. Options as
    `certify` takes them."""
    from .report import report

    verdict = certify(function, kind, **options)
    assert verdict.status == "exact", report(verdict)
    return verdict
