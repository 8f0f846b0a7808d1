"""`bench`, a command of its own: the figures beside `compare`, each a function of its own.

    parameters    the head's parameters as a share of the target's
    step          a plain step against the same matrix products bare
    transformers  plain decoding against the `transformers` package, same shape
    calls         a target call of n nodes against one of one node
    head          a head pass over one level of the tree against a plain step
    useless       slowdown when the head has random weights
    agreement     head and target choose the same token, by how sure the target is
    calibration   draft probability against acceptance, in ten bins

A row is one value: figure, setting, value, unit. Read next: `rules.py`.
"""

import itertools
from collections.abc import Callable, Iterator

import torch

from ...decode import Drafter
from ...head import EagleDrafter
from ...train.evaluate import first_choices
from ..experiment import Experiment, Setting, say
from ..figures.tables import VALUES, entry
from ..instruments import costs
from ..options import HEAD, SEED, count, names
from ..record import Row
from ..runner import command
from .claims import confidence


def measured(setting: Setting) -> Iterator[Row]:
    """The rows of each figure that was asked for."""
    drafter = setting.drafter()
    for name in setting.options.figures:
        say(f"measuring: {name}")
        for row in FIGURES[name](setting, drafter):
            yield {"figure": name, **row}


def parameters(setting: Setting, drafter: EagleDrafter) -> Iterator[Row]:
    """What the head adds; embedding and LM head are the target's and count there."""
    head, target = (sum(p.numel() for p in model.parameters()) for model in (drafter.head, setting.models.target))
    yield entry("target", target / 1e6, "million")
    yield entry("head", head / 1e6, "million")
    yield entry("head / target", head / target, "ratio")


def step(setting: Setting, drafter: Drafter) -> Iterator[Row]:
    """A plain step, and the arithmetic in it."""
    seconds = costs.step_seconds(setting.models.target, setting.options.rounds)
    yield entry("plain step", seconds["step"] * 1e3, "ms")
    yield entry("its matrix products bare", seconds["bare"] * 1e3, "ms")
    yield entry("plain step / bare", seconds["step"] / seconds["bare"], "ratio")


def transformers(setting: Setting, drafter: Drafter) -> Iterator[Row]:
    """Skipped, with one line, where the package is not installed."""
    try:
        seconds = costs.transformers_seconds(setting.models.target, max(3, setting.options.rounds // 10))
    except ImportError:
        say("skipped: transformers is not installed (tests/requirements-interop.txt)")
        return
    yield entry("ours, per token", seconds["ours"] * 1e3, "ms")
    yield entry("transformers, per token", seconds["theirs"] * 1e3, "ms")
    yield entry("transformers / ours", seconds["theirs"] / seconds["ours"], "ratio")


def calls(setting: Setting, drafter: Drafter) -> Iterator[Row]:
    """The cost curve that decides how large a tree may be."""
    seconds = costs.call_seconds(setting.models.target, setting.options.rounds)
    for num_nodes, value in seconds.items():
        yield entry(f"{num_nodes} nodes / 1 node", value / seconds[1], "ratio")


def head(setting: Setting, drafter: EagleDrafter) -> Iterator[Row]:
    """One level of the tree: `top_k` nodes through head, LM head and softmax."""
    seconds = costs.head_seconds(drafter, setting.options.rounds)
    yield entry(f"{drafter.tree.top_k} nodes / plain step", seconds["head"] / seconds["step"], "ratio")


def useless(setting: Setting, drafter: EagleDrafter) -> Iterator[Row]:
    """The price of a drafter that knows nothing: a cycle that commits little more than the bonus."""
    for where, slowdown in costs.slowdowns(setting.models, drafter, max(1, setting.options.rounds // 6), setting.seed):
        yield entry(where, slowdown, "ratio")


def agreement(setting: Setting, drafter: EagleDrafter) -> Iterator[Row]:
    """Where first guesses fail: with true features before them, on held-out code."""
    texts = [prefix.ids for prefix in setting.prefixes]
    sure, same = map(torch.cat, zip(*(first_choices(setting.models.target, drafter.head, ids) for ids in texts)))
    yield entry("head agrees, all places", same.double().mean().item(), "share")
    for low, high in itertools.pairwise((0.0, 0.5, 0.9, 1.0 + 1e-6)):
        here = (sure >= low) & (sure < high)
        where = f"target's first choice has {low:g} to {high:.1f}"
        yield entry(f"{where}: of all places", here.double().mean().item(), "share")
        yield entry(f"{where}: head agrees", same[here].double().mean().item() if here.any() else None, "share")


def calibrated(setting: Setting, drafter: Drafter) -> Iterator[Row]:
    """Share accepted in each bin of draft probability, as `lab confidence` measures it."""
    for row in confidence.measured(setting):
        where = f"T={row['temperature']:g}, draft probability {row['low']:.1f} to {row['high']:.1f}"
        more = {key: row[key] for key in ("mean_probability", "num_tried")}
        yield entry(f"{where}, {row['num_tried']} tried", row["acceptance"], "accepted", **more)


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
EXPERIMENT = Experiment(
    name="bench",
    question="What does a cycle cost, and how well does confidence track acceptance?",
    options=[
        names("figures", "figure", list(FIGURES), f"of {', '.join(FIGURES)}; separated by commas"),
        HEAD,
        count("rounds", 30, "repetitions of what is timed"),
        count("prefixes", 500, "held-out prefixes for agreement and calibration"),
        SEED,
    ],
    rows=measured,
    tables=[VALUES],
)
add_arguments, run = command(EXPERIMENT)
