"""`rates`: the same three learning rates tried for every network, in short trainings.

A comparison of drafters is a comparison of trainings too, and one that was trained at a rate that suits another would
be beaten for no fault of its own. Every network here has two rates, Muon's and AdamW's, the second a fifth of the
first. Each is trained from scratch on the same windows, for NUM_STEPS steps unless others are asked for; the loss is
the mean over the last fifty of them, and only losses of the same network can be compared.

A trial is a run like any other, in a folder of its own, and goes on where it stopped. Read next: `claims/claim.py`.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ...config import require
from ...drafters.model_set import ModelSet
from ...train.command import HEAD_BATCH_TOKENS
from ...train.head import HEAD_SHAPE, RECIPES, train_head
from ...train.loop import Run, TrainConfig
from ...train.network import train_network
from ...train.rivals.registry import RIVALS
from ..experiment import Experiment, Setting
from ..figures.tables import VALUES, entry
from ..options import SEED, Option, names
from ..record import Row

RATES = (0.015, 0.03, 0.06)  # Muon's
OTHER = 0.2  # AdamW's, as a share of them
NUM_STEPS = 200

Trial = Callable[[ModelSet, TrainConfig, Path], Run]  # trains in a folder


def head_trial(recipe: str, models: ModelSet, train: TrainConfig, folder: Path) -> Run:
    """An EAGLE head."""
    return train_head(models, RECIPES[recipe], train, folder, None, **HEAD_SHAPE)[1]


def rival_trial(kind: str, models: ModelSet, train: TrainConfig, folder: Path) -> Run:
    """Any other network."""
    return train_network(models, RIVALS[kind], {"kind": kind}, train, folder)[2]


TRIALS: dict[str, Trial] = {
    **{f"head-{recipe}": partial(head_trial, recipe) for recipe in sorted(RECIPES)},
    **{kind: partial(rival_trial, kind) for kind in RIVALS},
}


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each network and rate, with the loss that it has come to."""
    options = setting.options
    for name, rate in itertools.product(options.networks, RATES):
        train = TrainConfig(
            tokens=options.steps * HEAD_BATCH_TOKENS,
            batch_tokens=HEAD_BATCH_TOKENS,
            matrix_lr=rate,
            other_lr=OTHER * rate,
            num_threads=1,
            seed=setting.seed,
        )
        done = TRIALS[name](setting.models, train, options.runs / f"rates-{name}-{rate:g}")
        loss = entry(f"{name}: {rate:g} and {OTHER * rate:g}", done.losses[-1][1], "loss")
        yield {"figure": "rates", **loss}


def whole_hundreds(steps: int) -> int:
    """ValueError for a number of steps after which no loss is noted."""
    require(steps >= 1 and steps % 100 == 0, "steps", steps, "a multiple of 100, above 0")
    return steps


EXPERIMENT = Experiment(
    name="rates",
    question="Which of three learning rates suits each network best?",
    options=[
        names("networks", "network", list(TRIALS), f"of {', '.join(TRIALS)}"),
        Option("steps", NUM_STEPS, "of a trial, a multiple of 100", int, whole_hundreds),
        Option("runs", Path("runs"), "folder of the runs, rates-NAME-RATE each", Path),
        SEED,
    ],
    rows=measured,
    tables=[VALUES],
    progress=lambda rows: f"{rows[-1]['setting']}: {rows[-1]['value']:.3f}",
)
