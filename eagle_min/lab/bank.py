"""Columns of what scripts in tests/ find out about the tests themselves.

    python tests/faults/bank.py       which property of a sampler notices which fault, and at what price
    python tests/faults/controls.py   right samplers, none of which may be refuted
    python tests/faults/score.py      the mutation score of the core

Each script explains its columns. Read next: `svg.py`.
"""

from collections.abc import Callable

from .record import Column, Row, number

PROPERTIES = (
    "first token",
    "marginals",
    "one cycle",
    "two cycles",
    "support",
    "above bound",
    "residual on one token",
)


def yes(name: str) -> Callable[[Row], str]:
    """Shows whether a property noticed the fault; an empty cell where it has nothing to say."""
    return lambda row: {True: "yes", False: "-", None: ""}[row[name]]


def samples(row: Row) -> str:
    """A number of samples in three digits."""
    return "never" if row["num_samples"] is None else f"{row['num_samples']:.3g}"


NAMED: list[Column] = [("code", lambda row: row["code"]), ("fault", lambda row: row["name"])]
NOTICED: list[Column] = [
    *NAMED,
    ("kind", lambda row: row["kind"]),
    *((name, yes(name)) for name in PROPERTIES),
    ("origin", lambda row: row["origin"]),
]
POWER: list[Column] = [
    *NAMED,
    ("total variation", number("total_variation", 5)),
    ("samples for 5 sigma", samples),
    ("seconds to enumerate", number("seconds", 3)),
    ("seconds to refute", number("seconds_to_refute", 1)),
]
CERTIFIED: list[Column] = [
    ("right sampler", lambda row: row["certified"]),
    ("kind", lambda row: row["kind"]),
    ("verdict", lambda row: row["status"]),
    ("compared", lambda row: row["compared"]),
    ("drawn worlds", number("drawn_worlds", 0)),
    ("sequences of answers", number("num_branches", 0)),
]
SCORED: list[Column] = [
    ("mutants of", lambda row: row["mutants_of"]),
    *((name, number(name, 0)) for name in ("mutants", "killed", "equivalent", "survived", "error")),
    ("score", number("score", 3)),
]
