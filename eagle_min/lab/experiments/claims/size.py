"""How many nodes a tree should have: tau, and seconds, which count what the nodes cost.

Trees are EAGLE-2's, greedy. Plain decoding and all sizes take turns in one run, so that the ratios can be
compared; seconds depend on the machine, tau does not. Read next: `temperature.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ....drafters.registry import REGISTRY
from ...experiment import Experiment, Setting
from ...figures.svg import lines
from ...figures.tables import Column, interval, number
from ...instruments.measures import all_cycles, mean_nodes, tau_figures
from ...instruments.prefixes import prompt_ids
from ...instruments.timing import in_turn, ratio_figures
from ...options import HEAD, SEED, count
from ...record import Row
from .claim import FAILS, HOLDS, OPEN, num_prefixes

SIZES = (2, 4, 8, 16, 24, 32, 48, 64)  # nodes, the root included
PLAIN = "plain"
COLUMNS: list[Column] = [
    ("nodes at most", lambda row: str(row["num_nodes"])),
    ("nodes", number("nodes", 1)),
    ("tau (95 %)", interval("tau")),
    ("times faster (middle half of prompts)", interval("ratio")),
]


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each size."""
    models = setting.models
    drafters = {size: setting.drafter("eagle2", replace(REGISTRY["eagle2"].tree, num_nodes=size)) for size in SIZES}
    prompts = prompt_ids("code", models.tokenizer, setting.options.prompts)
    length, stop = setting.options.max_new_tokens, {models.tokenizer.end_id}
    timed = in_turn(models.target, {PLAIN: None, **drafters}, prompts, length, 0.0, setting.seed, stop)
    for size, drafter in drafters.items():
        starts = setting.first_cycles(drafter, 0.0)
        yield {
            "num_nodes": size,
            "nodes": mean_nodes(all_cycles(starts)),
            **tau_figures(starts, setting.seed),
            **ratio_figures(timed[PLAIN], timed[size]),
        }


def verdict(rows: Sequence[Row]) -> str:
    """Whether the largest tree is also the fastest. A size whose ratio lies in the middle half of the prompts of the
    fastest one is as good as that."""
    largest = max(rows, key=lambda row: row["num_nodes"])
    best = max(rows, key=lambda row: row["ratio"])
    word = HOLDS if best is largest else OPEN if largest["ratio"] >= best["ratio_low"] else FAILS
    largest_text, best_text = (
        f"{row['num_nodes']} nodes have tau {row['tau']:.2f} and are {row['ratio']:.2f} times as fast as plain decoding"
        for row in (largest, best)
    )
    return f"{word}: {largest_text}" + ("" if best is largest else f"; {best_text}")


def picture(rows: Sequence[Row]) -> str:
    """Both over the number of nodes."""
    curves = {"tau": "tau", "times faster": "ratio"}
    drawn = {name: [(row["num_nodes"], row[key]) for row in rows] for name, key in curves.items()}
    return lines("EAGLE-2's tree by its size, code, T=0", drawn, "nodes", "tokens a call; ratio of seconds")


EXPERIMENT = Experiment(
    name="size",
    question="How many nodes should a tree have, counting what they cost?",
    claim="The larger the draft tree, the faster the text (articles that count accepted tokens and not what "
    "a node costs).",
    options=[
        HEAD,
        num_prefixes(300),
        count("prompts", 12, "shipped prompts"),
        count("max_new_tokens", 96, "tokens of a text that is timed"),
        SEED,
    ],
    rows=measured,
    tables=[COLUMNS],
    verdict=verdict,
    pictures={"study_size.svg": picture},
)
