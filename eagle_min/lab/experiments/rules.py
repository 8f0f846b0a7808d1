"""`rules`: how much of a draft each exact rule accepts, and the most that any could.

On two pairs of laws that are written down here, in fractions, and on the trained models: behind
held-out prefixes of code p is the target's law and q the head's, both at one temperature, and behind
each token of the vocabulary the pair of the next place is read too, so that chains of two drafts need
no sampling either. The prefixes are drawn by `--seed`; behind each of them all figures are sums, no
token is drawn. Read next: `typical.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch

from ...config import SamplingConfig
from ...exactness.acceptance import closed_forms as accepted
from ...head import EagleDrafter
from ...sampling import next_token_law
from ..experiment import Experiment, Setting
from ..figures.tables import Column, number, word
from ..options import HEAD, count, seed
from ..record import Row

TEMPERATURES = (0.5, 1.0, 1.5)
LONGEST = 256  # tokens of a prefix: room for the vocabulary behind it in the cache
PAIRS = {"pair 1": ((5, 3, 2), (2, 5, 3)), "pair 2": ((4, 3, 2, 1), (1, 2, 3, 4))}  # tenths of p, of q


class NodeLaws(NamedTuple):
    """p and q (V,) at a node, and behind each first token (V, V)."""

    p: np.ndarray
    q: np.ndarray
    second_p: np.ndarray
    second_q: np.ndarray


Rule = Callable[[NodeLaws], object]
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
    ("drafts", word("drafts")),
    ("rule", word("rule")),
    *((world, number(world, 4)) for world in WORLDS),
]


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each rule, with what it accepts of each pair and at each temperature."""
    prefixes = setting.prefixes_up_to(min(LONGEST, setting.models.target.context // 2))
    figures = {name: figures_of(written_down(*pair)) for name, pair in PAIRS.items()}
    figures |= on_models(setting, [prefix.ids for prefix in prefixes])
    for key in RULES:
        yield {"drafts": key[0], "rule": key[1], **{world: float(figures[world][key]) for world in WORLDS}}


def figures_of(laws: NodeLaws) -> dict[tuple[str, str], object]:
    """What each rule accepts, expected: of two children at most one, of a chain up to two."""
    return {key: rule(laws) for key, rule in RULES.items()}


def written_down(p: Sequence[int], q: Sequence[int]) -> NodeLaws:
    """A pair in fractions, the same at both places of a chain."""
    first = [np.array([Fraction(weight, sum(row)) for weight in row]) for row in (p, q)]
    return NodeLaws(*first, *(np.tile(row, (len(row), 1)) for row in first))


def on_models(setting: Setting, prefixes: Sequence[list[int]]) -> dict[str, dict]:
    """Means over the prefixes, for each temperature."""
    size = setting.models.target.vocab_size
    drafter = setting.drafter("eagle2", replace(setting.drafter("eagle2").tree, num_nodes=size + 1))
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


def laws_at(logits: tuple[np.ndarray, np.ndarray], temperature: float) -> NodeLaws:
    """The four laws, float64, by the one rule of `sampling.py`."""
    sampling = SamplingConfig(temperature)
    p, q = (np.array([next_token_law(row, sampling) for row in rows]) for rows in logits)
    return NodeLaws(p[0], q[0], p[1:], q[1:])


EXPERIMENT = Experiment(
    name="rules",
    question="How much of a draft does each exact rule accept, and how much could any?",
    options=[HEAD, count("prefixes", 100, "held-out prefixes of code"), seed("of the prefixes")],
    rows=measured,
    tables=[COLUMNS],
)
