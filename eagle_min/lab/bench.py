"""`python -m eagle_min bench`: the figures beside `compare`, each a function of its own.

    parameters    the head's parameters as a share of the target's
    step          a plain step against the same matrix products bare
    transformers  plain decoding against the `transformers` package, same shape
    calls         a target call of n nodes against one of one node
    head          a head pass over one level of the tree against a plain step
    useless       slowdown when the head has random weights
    agreement     head and target choose the same token, by how sure the target is
    calibration   draft probability against acceptance, in ten bins

A row is one value: figure, setting, value, unit. Read next: `shapes.py`.
"""

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from ..config import require, require_seed
from ..decode import Drafter
from ..drafters.model_set import ModelSet, load
from ..head import EagleDrafter, EagleHead
from ..train.corpus import load_held_out
from ..train.evaluate import first_choices
from . import costs
from .calibration import calibration
from .measures import first_cycles
from .options import split_names
from .prefixes import held_out_code, prompt_ids
from .record import Column, Row, check_writable, number, provenance, text_table, write_rows
from .timing import in_turn, seconds_per_token


def entry(setting: str, value: float | None, unit: str, **more: float | None) -> Row:
    """The part of a row that a figure fills in; `value` None where there was nothing to count."""
    return {"setting": setting, "value": value, "unit": unit, **more}


COLUMNS: list[Column] = [
    ("figure", lambda row: row["figure"]),
    ("setting", lambda row: row["setting"]),
    ("value", number("value", 3)),
    ("unit", lambda row: row["unit"]),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--model", default="tiny", help="shipped set of models, or a folder")
    parser.add_argument("--figures", default="all", help=f"of {', '.join(FIGURES)}; separated by commas")
    parser.add_argument("--head", default="eagle", help="head of the set")
    parser.add_argument("--rounds", type=int, default=30, help="repetitions of what is timed")
    parser.add_argument("--prefixes", type=int, default=500, help="held-out prefixes for agreement and calibration")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="store the rows in this file")


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, store the rows. ValueError or FileNotFoundError for a bad option."""
    names = split_names(args.figures, "figure", list(FIGURES))
    for name in ("rounds", "prefixes"):
        require(getattr(args, name) >= 1, name, getattr(args, name), "at least 1")
    require_seed(args.seed)
    check_writable(args.json)
    models = load(args.model)
    drafter = models.drafter("eagle2", args.head)
    origin = provenance(models, [args.head], args.seed, load_held_out().fingerprint())
    rows: list[Row] = []
    for name in names:
        print(f"measuring: {name}", file=sys.stderr)
        rows += [{"figure": name, **row, **origin} for row in FIGURES[name](models, drafter, args)]
        write_rows(args.json, rows)
    print(text_table(COLUMNS, rows))
    return 0


def parameters(models: ModelSet, drafter: EagleDrafter, args: argparse.Namespace) -> Iterator[Row]:
    """What the head adds; embedding and LM head are the target's and count there."""
    head, target = (sum(p.numel() for p in model.parameters()) for model in (drafter.head, models.target))
    yield entry("target", target / 1e6, "million")
    yield entry("head", head / 1e6, "million")
    yield entry("head / target", head / target, "ratio")


def step(models: ModelSet, drafter: Drafter, args: argparse.Namespace) -> Iterator[Row]:
    """A plain step, and the arithmetic in it."""
    seconds = costs.step_seconds(models.target, args.rounds)
    yield entry("plain step", seconds["step"] * 1e3, "ms")
    yield entry("its matrix products bare", seconds["bare"] * 1e3, "ms")
    yield entry("plain step / bare", seconds["step"] / seconds["bare"], "ratio")


def transformers(models: ModelSet, drafter: Drafter, args: argparse.Namespace) -> Iterator[Row]:
    """Skipped, with one line, where the package is not installed."""
    try:
        seconds = costs.transformers_seconds(models.target, max(3, args.rounds // 10))
    except ImportError:
        print("skipped: transformers is not installed (tests/requirements-interop.txt)", file=sys.stderr)
        return
    yield entry("ours, per token", seconds["ours"] * 1e3, "ms")
    yield entry("transformers, per token", seconds["theirs"] * 1e3, "ms")
    yield entry("transformers / ours", seconds["theirs"] / seconds["ours"], "ratio")


def calls(models: ModelSet, drafter: Drafter, args: argparse.Namespace) -> Iterator[Row]:
    """The cost curve that decides how large a tree may be."""
    seconds = costs.call_seconds(models.target, args.rounds)
    for num_nodes, value in seconds.items():
        yield entry(f"{num_nodes} nodes / 1 node", value / seconds[1], "ratio")


def head(models: ModelSet, drafter: EagleDrafter, args: argparse.Namespace) -> Iterator[Row]:
    """One level of the tree: `top_k` nodes through head, LM head and softmax."""
    seconds = costs.head_seconds(drafter, args.rounds)
    yield entry(f"{drafter.tree.top_k} nodes / plain step", seconds["head"] / seconds["step"], "ratio")


def useless(models: ModelSet, drafter: EagleDrafter, args: argparse.Namespace) -> Iterator[Row]:
    """The price of a drafter that knows nothing: a cycle that commits little more than the bonus."""
    for setting, slowdown in slowdowns(models, drafter, max(1, args.rounds // 6), args.seed):
        yield entry(setting, slowdown, "ratio")


def slowdowns(models: ModelSet, drafter: EagleDrafter, num_prompts: int, seed: int) -> Iterator[tuple[str, float]]:
    """At temperatures 0 and 1: seconds a token with a head like the drafter's that has random weights, over those of
    plain decoding."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        random_head = EagleHead(drafter.head.config).eval().requires_grad_(False)
    everyone = {"plain": None, "useless": EagleDrafter(models.target, random_head, drafter.grow, drafter.tree)}
    prompts = prompt_ids("code", models.tokenizer, num_prompts)
    for temperature in (0.0, 1.0):
        runs = in_turn(models.target, everyone, prompts, costs.GENERATED, temperature, seed)
        slowdown = seconds_per_token(runs["useless"]) / seconds_per_token(runs["plain"])
        yield f"T={temperature:g}: seconds with a random head / plain", slowdown


def agreement(models: ModelSet, drafter: EagleDrafter, args: argparse.Namespace) -> Iterator[Row]:
    """Where first guesses fail: with true features before them, on held-out code."""
    texts = [prefix.ids for prefix in held_out_code(models, args.prefixes, args.seed)]
    sure, same = map(torch.cat, zip(*(first_choices(models.target, drafter.head, ids) for ids in texts)))
    yield entry("head agrees, all places", same.double().mean().item(), "share")
    for low, high in itertools.pairwise((0.0, 0.5, 0.9, 1.0 + 1e-6)):
        here = (sure >= low) & (sure < high)
        where = f"target's first choice has {low:g} to {high:.1f}"
        yield entry(f"{where}: of all places", here.double().mean().item(), "share")
        yield entry(f"{where}: head agrees", same[here].double().mean().item() if here.any() else None, "share")


def calibrated(models: ModelSet, drafter: Drafter, args: argparse.Namespace) -> Iterator[Row]:
    """Share accepted in each bin of draft probability, on held-out code."""
    prefixes = held_out_code(models, args.prefixes, args.seed)
    for temperature in (0.0, 1.0):
        starts = first_cycles(models.target, drafter, prefixes, temperature, args.seed)
        for part in calibration(cycle for start in starts for cycle in start.cycles):
            where = f"T={temperature:g}, draft probability {part.low:.1f} to {part.high:.1f}"
            more = {"mean_probability": part.mean_probability, "num_tried": part.num_tried}
            yield entry(f"{where}, {part.num_tried} tried", part.acceptance, "accepted", **more)


FIGURES: dict[str, Callable[..., Iterator[Row]]] = {
    "parameters": parameters,
    "step": step,
    "transformers": transformers,
    "calls": calls,
    "head": head,
    "useless": useless,
    "agreement": agreement,
    "calibration": calibrated,
}
