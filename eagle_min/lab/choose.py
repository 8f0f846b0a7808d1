"""`python -m eagle_min choose`: the length of each drafter's trees, chosen on training text.

A draft tree of so many nodes may be broad or deep, and a chain long or short; every drafter has a length that suits
it. All are tried behind the same random places of training code, greedily, at the node budget that they are
compared with. A tree asks for another level only where its confidence reaches that far, so the *chosen* one is the
shortest whose tau is at least ENOUGH of the largest. A chain pays a pass for every level: chosen is what
Leviathan et al. (2211.17192, theorem 3.8) expect to be fastest, the largest tau / (1 + PASS[drafter] x passes).
Look-up and lookahead, which have no passes, have sizes of their own instead of lengths; of these the best one is
chosen.

Shapes that were published (`eagle1`) are left as they are; Medusa's is chosen when it is trained. The registry holds
what was chosen, and a test holds the two together. Read next: `study.py`.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..config import TreeConfig, require, require_seed
from ..decode import Drafter
from ..drafters.lookahead import LookaheadDrafter
from ..drafters.lookup import LookupDrafter
from ..drafters.model_set import ModelSet, load
from ..drafters.registry import KINDS
from ..drafters.small_model import chain_of
from ..train.corpus import load_corpus
from .measures import prefix_figures
from .prefixes import LONGEST_PREFIX, Prefix, held_out_prefixes
from .record import Column, Row, check_writable, interval, number, provenance, text_table, write_rows
from .watched import Watched

ENOUGH = 0.98
PASS = {"chain": 0.06, "small-chain": 0.1}  # what a pass costs beside the rest of a cycle: see their rows in `compare`
NUM_FILES = 200  # of training code that the places are in
DEPTHS = (5, 7, 9, 12, 16)
TREES = ("eagle2", "ratio", "eagle3", "mtp", "small")  # whose trees have a depth
CHAINS = tuple(PASS)
LOOKUPS = (1, 2, 3, 4, 6)  # tokens of the longest suffix that is looked up
LOOKAHEADS = ((2, 3, 8), (3, 3, 8), (5, 3, 8), (2, 4, 8), (3, 4, 4), (3, 4, 8), (5, 4, 8), (3, 5, 8))  # W, N, G

COLUMNS: list[Column] = [
    ("drafter", lambda row: row["drafter"]),
    ("size", lambda row: row["size"]),
    ("tau, training code (95 %)", interval("tau", "tau_low", "tau_high")),
    ("nodes", number("nodes", 1)),
    ("draft passes", number("draft_passes", 1)),
    ("chosen", lambda row: "yes" if row["chosen"] else ""),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--model", default="tiny", help="shipped set of models, or a folder")
    parser.add_argument("--prefixes", type=int, default=100, help="random places of training code")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="store the rows in this file")


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, store the rows. ValueError or FileNotFoundError for a bad option."""
    require(args.prefixes >= 1, "prefixes", args.prefixes, "at least 1")
    require_seed(args.seed)
    check_writable(args.json)
    models = load(args.model)
    names = [name for name in models.drafters() if name in (*TREES, *CHAINS, "lookup", "lookahead")]
    corpus = load_corpus()
    prefixes = places(models, corpus.train["code"], args.prefixes, args.seed)
    weights = {KINDS[name].weights for name in names} - {None}
    origin = provenance(models, weights, args.seed, corpus.fingerprint())
    rows: list[Row] = []
    for name in names:
        tried = [{**row, **origin} for row in measured(models, name, prefixes, args.seed)]
        rows += [{**row, "chosen": row is best} for best in [chosen(tried)] for row in tried]
        write_rows(args.json, rows)
        print(f"{name}: {chosen(tried)['size']}", file=sys.stderr)
    print(text_table(COLUMNS, rows))
    return 0


def places(models: ModelSet, documents: Sequence[tuple[str, str]], count: int, seed: int) -> list[Prefix]:
    """Random places in NUM_FILES files of training text, with room for the cycles."""
    order = np.random.default_rng(seed).permutation(len(documents))[:NUM_FILES]
    longest = min(LONGEST_PREFIX, models.target.context // 2)
    return held_out_prefixes("code", [documents[i] for i in order], models.tokenizer, count, seed, longest)


def sizes(models: ModelSet, name: str) -> Iterator[tuple[str, Drafter]]:
    """What is tried for a drafter: a label each, and the drafter of that size; trees from the shortest on."""
    tree = KINDS[name].tree
    if name == "lookup":
        yield from ((f"longest {n}", LookupDrafter(tree, n)) for n in LOOKUPS)
    elif name == "lookahead":
        yield from ((f"W={w} N={n} G={g}", LookaheadDrafter(tree, w, n, g)) for w, n, g in LOOKAHEADS)
    else:
        limits = [chain_of(depth) if name in CHAINS else replace(tree, depth=depth) for depth in DEPTHS]
        yield from ((label(limit), models.drafter(name, tree=limit)) for limit in limits)


def label(tree: TreeConfig) -> str:
    """How a row calls the length of trees."""
    return f"depth {tree.depth}"


def measured(models: ModelSet, name: str, prefixes: Sequence[Prefix], seed: int) -> Iterator[Row]:
    """A row for each size: tau of the first cycles behind the places, greedy."""
    for size, drafter in sizes(models, name):
        watched = Watched(drafter)
        figures = prefix_figures(models.target, watched, prefixes, 0.0, seed)
        yield {"drafter": name, "size": size, **figures, "draft_passes": watched.per_cycle[1]}


def chosen(rows: Sequence[Row]) -> Row:
    """The best by tau for its cost, where a pass costs something; of trees the first whose tau is large enough."""
    name = rows[0]["drafter"]
    worth = [row["tau"] / (1 + PASS.get(name, 0.0) * row["draft_passes"]) for row in rows]
    enough = ENOUGH * max(worth) if name in TREES else max(worth)
    return next(row for row, value in zip(rows, worth) if value >= enough)
