"""What a person is told about a verdict: one line of it, what it rests on, and the world that refutes.

Read next: `command.py`.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from ..law import Number
from ..worlds.decodings import AnyWorld, Decoding, in_words, world_of
from ..worlds.tables import Row, Text
from .batches import prompts
from .verdict import FALSE_ALARM, Counterexample, Verdict

EXIT_STATUS = {"exact": 0, "refuted": 1, "undecided": 3}  # 2 is for bad input, as with every command
MOST_TEXTS, MOST_LAWS = 8, 6  # of a counterexample that are shown


def report(verdict: Verdict) -> str:
    """The whole report."""
    lines = [headline(verdict)]
    if verdict.num_worlds and verdict.num_samples is None:
        lines += what_it_rests_on(verdict)
    if verdict.counterexample is not None:
        lines += refuting_world(verdict.counterexample)
    lines += [f"numerical corner: {corner}" for corner in verdict.corners]
    return "\n".join(lines)


def headline(verdict: Verdict) -> str:
    """The verdict on one line."""
    if verdict.status == "undecided":
        return f"undecided: {verdict.reason}"
    if verdict.status == "refuted" and verdict.num_samples is not None and verdict.counterexample.broken is None:
        return (
            f"REFUTED by {verdict.num_samples} samples of one world, shares below: a right sampler is refuted "
            f"with probability at most {FALSE_ALARM:g}"
        )
    if verdict.status == "refuted" and verdict.bits is not None:
        return f"REFUTED: with coins k / 2^{verdict.bits} the impossible happens"
    if verdict.status == "refuted" and verdict.counterexample.broken is not None:
        return f"REFUTED: the contract of the kind {verdict.kind} is broken"
    if verdict.status == "refuted":
        return "REFUTED: the law of the output is not the target's"
    if verdict.bits is not None:
        how = f"support kept with coins k / 2^{verdict.bits}"
    else:
        how = "exact (==)" if verdict.fractions else "exact within 1e-6"
    return f"{how} on all {verdict.num_worlds} worlds tried, kind {verdict.kind}"


def what_it_rests_on(verdict: Verdict) -> list[str]:
    """Worlds, branches, hard cases, samplings, acceptance."""
    count = verdict.num_worlds
    if verdict.bits is not None:
        return [f"worlds {count}, sequences of answers {verdict.num_branches}"]
    hard, samplings = (shares(counts, count) for counts in (verdict.hard, verdict.samplings))
    got, most = float(verdict.committed / count), float(verdict.committed_at_most / count)
    accepted = f"tokens a cycle, expected: {got:.3f}; no exact rule has more than {most:.3f}, and none need reach that"
    return [
        f"worlds {count}, sequences of answers {verdict.num_branches}, largest total variation "
        f"{float(verdict.largest_distance):.1e}",
        f"largest worlds: {verdict.most_tokens} tokens, {verdict.most_drafted} drafts, {verdict.most_levels} in a row",
        f"worlds with: {hard or 'no hard case'}",
        *([f"samplings tried: {samplings}"] if samplings else []),
        *([accepted] if got else []),
    ]


def shares(counts: Counter, total: int) -> str:
    """What was counted, with its share of the worlds."""
    return ", ".join(f"{what} {100 * number // total} %" for what, number in sorted(counts.items()))


def refuting_world(found: Counterexample) -> list[str]:
    """The smallest world that was found, and the first texts whose probability is wrong."""
    keys = sorted({**found.wanted, **found.got})
    wrong = [key for key in keys if abs(found.got.get(key, 0) - found.wanted.get(key, 0)) > 1e-9]
    lines = ["", "the smallest world found:", *world_lines(found.world, wrong[:MOST_TEXTS])]
    if found.broken is not None:
        return [*lines, f"the function {found.broken}"]
    lines += ["", f"{'text':<16}{'wanted':>14}{'got':>14}"]
    for key in wrong[:MOST_TEXTS]:
        lines.append(f"{name(key):<16}{show(found.wanted.get(key, 0)):>14}{show(found.got.get(key, 0)):>14}")
    if len(wrong) > MOST_TEXTS:
        lines.append(f"and {len(wrong) - MOST_TEXTS} texts more")
    if found.known is not None:
        lines.append(f"the law is that of a known fault: {found.known}")
    return lines


def world_lines(any_world: AnyWorld, texts: Sequence[Text]) -> list[str]:
    """What a whole decoder was told, the shape, and the laws from which the tokens of `texts` come."""
    world, reached = world_of(any_world), beginnings(any_world, texts)
    ranks = f", ranks {list(world.ranks)}" if any(world.ranks) else ""
    lines = told(any_world) if isinstance(any_world, Decoding) else []
    lines.append(f"draft: parents {list(world.parents)}{ranks}")
    for text in reached[:MOST_LAWS]:
        lines.append(f"behind {name(text):<8} p = {row(world.target(text))}   q = {row(world.draft(text))}")
    if len(reached) > MOST_LAWS:
        lines.append(f"and {len(reached) - MOST_LAWS} laws more, behind longer texts")
    return lines


def told(decoding: Decoding) -> list[str]:
    """What a whole decoder was told."""
    drafted = "children drawn" if decoding.sampled else "the draft's likeliest children"
    silent = "" if decoding.silent is None else f", nothing drafted behind {decoding.silent}"
    return [
        f"prompt {list(decoding.prompt)}, at most {decoding.max_new_tokens} tokens, stop {sorted(decoding.stop)}, "
        f"{in_words(decoding.sampling)}, {drafted}{silent}",
        "where tokens are equally likely the smaller ids stay",
    ]


def beginnings(any_world: AnyWorld, texts: Sequence[Text]) -> list[Text]:
    """What stands before each token of `texts`, prompt included and the shortest first; where there are no texts,
    before the first token and the second of any."""
    world, start = world_of(any_world), any_world.prompt if isinstance(any_world, Decoding) else ()
    if world.sizes and texts:  # each has a row for each sequence
        rows = [pair for text in texts for pair in zip(prompts(world), text)]
    else:
        rows = [(start, text) for text in texts or product(range(world.vocab_size), repeat=2)]
    found = {(*before, *text[:length]) for before, text in rows for length in range(len(text))}
    return sorted(found, key=lambda text: (len(text), text))


def name(text: Text) -> str:
    """A text as its tokens, those of a batch with a line between them."""
    if any(isinstance(part, tuple) for part in text):
        return " | ".join(map(name, text))
    return " ".join(map(str, text)) or "nothing"


def row(law: Row) -> str:
    """A law with one denominator less to read."""
    return "[" + ", ".join(map(str, law)) + "]"


def show(number: Number) -> str:
    """A fraction as it is, a float in five digits."""
    return str(number) if isinstance(number, Fraction | int) else f"{number:.5f}"
