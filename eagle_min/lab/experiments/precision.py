"""`precision`: how far a row of a tree call is from the same row read alone.

In exact arithmetic the logits at a node are those of its path. In floats a call on many rows sums in another
order than a call on one, and a decision that hangs on the last digits may fall otherwise: the text differs
and no rule is at fault. This ledger says by how much, for each number format. An EAGLE-2 tree is grown behind
a held-out prefix, as decoding grows it. The target, converted to the format, reads its nodes in one call; then,
behind the same cached prefix, it reads each path token by token. Per node, at temperature 1:

    TV               total variation of the two laws of the next token
    another argmax   the greedy token differs
    another draw     the token differs that the named uniform number of its position draws
    chance of it     the share of all uniform numbers that would draw another token

There is one tree behind each prefix. In a long text accepted rows of earlier trees stay in the cache, so
that differences add up. Nothing is timed. Read next: `choose.py`.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from ...config import SamplingConfig
from ...decode import read_tree
from ...dice import SeededDice, target_draw
from ...model import GPT, Session
from ...sampling import next_token_law
from ...tokenizer import Tokenizer
from ...train.corpus import Corpus
from ...tree import DraftTree, children, depths
from ..experiment import Experiment, Setting, say
from ..figures.tables import VALUES, entry
from ..instruments.measures import first_cycles
from ..instruments.prefixes import DOMAINS, Prefix, held_out_prefixes, with_room
from ..options import count
from ..record import Row

FORMATS = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}
SEED = 0  # of prefixes and draws, as `Setting.seed` has it here; context number i decodes with seed SEED + i
HEAD = "eagle"
SAMPLING = SamplingConfig(temperature=1.0)


class Node(NamedTuple):
    """How the two readings of one node differ."""

    total_variation: float
    other_argmax: bool
    other_draw: bool
    chance_of_other_draw: float


def measured(setting: Setting) -> Iterator[Row]:
    """The rows of each number format."""
    models = setting.models
    longest = with_room(models.target.context)
    prefixes = contexts(setting.corpus, models.tokenizer, setting.options.contexts, longest)
    starts = first_cycles(models.target, models.drafter("eagle2", HEAD), prefixes, SAMPLING.temperature, SEED)
    for name, dtype in FORMATS.items():
        say(f"measuring: {name}")
        target, nodes = copy.deepcopy(models.target).to(dtype), []
        for number, (prefix, start) in enumerate(zip(prefixes, starts)):
            nodes += compared(target, prefix.ids, start.cycles[0].tree, SEED + number)
        for row in figures(name, nodes):
            yield {"figure": "precision", **row}


def contexts(corpus: Corpus, tokenizer: Tokenizer, count: int, longest: int) -> list[Prefix]:
    """`count` held-out prefixes, as evenly from the domains as it goes."""
    found: list[Prefix] = []
    for place, domain in enumerate(DOMAINS):
        share = len(range(place, count, len(DOMAINS)))
        if share:
            found += held_out_prefixes(domain, corpus.held_out[domain], tokenizer, share, SEED, longest)
    return found


def compared(target: GPT, ids: Sequence[int], tree: DraftTree, seed: int) -> list[Node]:
    """Each node of `tree` behind the prefix `ids`: its row in one call on the tree, and its path read alone.

    `target` computes in the format of its weights; `seed` is that of the draws.
    """
    session, start = widened(target, len(tree)), len(ids)
    session.read(ids, range(start))
    _, together = read_tree(session, tree)
    alone = read_alone(session, tree, start)
    return [difference(*rows, seed, start + depth + 1) for *rows, depth in zip(together, alone, depths(tree.parents))]


def widened(target: GPT, num_spare: int) -> Session:
    """A session whose logits are float64 whatever the target computes in: numpy has no bfloat16."""
    session = target.start(num_spare)
    session.lm_head = lambda features: target.lm_head(features).double()
    return session


def read_alone(session: Session, tree: DraftTree, start: int) -> np.ndarray:
    """Logits (N, V) of the nodes, one token a call behind the first `start` rows of the session.

    Depth first: when a node's turn comes, the first rows behind `start` are its ancestors, and the rest goes.
    """
    below, rows, waiting = children(tree.parents), {}, [(0, 0)]
    while waiting:
        node, depth = waiting.pop()
        session.keep(start, range(depth))
        _, [rows[node]] = session.read([tree.tokens[node]], [start + depth])
        waiting += [(child, depth + 1) for child in below[node]]
    return np.stack([rows[node] for node in range(len(tree))])


def difference(together: np.ndarray, alone: np.ndarray, seed: int, position: int) -> Node:
    """Two rows of logits (V,) for the token at an absolute position."""
    p, q = (next_token_law(row, SAMPLING) for row in (together, alone))
    one, other = (SeededDice(seed).categorical(law, target_draw(position)) for law in (p, q))
    return Node(
        total_variation=float(np.abs(p - q).sum() / 2),
        other_argmax=bool(np.argmax(together) != np.argmax(alone)),
        other_draw=one != other,
        chance_of_other_draw=chance_of_other_draw(p, q),
    )


def chance_of_other_draw(p: np.ndarray, q: np.ndarray) -> float:
    """The share of uniform numbers u that `SeededDice` turns into different tokens of p and q, both (V,).

    A token gets the u between two cumulated weights, so both laws give it where its two intervals overlap. A
    small change early in the vocabulary moves all edges behind it: the share may be many times the total variation.
    """
    ends = np.cumsum([p, q], axis=1)
    starts = np.pad(ends[:, :-1], ((0, 0), (1, 0)))
    overlap = np.maximum(ends.min(axis=0) - starts.max(axis=0), 0).sum()
    return max(0.0, 1.0 - float(overlap))


def figures(name: str, nodes: Sequence[Node]) -> Iterator[Row]:
    """The rows of one format. Laws are compared in parts per million, for their differences are small."""
    distances, argmaxes, draws, chances = (np.array(column, dtype=np.float64) for column in zip(*nodes))
    yield entry(f"{name}: nodes compared", float(len(nodes)), "nodes")
    yield entry(f"{name}: largest TV", float(distances.max()) * 1e6, "ppm")
    yield entry(f"{name}: mean TV", float(distances.mean()) * 1e6, "ppm")
    yield entry(f"{name}: another argmax", float(argmaxes.mean()), "share")
    yield entry(f"{name}: another draw", float(draws.mean()), "share")
    yield entry(f"{name}: chance of another draw, mean", float(chances.mean()) * 1e6, "ppm")


EXPERIMENT = Experiment(
    name="precision",
    question="How far is a row of a tree call from the same row read alone, by number format?",
    options=[count("contexts", 20, "held-out prefixes, a tree behind each (default 20)")],
    rows=measured,
    tables=[VALUES],
    weights=lambda setting: (HEAD,),
)
