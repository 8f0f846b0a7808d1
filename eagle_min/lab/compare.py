"""`python -m eagle_min compare`: drafters side by side, a row for each domain and temperature.

Two kinds of text are decoded. Random held-out prefixes give tau over the first two cycles, with
an interval from resampling files, and n-alpha of chains. The shipped prompts, continued freely up to a
stop, give tau of free-running text, the share of distinct tokens and the seconds, for which
plain decoding and all drafters take turns. All rows so far are stored whenever one is done, so
that little is lost when a long run is stopped. Read next: `calibration.py`.
"""

import argparse
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..checkpoint import read_card
from ..config import SamplingConfig, require, require_seed
from ..decode import Drafter, tau
from ..drafters.model_set import ModelSet, load
from ..drafters.registry import DRAFTERS, KINDS
from ..train.corpus import load_held_out
from ..train.evaluate import bits_per_byte
from . import measures
from .options import split_list, split_names, split_temperatures
from .prefixes import DOMAINS, held_out_prefixes, prompt_ids, with_room
from .record import Column, Row, check_writable, interval, number, provenance, text_table, write_rows
from .timing import Timed, in_turn, quartiles, seconds_per_token
from .watched import Watched

PLAIN = "plain"  # not the name of a drafter
SIZES = {  # option -> what it counts, its default, its default in a trial run
    "prefixes": ("random held-out prefixes per domain", 500, 12),
    "prompts": ("shipped prompts per domain", 20, 2),
    "max_new_tokens": ("tokens of a free-running text", 128, 32),
}
BITS_TOKENS, QUICK_BITS_TOKENS = 40_000, 4096  # scored for bits per byte; the target's card has a figure from more

COLUMNS: list[Column] = [
    ("drafter", lambda row: row["drafter"]),
    ("text", lambda row: row["domain"]),
    ("T", lambda row: f"{row['temperature']:g}"),
    ("tau, held-out prefixes (95 %)", interval("tau", "tau_low", "tau_high")),
    ("tau, free-running", number("tau_free")),
    ("n-alpha, n from 0", lambda row: " ".join(f"{alpha:.2f}" for alpha in (row["alphas"] or [])[:5])),
    ("nodes", number("nodes", 1)),
    ("distinct", number("distinct")),
    ("ms/token plain", number("seconds_plain", scale=1e3)),
    ("ms/token", number("seconds_speculative", scale=1e3)),
    ("faster", number("ratio")),
    ("middle half of prompts", lambda row: f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f}"),
    ("same text", lambda row: f"{row['num_identical']}/{row['num_prompts']}"),
    ("bits/byte", number("bits_per_byte", 3)),
]
COSTS: list[Column] = [  # a second table of the same rows
    *COLUMNS[:3],
    ("accepted a cycle", lambda row: f"{row['tau'] - 1:.2f}"),
    ("draft passes", number("draft_passes", 1)),
    ("ms a cycle, prefill shared out", number("seconds_per_cycle", 1, 1e3)),
    ("ms drafting a tree", number("seconds_drafting", 1, 1e3)),
    ("faster", number("ratio")),
    ("million parameters", number("parameters", 2, 1e-6)),
    ("million training tokens", number("training_tokens", 1, 1e-6)),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command; every list is written with commas."""
    parser.add_argument("--model", default="tiny", help="shipped set of models, or a folder")
    parser.add_argument(
        "--drafters", default="all", help="names, or NAME@WEIGHTS for others of the set, or all that the set has"
    )
    parser.add_argument("--domains", default="all", help="of code, prose, sums")
    parser.add_argument("--temperatures", default="0,1")
    for name, (what, full, quick) in SIZES.items():
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, type=int, help=f"{what} (default {full}, {quick} in a trial run)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a trial run: smaller defaults, other options as given")
    parser.add_argument("--json", type=Path, help="store the rows in this file")


@dataclass(frozen=True)
class Plan:
    """The options, checked. ValueError, one line, for one that is not allowed."""

    drafters: list[str]
    domains: list[str]
    temperatures: list[float]
    prefixes: int
    prompts: int
    max_new_tokens: int
    seed: int
    quick: bool

    def __post_init__(self) -> None:
        for name in ("prefixes", "prompts", "max_new_tokens"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        require_seed(self.seed)
        for name in self.drafters:
            kind, at, weights = name.partition("@")
            require(kind in DRAFTERS, "drafter", name, f"one of {', '.join(DRAFTERS)}")
            good = not at or (weights and kind != "none" and KINDS[kind].weights is not None)
            require(bool(good), "drafter", name, "NAME, or NAME@WEIGHTS where it has any")
        for temperature in self.temperatures:
            SamplingConfig(temperature)

    @classmethod
    def of(cls, args: argparse.Namespace) -> "Plan":
        given = {name: getattr(args, name) for name in SIZES}
        sizes = {name: SIZES[name][1 + args.quick] if value is None else value for name, value in given.items()}
        drafters, domains = split_list(args.drafters, list(KINDS)), split_names(args.domains, "domain", DOMAINS)
        temperatures = split_temperatures(args.temperatures)
        return cls(drafters, domains, temperatures, seed=args.seed, quick=args.quick, **sizes)


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, store the rows. ValueError or FileNotFoundError for a bad option,
    raised before anything is measured."""
    plan = Plan.of(args)
    check_writable(args.json)
    models = load(args.model)
    if args.drafters == "all":
        plan = replace(plan, drafters=models.drafters())
        missing = [name for name in KINDS if name not in plan.drafters]
        print(f"left out, for want of weights: {', '.join(missing) or 'none'}", file=sys.stderr)
    drafters = {label: find_drafter(models, label) for label in plan.drafters}
    sizes = {label: weights_figures(models, label) for label in plan.drafters}
    rows: list[Row] = []
    weights = {weights_of(label) for label in plan.drafters} - {None}
    for row in measure(models, drafters, plan, weights):
        rows.append(row | sizes[row["drafter"]])
        write_rows(args.json, rows)
        print(f"{row['domain']} T={row['temperature']:g} {row['drafter']}: tau {row['tau']:.2f}", file=sys.stderr)
    print(text_table(COLUMNS, rows), text_table(COSTS, rows), sep="\n\n")
    return 0


def find_drafter(models: ModelSet, label: str) -> Drafter | None:
    """`eagle2`, or `eagle2@eagle-paper`: with other weights than its own."""
    name, _, weights = label.partition("@")
    return models.drafter(name, weights or None)


def weights_of(label: str) -> str | None:
    """The model of the set that `eagle2` or `eagle2@eagle-paper` drafts with; None where there is none."""
    name, _, weights = label.partition("@")
    return weights or (KINDS[name].weights if name in KINDS else None)


def measure(
    models: ModelSet, drafters: dict[str, Drafter | None], plan: Plan, weights: Collection[str]
) -> Iterator[Row]:
    """Yield the rows: domains, then temperatures, then drafters."""
    corpus = load_held_out()
    origin = provenance(models, weights, plan.seed, corpus.fingerprint())
    longest = with_room(models.target.context)
    for domain in plan.domains:
        documents = corpus.held_out[domain]
        prefixes = held_out_prefixes(domain, documents, models.tokenizer, plan.prefixes, plan.seed, longest)
        limit = QUICK_BITS_TOKENS if plan.quick else BITS_TOKENS
        bits = bits_per_byte(models.target, documents, models.tokenizer, limit)
        prompts = prompt_ids(domain, models.tokenizer, plan.prompts)
        for temperature in plan.temperatures:
            print(f"{domain} T={temperature:g}: decoding {len(prompts)} prompts, then prefixes", file=sys.stderr)
            watched = {label: Watched(drafter) if drafter is not None else None for label, drafter in drafters.items()}
            everyone = {PLAIN: None, **watched}
            stop = {models.tokenizer.end_id}
            timed = in_turn(models.target, everyone, prompts, plan.max_new_tokens, temperature, plan.seed, stop)
            for label, drafter in drafters.items():
                place = {"drafter": label, "domain": domain, "temperature": temperature}
                taus = measures.prefix_figures(models.target, drafter, prefixes, temperature, plan.seed)
                texts = text_figures(timed[PLAIN], timed[label]) | drafting_figures(watched[label])
                yield {**place, **taus, **texts, "bits_per_byte": bits, **origin}


def drafting_figures(watched: Watched | None) -> Row:
    """What drafting took in a cycle, as it was timed with the texts."""
    seconds, passes = watched.per_cycle if watched is not None else (0.0, 0.0)
    return {"seconds_drafting": seconds, "draft_passes": passes}


def weights_figures(models: ModelSet, label: str) -> Row:
    """Size of the network that a drafter uses, and the tokens it was trained on with all it started from. ValueError
    for a card that does not say."""
    name, weights = label.partition("@")[0], weights_of(label)
    if weights is None:
        return {"parameters": 0, "training_tokens": 0}
    network, card = KINDS[name].load(models.folder, weights), read_card(models.folder, weights)
    seen = []
    while card:
        good = isinstance(card, dict) and type(card.get("tokens_seen", 0)) is int
        require(good, f"training told by the card of {weights!r}", card, "cards with an integer as tokens_seen")
        seen.append(card.get("tokens_seen", 0))
        card = card.get("started_from")
    return {"parameters": sum(p.numel() for p in network.parameters()), "training_tokens": sum(seen)}


def text_figures(plain: Sequence[Timed], speculative: Sequence[Timed]) -> Row:
    """What free-running text says; the ratio's low and high are quartiles over the prompts."""
    low, high = quartiles(plain, speculative)
    slow, fast = seconds_per_token(plain), seconds_per_token(speculative)
    cycles = [cycle for run in speculative for cycle in run.text.cycles[1:]]
    return {
        "tau_free": tau(cycles),
        "distinct": measures.distinct([run.text for run in speculative]),
        "seconds_plain": slow,
        "seconds_speculative": fast,
        "ratio": slow / fast,
        "ratio_low": low,
        "ratio_high": high,
        "seconds_per_cycle": sum(run.seconds for run in speculative) / max(1, len(cycles)),
        "num_prompts": len(speculative),
        "num_identical": sum(a.text.tokens == b.text.tokens for a, b in zip(plain, speculative)),
    }
