"""`python -m eagle_min rates`: the same three learning rates tried for every network, in short trainings.

A comparison of drafters is a comparison of trainings too, and one that was trained at a rate that suits another would
be beaten for no fault of its own. Every network here has two rates, Muon's and AdamW's, the second a fifth of the
first. Each is trained from scratch on the same windows, for NUM_STEPS steps unless others are asked for; the loss is
the mean over the last fifty of them, and only losses of the same network can be compared.

A trial is a run like any other, in a folder of its own, and goes on where it stopped. Read next: `choose.py`.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..config import require, require_seed
from ..drafters.model_set import ModelSet, load
from ..train.command import HEAD_BATCH_TOKENS
from ..train.corpus import load_held_out
from ..train.head import HEAD_SHAPE, RECIPES, train_head
from ..train.loop import Run, TrainConfig
from ..train.network import train_network
from ..train.rivals import RIVALS
from .bench import COLUMNS, entry
from .options import split_names
from .record import Row, check_writable, provenance, text_table, write_rows

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--model", default="tiny", help="shipped set of models, or a folder")
    parser.add_argument("--networks", default="all", help=f"of {', '.join(TRIALS)}")
    parser.add_argument("--steps", type=int, default=NUM_STEPS, help="of a trial, a multiple of 100")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the runs, rates-NAME-RATE each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="store the rows in this file")


def run(args: argparse.Namespace) -> int:
    """Train, print the table, store the rows. ValueError or FileNotFoundError for a bad option."""
    networks = split_names(args.networks, "network", list(TRIALS))
    require(args.steps >= 1 and args.steps % 100 == 0, "steps", args.steps, "a multiple of 100, above 0")
    require_seed(args.seed)
    check_writable(args.json)
    models, rows = load(args.model), []
    origin = provenance(models, [], args.seed, load_held_out().fingerprint())
    for name in networks:
        for rate in RATES:
            rows.append({"figure": "rates", **tried(models, name, rate, args), **origin})
            write_rows(args.json, rows)
            print(f"{rows[-1]['setting']}: {rows[-1]['value']:.3f}", file=sys.stderr)
    print(text_table(COLUMNS, rows))
    return 0


def tried(models: ModelSet, name: str, rate: float, args: argparse.Namespace) -> Row:
    """The loss that a network has come to at a rate."""
    train = TrainConfig(
        tokens=args.steps * HEAD_BATCH_TOKENS,
        batch_tokens=HEAD_BATCH_TOKENS,
        matrix_lr=rate,
        other_lr=OTHER * rate,
        num_threads=1,
        seed=args.seed,
    )
    done = TRIALS[name](models, train, args.runs / f"rates-{name}-{rate:g}")
    return entry(f"{name}: {rate:g} and {OTHER * rate:g}", done.losses[-1][1], "loss")
