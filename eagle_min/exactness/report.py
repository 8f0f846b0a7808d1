"""What a person is told about a verdict: one line of it, what it rests on, and the world that refutes.
Read next: `command.py`."""

from fractions import Fraction

from .certify import Counterexample, Verdict
from .law import Number
from .worlds import Row, Text, World

EXIT_STATUS = {"exact": 0, "refuted": 1, "undecided": 2}


def report(verdict: Verdict) -> str:
    """The whole report."""
    lines = [headline(verdict)]
    if verdict.num_worlds:
        lines += evidence(verdict)
    if verdict.counterexample is not None:
        lines += picture(verdict.counterexample)
    lines += [f"numerical corner: {corner}" for corner in verdict.corners]
    return "\n".join(lines)


def headline(verdict: Verdict) -> str:
    """The verdict on one line."""
    if verdict.status == "undecided":
        return f"undecided: {verdict.reason}"
    if verdict.status == "refuted":
        return "REFUTED: the law of the output is not the target's"
    how = "exact (==)" if verdict.exact else "exact within 1e-6"
    return f"{how} on all {verdict.num_worlds} worlds tried, kind {verdict.kind}"


def evidence(verdict: Verdict) -> list[str]:
    """Worlds, branches, hard cases, acceptance."""
    count = verdict.num_worlds
    hard = ", ".join(f"{name} {100 * number // count} %" for name, number in sorted(verdict.hard.items()))
    got, most = float(verdict.committed / count), float(verdict.committed_at_most / count)
    accepted = [f"tokens a cycle, expected: {got:.3f}; bound for any exact rule: {most:.3f}"] if got else []
    return [
        f"worlds {count}, sequences of answers {verdict.num_branches}, largest total variation "
        f"{float(verdict.largest_distance):.1e}",
        f"worlds with: {hard or 'no hard case'}",
        *accepted,
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
    return lines


def describe(world: World) -> list[str]:
    """Tables and shape."""
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
