"""The figures of speculative decoding, defined on what was decoded. No clock.

    tau       tokens committed per target call after the prefill, bonus token included (`decode.tau`)
    n-alpha   chain drafts: share accepted at draft position n, from 0, among those tried there;
              the head's input then holds n features of its own (EAGLE-1 2401.15077, section 4)
    distinct  different tokens over all tokens of a text; low where a text loops

Read next: `calibration.py`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from ...config import SamplingConfig, require
from ...decode import Cycle, Drafter, Generation, Reading, read_tree, stream, tau
from ...dice import SeededDice
from ...model import GPT
from ...tree import DraftTree
from .prefixes import Prefix

NUM_CYCLES = 2  # measured behind each prefix
RESAMPLES = 1000


class Start(NamedTuple):
    """The first cycles behind a prefix, the prefill left out."""

    file: str
    cycles: list[Cycle]


def first_cycles(
    target: GPT, drafter: Drafter | None, prefixes: Sequence[Prefix], temperature: float, seed: int
) -> list[Start]:
    """NUM_CYCLES cycles behind each prefix, without a stop token; each has a seed of its own."""
    starts = []
    for place, (file, ids) in enumerate(prefixes):
        options = {"max_new_tokens": target.context, "temperature": temperature, "seed": seed + place}
        cycles = stream(target, ids, drafter, **options)
        starts.append(Start(file, list(islice(cycles, NUM_CYCLES + 1))[1:]))
    return starts


def first_tree(target: GPT, drafter: Drafter, ids: Sequence[int]) -> tuple[DraftTree, np.ndarray]:
    """The tree drafted behind a text whose last token is the root, and the target's logits (N, V) at its nodes."""
    session, draft, before = target.start(drafter.num_nodes, drafter.layers), drafter.start(ids), len(ids) - 1
    features, rows = session.read(ids[:-1], list(range(before)))
    draft.learn(Reading(features, rows, list(range(before)), ids[1:]))
    tree = draft.propose(ids[-1], target.context - len(ids), SeededDice(0), 0, SamplingConfig())
    return tree, read_tree(session, tree)[1]


def prefix_figures(
    target: GPT, drafter: Drafter | None, prefixes: Sequence[Prefix], temperature: float, seed: int
) -> dict:
    """What the first cycles behind held-out prefixes say."""
    starts = first_cycles(target, drafter, prefixes, temperature, seed)
    cycles = all_cycles(starts)
    return {
        **tau_figures(starts, seed),
        "alphas": alphas(cycles),
        "nodes": mean_nodes(cycles),
        "num_prefixes": len(prefixes),
        "num_files": len({prefix.file for prefix in prefixes}),
    }


def all_cycles(starts: Sequence[Start]) -> list[Cycle]:
    """The cycles behind all prefixes."""
    return [cycle for start in starts for cycle in start.cycles]


def tau_figures(starts: Sequence[Start], seed: int) -> dict:
    """tau over the cycles behind the prefixes, and its interval."""
    low, high = bootstrap(starts, seed)
    return {"tau": tau(all_cycles(starts)), "tau_low": low, "tau_high": high}


def bootstrap(starts: Sequence[Start], seed: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of tau when the files, not the cycles, are drawn anew (the percentile method).

    Cycles of one file are alike, so the file is the unit that is resampled.
    """
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file, cycles in starts:
        totals[file][0] += sum(len(cycle.tokens) for cycle in cycles)
        totals[file][1] += len(cycles)
    require(sum(calls for _, calls in totals.values()) > 0, "number of cycles", 0, "at least 1")
    table = np.array([pair for pair in totals.values() if pair[1]])  # (files, 2): tokens, calls
    drawn = np.random.default_rng(seed).integers(len(table), size=(RESAMPLES, len(table)))
    tokens, calls = table[drawn].sum(axis=1).T
    low, high = np.quantile(tokens / calls, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def gap_figures(name: str, better: Sequence[Start] | None, starts: Sequence[Start], seed: int) -> dict:
    """How far `starts` are behind what is claimed to be better, called `name`, and a paired interval of that; empty
    where nothing is.

    Both begin at the same prefixes, so their files are drawn together: what makes a text easy for both cancels.
    """
    if better is None:
        return {}
    totals: dict[str, list[int]] = {}
    for place, group in enumerate((better, starts)):
        for file, cycles in group:
            numbers = totals.setdefault(file, [0, 0, 0, 0])
            numbers[2 * place] += sum(len(cycle.tokens) for cycle in cycles)
            numbers[2 * place + 1] += len(cycles)
    table = np.array(list(totals.values()))  # (files, 4): tokens and calls of the one and of the other
    drawn = np.random.default_rng(seed).integers(len(table), size=(RESAMPLES, len(table)))
    low, high = np.quantile(difference(table[drawn].sum(axis=1)), [0.025, 0.975])
    return {"behind": name, "gap": float(difference(table.sum(axis=0))), "gap_low": float(low), "gap_high": float(high)}


def difference(totals: np.ndarray) -> np.ndarray:
    """(..., 4) tokens and calls of two drafters -> (...) tau of the first less tau of the second."""
    tokens, calls, other_tokens, other_calls = np.moveaxis(totals, -1, 0)
    return tokens / calls - other_tokens / other_calls


def alphas(cycles: Iterable[Cycle]) -> list[float] | None:
    """n-alpha for n = 0, 1, ... as far as any draft got; None unless every draft was a chain."""
    tried: dict[int, int] = defaultdict(int)
    accepted: dict[int, int] = defaultdict(int)
    for cycle in cycles:
        if cycle.tree is None or list(cycle.tree.parents) != list(range(-1, cycle.tree.num_drafted)):
            return None
        right = len(cycle.path) - 1
        for place in range(min(right + 1, cycle.tree.num_drafted)):  # the first wrong one was tried too
            tried[place] += 1
            accepted[place] += place < right
    return [accepted[place] / tried[place] for place in sorted(tried)]


def mean_nodes(cycles: Iterable[Cycle]) -> float:
    """Tokens the target read per call: nodes of the tree, root included; 1 for plain decoding."""
    return float(np.mean([1 if cycle.tree is None else len(cycle.tree) for cycle in cycles]))


def distinct(texts: Sequence[Generation]) -> float:
    """Share of distinct tokens in a text, averaged over the texts that have any."""
    return float(np.mean([len(set(text.tokens)) / len(text.tokens) for text in texts if text.tokens]))
