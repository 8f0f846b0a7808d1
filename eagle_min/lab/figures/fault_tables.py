"""Columns of what the scripts in tests/faults find out about the tests themselves.

    bank.py       which property of a sampler notices which fault, and at what price
    controls.py   right samplers, none of which may be refuted
    score.py      the mutation score of the core

Each script explains its columns. Read next: `blocks.py`.
"""

from collections.abc import Callable

from ..record import Row
from .tables import Column, number, word

PROPERTIES = ("first token", "marginals", "one cycle", "two cycles", "support", "above bound", "residual on one token")


def yes(name: str) -> Callable[[Row], str]:
    """Shows whether a property noticed the fault; an empty cell where it has nothing to say."""
    return lambda row: {True: "yes", False: "-", None: ""}[row[name]]


def samples(row: Row) -> str:
    """A number of samples in three digits."""
    return "never" if row["num_samples"] is None else f"{row['num_samples']:.3g}"


NAMED: list[Column] = [("code", word("code")), ("fault", word("name"))]
NOTICED: list[Column] = [
    *NAMED,
    ("kind", word("kind")),
    *((name, yes(name)) for name in PROPERTIES),
    ("origin", word("origin")),
]
POWER: list[Column] = [
    *NAMED,
    ("total variation", number("total_variation", 5)),
    ("samples for 5 sigma", samples),
    ("seconds to enumerate", number("seconds", 3)),
    ("seconds to refute", number("seconds_to_refute", 1)),
]
CERTIFIED: list[Column] = [
    ("right sampler", word("certified")),
    ("kind", word("kind")),
    ("verdict", word("status")),
    ("compared", word("compared")),
    ("drawn worlds", number("drawn_worlds", 0)),
    ("sequences of answers", number("num_branches", 0)),
]
SCORED: list[Column] = [
    ("mutants of", word("mutants_of")),
    *((name, number(name, 0)) for name in ("mutants", "killed", "equivalent", "survived", "error")),
    ("score", number("score", 3)),
]
