"""What a person is told about a verdict: one line of it, what it rests on, and the world that refutes.
Read next: `command.py`."""

from fractions import Fraction

from .certify import Counterexample, Verdict
from .law import Number
from .sample import FALSE_ALARM
from .whole import Decoding
from .worlds import Row, Text, World

EXIT_STATUS = {"exact": 0, "refuted": 1, "undecided": 2}


def report(verdict: Verdict) -> str:
    """The whole report."""
    lines = [headline(verdict)]
    if verdict.num_worlds and verdict.num_samples is None:
        lines += evidence(verdict)
    if verdict.counterexample is not None:
        lines += picture(verdict.counterexample)
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
    if verdict.status == "refuted":
        return "REFUTED: the law of the output is not the target's"
    if verdict.bits is not None:
        how = f"support kept with coins k / 2^{verdict.bits}"
    else:
        how = "exact (==)" if verdict.exact else "exact within 1e-6"
    return f"{how} on all {verdict.num_worlds} worlds tried, kind {verdict.kind}"


def evidence(verdict: Verdict) -> list[str]:
    """Worlds, branches, hard cases, acceptance."""
    count = verdict.num_worlds
    if verdict.bits is not None:
        return [f"worlds {count}, sequences of answers {verdict.num_branches}"]
    hard = ", ".join(f"{name} {100 * number // count} %" for name, number in sorted(verdict.hard.items()))
    got, most = float(verdict.committed / count), float(verdict.committed_at_most / count)
    accepted = f"tokens a cycle, expected: {got:.3f}; no exact rule has more than {most:.3f}, and none need reach that"
    return [
        f"worlds {count}, sequences of answers {verdict.num_branches}, largest total variation "
        f"{float(verdict.largest_distance):.1e}",
        f"worlds with: {hard or 'no hard case'}",
        *([accepted] if got else []),
    ]


def picture(found: Counterexample) -> list[str]:
    """The smallest world that was found, and the first text whose probability is wrong."""
    lines = ["", "the smallest world found:", *describe(found.world)]
    if found.broken is not None:
        return [*lines, f"the function {found.broken}"]
    lines += ["", f"{'text':<16}{'wanted':>14}{'got':>14}"]
    keys = sorted({**found.wanted, **found.got})
    wrong = [key for key in keys if abs(found.got.get(key, 0) - found.wanted.get(key, 0)) > 1e-9]
    for key in wrong[:8]:
        lines.append(f"{name(key):<16}{show(found.wanted.get(key, 0)):>14}{show(found.got.get(key, 0)):>14}")
    if len(wrong) > 8:
        lines.append(f"and {len(wrong) - 8} texts more")
    if found.known is not None:
        lines.append(f"the law is that of a known fault: {found.known}")
    return lines


def describe(world: World | Decoding) -> list[str]:
    """Tables and shape, and what a whole decoder was told."""
    if isinstance(world, Decoding):
        drafted = "children drawn" if world.sampled else "the draft's likeliest children"
        told = f"prompt {list(world.prompt)}, at most {world.max_new_tokens} tokens, stop {sorted(world.stop)}"
        return [f"{told}, {world.sampling}, {drafted}", *describe(world.world)]
    lines = [f"draft: parents {list(world.parents)}" + (f", ranks {list(world.ranks)}" if any(world.ranks) else "")]
    for text in ((), *((token,) for token in range(world.target.vocab_size))):
        lines.append(f"behind {name(text):<8} p = {row(world.target(text))}   q = {row(world.draft(text))}")
    return lines


def name(text: Text) -> str:
    """A text as its tokens."""
    return " ".join(map(str, text)) or "nothing"


def row(law: Row) -> str:
    """A law with one denominator less to read."""
    return "[" + ", ".join(map(str, law)) + "]"


def show(number: Number) -> str:
    """A fraction as it is, a float in five digits."""
    return str(number) if isinstance(number, Fraction | int) else f"{number:.5f}"
