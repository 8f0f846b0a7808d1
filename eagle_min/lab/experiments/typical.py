"""`typical`: what Medusa's typical acceptance gains, and what it does to the law.

A tree is drafted behind each prefix and read once by the target. All figures are then sums over its nodes
(`exactness/acceptance/typical.py`); rows are given for both choices of the bonus token. Read next: `precision.py`.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from ...config import SamplingConfig
from ...exactness.acceptance import typical
from ...exactness.acceptance.typical import BONUSES, Typical
from ...sampling import next_token_law
from ...tree import DraftTree
from ..experiment import Experiment, Setting
from ..figures.tables import Column, number, short, word
from ..instruments.measures import first_tree
from ..instruments.prefixes import LONGEST_PREFIX
from ..options import Option, count, seed, temperatures
from ..record import Row

TEMPERATURES = "0.7,1"  # 0.7 is the official default
COLUMNS: list[Column] = [
    ("temperature", short("temperature")),
    ("epsilon", short("epsilon")),
    ("delta", short("delta")),
    ("bonus", word("bonus")),
    ("accepted, typical (lossy)", number("accepted_typical")),
    ("accepted, exact", number("accepted_exact")),
    ("TV of first token: mean", number("first_token_mean", 3)),
    ("max", number("first_token_max", 3)),
    ("TV of the cycle: mean", number("cycle_mean", 3)),
    ("max", number("cycle_max", 3)),
]


def weights(setting: Setting) -> Collection[str]:
    """The Medusa heads that were asked for."""
    setting.models.drafter("medusa", setting.options.heads)
    return (setting.options.heads,)


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each temperature and bonus."""
    models, options = setting.models, setting.options
    rule, drafter = Typical(options.epsilon, options.delta), models.drafter("medusa", options.heads)
    prefixes = setting.prefixes_up_to(min(LONGEST_PREFIX, models.target.context // 2))
    cycles = [first_tree(models.target, drafter, prefix.ids) for prefix in prefixes]
    for temperature in options.temperatures:
        for bonus in BONUSES:
            row = figures(cycles, SamplingConfig(temperature), rule, bonus)
            yield row | {"lossless": False, "num_prefixes": len(prefixes)}


def figures(cycles: Sequence[tuple[DraftTree, np.ndarray]], sampling: SamplingConfig, rule: Typical, bonus: str) -> Row:
    """Means over first cycles, and the largest errors."""
    known = [(tree, np.array([next_token_law(row, sampling) for row in logits])) for tree, logits in cycles]
    row = {
        "temperature": sampling.temperature,
        "epsilon": rule.epsilon,
        "delta": rule.delta,
        "bonus": bonus,
        "accepted_typical": float(np.mean([len(typical.accepted_path(*cycle, rule)) - 1 for cycle in known])),
        "accepted_exact": float(np.mean([typical.accepted_exactly(*cycle) for cycle in known])),
    }
    for name, error in (("first_token", typical.first_token_error), ("cycle", typical.cycle_error)):
        errors = [error(*cycle, rule, BONUSES[bonus]) for cycle in known]
        row |= {f"{name}_mean": float(np.mean(errors)), f"{name}_max": float(np.max(errors))}
    return row


def threshold(name: str, help: str) -> Option:
    """One of the two numbers of the rule."""

    def check(value: float) -> float:
        return getattr(Typical(**{name: value}), name)

    return Option(name, getattr(Typical, name), help, float, check)


EXPERIMENT = Experiment(
    name="typical",
    question="What does Medusa's typical acceptance gain, and what does it do to the law?",
    options=[
        Option("heads", "medusa", "Medusa heads of the set"),
        count("prefixes", 100, "held-out prefixes of code"),
        temperatures(TEMPERATURES, f"comma-separated (default {TEMPERATURES})"),
        threshold("epsilon", "no threshold is higher"),
        threshold("delta", "threshold where the target is certain"),
        seed("of the prefixes"),
    ],
    rows=measured,
    tables=[COLUMNS],
    weights=weights,
)
