"""`inputs` and `loss`: what a head is told, and how features are learned, with short trainings.

*Inputs* is the paper's ablation. Without the token that was chosen behind a feature, the head cannot know which way
sampling went; without the feature it is a small language model of its own.

*Loss* changes the distance between features, and whether the head is shown its own guesses, one at a time. The
weight of the token loss is the paper's throughout. Squared error is halved, so that both distances are equal where
the error is below 1; the last column says how often it is not, after training.
Read next: `../registry.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch

from .... import grow
from ....config import TreeConfig
from ....train.command import HEAD_BATCH_TOKENS
from ....train.loop import TrainConfig
from ....train.variants import Variant, VariantDrafter, on_true_features, trained
from ...experiment import Experiment, Setting
from ...figures.svg import Bar, bars
from ...figures.tables import Column, first_alphas, number, word
from ...instruments.measures import all_cycles, alphas, gap_figures, tau_figures
from ...options import SEED, Option, count
from ...record import Row
from .claim import TAU, num_prefixes, ranked

INPUT_VARIANTS = {  # from best to worst, as the paper has them
    "feature and shifted token": Variant(),
    "feature and token": Variant(token="unshifted"),
    "feature alone": Variant(token="none"),
    "shifted token alone": Variant(feature=False),
}
LOSS_VARIANTS = {  # each differs in one thing from the one before, which is claimed to be better
    "smooth L1 in three steps": Variant(num_steps=3),
    "smooth L1": Variant(),
    "squared error": Variant(distance="squared error"),
}
COLUMNS: list[Column] = [
    ("head", word("variant")),
    ("chain: " + TAU[0][0], TAU[0][1]),
    *TAU[1:],
    ("n-alpha, n from 0", first_alphas),
    ("tau, EAGLE-2's tree", number("tau_tree")),
    ("agreement", number("agreement", 3)),
    ("feature errors above 1", number("beyond", 3)),
]


def measured(variants: Mapping[str, Variant], setting: Setting) -> Iterator[Row]:
    """Train and measure the variants, each claimed to be behind the one before: tau of greedy chains and trees."""
    models, options, before = setting.models, setting.options, ("", None)
    train = TrainConfig(tokens=options.tokens, batch_tokens=HEAD_BATCH_TOKENS, seed=setting.seed)
    for name, variant in variants.items():
        head = trained(models, folder_of(options.folder, name), variant, train)
        chains, trees = (
            setting.first_cycles(VariantDrafter(models.target, head, variant, grower, TreeConfig()), 0.0)
            for grower in (grow.chain, grow.confidence)
        )
        row = {"variant": name, **tau_figures(chains, setting.seed), **gap_figures(*before, chains, setting.seed)}
        row["alphas"] = alphas(all_cycles(chains))
        row["tau_tree"] = tau_figures(trees, setting.seed)["tau"]
        parts = zip(*(on_true_features(models.target, head, variant, prefix.ids) for prefix in setting.prefixes))
        row["agreement"], row["beyond"] = (torch.cat(part).mean().item() for part in parts)
        yield {**row, **asdict(variant), "training": asdict(train)}
        before = name, chains


def folder_of(begin: Path, variant: str) -> Path:
    """Where a variant is trained: beside the others, all folders beginning alike."""
    return begin.with_name(f"{begin.name}-{variant.replace(' ', '-')}")


def picture(rows: Sequence[Row]) -> str:
    """A bar for each variant."""
    chart = [Bar(row["variant"], row["tau"], row["tau_low"], row["tau_high"]) for row in rows]
    return bars("tau of a chain behind held-out code, T=0, heads after a short training", chart)


def short_training(name: str, question: str, claim: str, variants: Mapping[str, Variant]) -> Experiment:
    """The experiment that trains these variants, from the best to the worst as the claim has them."""
    begin, help = Path("runs") / f"study-{name}", f"folders of trainings begin so (runs/study-{name})"
    return Experiment(
        name,
        question,
        claim=claim,
        options=[
            num_prefixes(500),
            count("tokens", 400_000, "that each head is trained on"),
            Option("folder", begin, help, Path, flag="--run"),
            SEED,
        ],
        rows=partial(measured, variants),
        tables=[COLUMNS],
        verdict=ranked,
        pictures={f"study_{name}.svg": picture},
    )


INPUTS = short_training(
    "inputs",
    "Which inputs does the head need?",
    "Feature and shifted token draft better than feature and token of the same place, these better than the "
    "feature alone, and that better than tokens alone (EAGLE, 2401.15077, figure on the inputs).",
    INPUT_VARIANTS,
)
LOSS = short_training(
    "loss",
    "Which loss on features trains the better head, and do training-time steps help?",
    "Heads that were shown their own guesses draft better (training-time steps, 2408.15766 and 2503.01840), "
    "and smooth L1 on features (EAGLE, 2401.15077, section 3.2) is better than the squared error that articles name.",
    LOSS_VARIANTS,
)
