"""`python -m eagle_min rules`: how much of a draft each exact rule accepts, and the most that any could.

On two pairs of laws that are written down here, in fractions, and on the trained models: behind
held-out prefixes of code p is the target's law and q the head's, both at one temperature, and behind
each token of the vocabulary the pair of the next place is read too, so that chains of two drafts need
no sampling either. The prefixes are drawn by `--seed`; behind each of them all figures are sums, no
token is drawn. Read next: `typical.py`.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from ..config import SamplingConfig, require, require_seed
from ..drafters.model_set import ModelSet, load
from ..exactness.acceptance import closed_forms as accepted
from ..head import EagleDrafter
from ..sampling import next_token_law
from ..train.corpus import load_held_out
from .prefixes import held_out_prefixes
from .record import Column, Row, check_writable, number, provenance, text_table, write_rows

TEMPERATURES = (0.5, 1.0, 1.5)
LONGEST = 256  # tokens of a prefix: room for the vocabulary behind it in the cache
PAIRS = {"pair 1": ((5, 3, 2), (2, 5, 3)), "pair 2": ((4, 3, 2, 1), (1, 2, 3, 4))}  # tenths of p, of q


class Laws(NamedTuple):
    """p and q (V,) at a node, and behind each first token (V, V)."""

    p: np.ndarray
    q: np.ndarray
    second_p: np.ndarray
    second_q: np.ndarray


Rule = Callable[[Laws], object]
RULES: dict[tuple[str, str], Rule] = {
    ("one", "accept with p/q"): lambda x: accepted.one_draft(x.p, x.q),
    ("two likeliest", "match walk (EAGLE-2), the bound too"): lambda x: accepted.two_likeliest(x.p, x.q),
    ("two, with replacement", "match walk"): lambda x: accepted.match_walk(x.p, x.q, replace=True),
    ("two, with replacement", "recursive rejection"): lambda x: accepted.recursive(x.p, x.q, replace=True),
    ("two, with replacement", "K-SEQ"): lambda x: accepted.k_seq(x.p, x.q),
    ("two, with replacement", "bound"): lambda x: accepted.best_of_two(x.p, x.q, replace=True),
    ("two, without replacement", "match walk"): lambda x: accepted.match_walk(x.p, x.q, replace=False),
    ("two, without replacement", "recursive rejection"): lambda x: accepted.recursive(x.p, x.q, replace=False),
    ("two, without replacement", "bound"): lambda x: accepted.best_of_two(x.p, x.q, replace=False),
    ("chain of two", "token by token"): lambda x: accepted.chain_token_by_token(*x),
    ("chain of two", "block verification"): lambda x: accepted.chain_block(*x),
    ("chain of two", "bound"): lambda x: accepted.chain_bound(*x),
}

WORLDS = [*PAIRS, *(f"T={temperature:g}" for temperature in TEMPERATURES)]
COLUMNS: list[Column] = [
    ("drafts", lambda row: row["drafts"]),
    ("rule", lambda row: row["rule"]),
    *((world, number(world, 4)) for world in WORLDS),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--model", default="tiny", help="shipped set of models, or a folder")
    parser.add_argument("--head", default="eagle", help="head of the set")
    parser.add_argument("--prefixes", type=int, default=100, help="held-out prefixes of code")
    parser.add_argument("--seed", type=int, default=0, help="of the prefixes")
    parser.add_argument("--json", type=Path, help="store the rows in this file")


def run(args: argparse.Namespace) -> int:
    """Compute, print the table, store the rows. ValueError or FileNotFoundError for a bad option."""
    require(args.prefixes >= 1, "prefixes", args.prefixes, "at least 1")
    require_seed(args.seed)
    check_writable(args.json)
    models, corpus = load(args.model), load_held_out()
    documents, longest = corpus.held_out["code"], min(LONGEST, models.target.context // 2)
    prefixes = held_out_prefixes("code", documents, models.tokenizer, args.prefixes, args.seed, longest)
    figures = {name: figures_of(written_down(*pair)) for name, pair in PAIRS.items()}
    figures |= on_models(models, args.head, [prefix.ids for prefix in prefixes])
    origin = provenance(models, [args.head], args.seed, corpus.fingerprint())
    rows: list[Row] = [
        {"drafts": key[0], "rule": key[1], **{world: float(figures[world][key]) for world in WORLDS}, **origin}
        for key in RULES
    ]
    write_rows(args.json, rows)
    print(text_table(COLUMNS, rows))
    return 0


def figures_of(laws: Laws) -> dict[tuple[str, str], object]:
    """What each rule accepts, expected: of two children at most one, of a chain up to two."""
    return {key: rule(laws) for key, rule in RULES.items()}


def written_down(p: Sequence[int], q: Sequence[int]) -> Laws:
    """A pair in fractions, the same at both places of a chain."""
    first = [np.array([Fraction(weight, sum(row)) for weight in row]) for row in (p, q)]
    return Laws(*first, *(np.tile(row, (len(row), 1)) for row in first))


def on_models(models: ModelSet, head: str, prefixes: Sequence[list[int]]) -> dict[str, dict]:
    """Means over the prefixes, for each temperature."""
    size = models.target.vocab_size
    drafter = models.drafter("eagle2", head)
    drafter = models.drafter("eagle2", head, replace(drafter.tree, num_nodes=size + 1))
    found: dict[str, list[dict]] = {f"T={temperature:g}": [] for temperature in TEMPERATURES}
    for ids in prefixes:
        logits = logits_behind(drafter, ids)
        for temperature in TEMPERATURES:
            found[f"T={temperature:g}"].append(figures_of(laws_at(logits, temperature)))
    return {world: {key: np.mean([f[key] for f in figures]) for key in RULES} for world, figures in found.items()}


@torch.inference_mode()
def logits_behind(drafter: EagleDrafter, ids: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Logits of target and draft, each (V + 1, V): behind `ids`, and behind each token after them.

    The vocabulary is read like a draft tree of one level: one target call, one head pass.
    """
    target, vocabulary = drafter.target, list(range(drafter.target.vocab_size))
    session, draft = target.start(len(vocabulary) + 1), drafter.start(ids)
    features, _ = session.read(ids[:-1], list(range(len(ids) - 1)))
    draft.read(features, ids[1:])
    tokens, parents = [ids[-1], *vocabulary], [-1, *[0] * len(vocabulary)]
    places = [len(ids) - 1, *[len(ids)] * len(vocabulary)]
    mask = np.eye(len(tokens), dtype=bool)
    mask[:, 0] = True
    _, wanted = session.read(tokens, places, mask)
    expansion = draft.expansion()
    first = expansion(tokens, parents, [0])
    return wanted, np.concatenate([first, expansion(tokens, parents, list(range(1, len(tokens))))])


def laws_at(logits: tuple[np.ndarray, np.ndarray], temperature: float) -> Laws:
    """The four laws, float64, by the one rule of `sampling.py`."""
    sampling = SamplingConfig(temperature)
    p, q = (np.array([next_token_law(row, sampling) for row in rows]) for rows in logits)
    return Laws(p[0], q[0], p[1:], q[1:])
