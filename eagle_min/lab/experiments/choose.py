"""`choose`: the length of each drafter's trees, chosen on training text.

A draft tree of so many nodes may be broad or deep, and a chain long or short; every drafter has a length that suits
it. All are tried behind the same random places of training code, greedily, at the node budget that they are
compared with. A tree asks for another level only where its confidence reaches that far, so the *chosen* one is the
shortest whose tau is at least ENOUGH of the largest. A chain pays a pass for every level: chosen is what
Leviathan et al. (2211.17192, theorem 3.8) expect to be fastest, the largest tau / (1 + PASS[drafter] x passes).
Look-up and lookahead, which have no passes, have sizes of their own instead of lengths; of these the best one is
chosen.

Shapes that were published (`eagle1`) are left as they are; Medusa's is chosen when it is trained. The registry holds
what was chosen, and a test holds the two together. Read next: `rates.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...config import TreeConfig
from ...decode import Drafter
from ...drafters.lookahead import LookaheadDrafter
from ...drafters.lookup import LookupDrafter
from ...drafters.model_set import ModelSet
from ...drafters.registry import REGISTRY
from ...drafters.small_model import chain_of
from ...train.corpus import load_corpus
from ..experiment import Experiment, Setting
from ..figures.tables import Column, interval, number, word
from ..instruments.counted import CountedDrafter
from ..instruments.measures import prefix_figures
from ..instruments.prefixes import LONGEST_PREFIX, Prefix, held_out_prefixes
from ..options import SEED, count
from ..record import Row

ENOUGH = 0.98
PASS = {"chain": 0.06, "small-chain": 0.1}  # what a pass costs beside the rest of a cycle: see their rows in `compare`
NUM_FILES = 200  # of training code that the places are in
DEPTHS = (5, 7, 9, 12, 16)
TREES = ("eagle2", "ratio", "eagle3", "mtp", "small")  # whose trees have a depth
CHAINS = tuple(PASS)
LOOKUPS = (1, 2, 3, 4, 6)  # tokens of the longest suffix that is looked up
LOOKAHEADS = ((2, 3, 8), (3, 3, 8), (5, 3, 8), (2, 4, 8), (3, 4, 4), (3, 4, 8), (5, 4, 8), (3, 5, 8))  # W, N, G

COLUMNS: list[Column] = [
    ("drafter", word("drafter")),
    ("size", word("size")),
    ("tau, training code (95 %)", interval("tau")),
    ("nodes", number("nodes", 1)),
    ("draft passes", number("draft_passes", 1)),
    ("chosen", lambda row: "yes" if row["chosen"] else ""),
]


def of_the_set(models: ModelSet) -> list[str]:
    """The drafters that have a size to choose, and whose weights the set has."""
    return [name for name in models.drafters() if name in (*TREES, *CHAINS, "lookup", "lookahead")]


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each size of each drafter, one of them chosen: tau of the first cycles behind the places, greedy."""
    models, seed = setting.models, setting.seed
    prefixes = places(models, load_corpus().train["code"], setting.options.prefixes, seed)
    for name in of_the_set(models):
        tried = []
        for size, drafter in sizes(models, name):
            counted = CountedDrafter(drafter)
            figures = prefix_figures(models.target, counted, prefixes, 0.0, seed)
            tried.append({"drafter": name, "size": size, **figures, "draft_passes": counted.per_cycle[1]})
        best = chosen(tried)
        yield from ({**row, "chosen": row is best} for row in tried)


def places(models: ModelSet, documents: Sequence[tuple[str, str]], count: int, seed: int) -> list[Prefix]:
    """Random places in NUM_FILES files of training text, with room for the cycles."""
    order = np.random.default_rng(seed).permutation(len(documents))[:NUM_FILES]
    longest = min(LONGEST_PREFIX, models.target.context // 2)
    return held_out_prefixes("code", [documents[i] for i in order], models.tokenizer, count, seed, longest)


def sizes(models: ModelSet, name: str) -> Iterator[tuple[str, Drafter]]:
    """What is tried for a drafter: a label each, and the drafter of that size; trees from the shortest on."""
    tree = REGISTRY[name].tree
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


def chosen(rows: Sequence[Row]) -> Row:
    """The best by tau for its cost, where a pass costs something; of trees the first whose tau is large enough."""
    name = rows[0]["drafter"]
    worth = [row["tau"] / (1 + PASS.get(name, 0.0) * row["draft_passes"]) for row in rows]
    enough = ENOUGH * max(worth) if name in TREES else max(worth)
    return next(row for row, value in zip(rows, worth) if value >= enough)


EXPERIMENT = Experiment(
    name="choose",
    question="How long should the trees and chains of each drafter be, by training text?",
    options=[count("prefixes", 100, "random places of training code"), SEED],
    rows=measured,
    tables=[COLUMNS],
    weights=lambda setting: {REGISTRY[name].weights for name in of_the_set(setting.models)} - {None},
    progress=lambda rows: f"{rows[-1]['drafter']}: {rows[-1]['size']}" if rows[-1]["chosen"] else None,
)
