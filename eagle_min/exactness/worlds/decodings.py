"""Whole decoders: the contract `loop`, and the law of the texts it must give.

    f(model, drafter, prompt, max_new_tokens, stop, sampling) -> the new token ids

`model(ids)` gives (len(ids), V): row i is what follows ids[: i + 1], as logits, or with `exact` as Fraction
weights. `drafter(ids)` gives (tokens, parents, probs): a tree whose root is ids[-1]; probs is None when the
tree is a function of ids, else (N, V) and its children were drawn without replacement; now and then it is the
root alone. `stop` is a set of token ids, and a stop token is the last one returned; `sampling` has temperature,
top_k and top_p, and is one of SAMPLINGS: temperatures 0, 1/2, 1 and (not with `exact`) 2, with and without a top_k and
a top_p. Filters come behind the temperature, top_p behind top_k, and of equally likely tokens the smaller ids stay.

A decoder that keeps a state between cycles, counts positions wrongly, or treats a stop token or the
limit in another way than plain decoding, shows here and in no single cycle. Read next: `standing.py`.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ...config import SamplingConfig
from ...dice import Dice
from ..judge.kinds import DRAFTED, Law, Sampler, token_ids
from ..law import Number
from .tables import Row, Table, Text, World, drawn_tree, likeliest_tree, likely, paths, siblings, trees

# No share of small weights is exactly TOP_P, so roundings of a decoder decide nothing; at temperature 1/2 weights are
# squared, and at temperature 2 the weights of the world are squares, so Fractions stay Fractions.
TOP_P = 0.65
SAMPLINGS = (
    SamplingConfig(1.0),
    SamplingConfig(1.0, top_k=2),
    SamplingConfig(1.0, top_p=TOP_P),
    SamplingConfig(1.0, top_k=2, top_p=TOP_P),
    SamplingConfig(0.5),
    SamplingConfig(0.5, top_k=2),
    SamplingConfig(0.5, top_p=TOP_P),
    SamplingConfig(2.0),
    *(SamplingConfig(0.0),) * 2,
)
LARGER = (-1, 0, 0, 1), (-1, 0, 0, 1), (-1, 0, 0, 2)  # parents: three nodes, two levels


@dataclass(frozen=True)
class Decoding:
    """A world with all that a decoder is told."""

    world: World
    prompt: Text
    max_new_tokens: int
    stop: frozenset[int]
    sampling: SamplingConfig
    sampled: bool  # children are drawn, not the draft's likeliest
    silent: int | None = None  # behind this token nothing is drafted


def filtered(row: Row, sampling: SamplingConfig) -> Row:
    """The law of the next token from the definitions: weights to the power of 1 / temperature; of them the top_k, and
    of these the fewest whose share is at least top_p. Temperature 0: the likeliest. Temperature 2 needs weights whose
    ratios are squares."""
    if sampling.temperature == 0:
        return tuple(Fraction(token == likely(row)[0]) for token in range(len(row)))
    if sampling.temperature == 2:
        weights = [root(chance / max(row)) for chance in row]
    else:
        weights = [chance ** round(1 / sampling.temperature) for chance in row]
    keep = likely(row)[: sampling.top_k]
    total, enough, kept = sum(weights[token] for token in keep), Fraction(sampling.top_p), Fraction(0)
    law = [Fraction(0)] * len(row)
    for token in keep:
        if kept < enough * total:
            law[token] = weights[token]
            kept += weights[token]
    return tuple(weight / kept for weight in law)


def root(square: Fraction) -> Fraction:
    """The number whose square it is."""
    return Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))


def squared(table: Table) -> Table:
    """Laws whose weights are the squares of these."""
    return Table(tuple(tuple(chance**2 / sum(x**2 for x in row) for chance in row) for row in table.rows))


def named(sampling: SamplingConfig) -> str:
    """A sampling in words; only what is not left open."""
    words = [f"temperature {sampling.temperature:g}"]
    words += [f"top_k {sampling.top_k}"] if sampling.top_k is not None else []
    words += [f"top_p {sampling.top_p:g}"] if sampling.top_p < 1 else []
    return " ".join(words)


def in_fractions(world: Any) -> bool:
    """Can all be computed with Fractions in this world? A temperature of 2 takes roots."""
    return not isinstance(world, Decoding) or world.sampling.temperature <= 1


def wanted_texts(decoding: Decoding, text: Text = ()) -> Iterator[tuple[Text, Number]]:
    """The law of plain decoding: a token after the other, up to a stop token or the limit."""
    if len(text) == decoding.max_new_tokens or (text and text[-1] in decoding.stop):
        yield text, Fraction(1)
        return
    law = filtered(decoding.world.target((*decoding.prompt, *text)), decoding.sampling)
    for token, chance in enumerate(law):
        if chance:
            yield from ((longer, chance * more) for longer, more in wanted_texts(decoding, (*text, token)))


def got_texts(sampler: Sampler, decoding: Decoding) -> Law:
    """The law of what the decoder returns, by enumeration."""
    return sampler.law_of(lambda dice: play(sampler, decoding, dice))


def play(sampler: Sampler, decoding: Decoding, dice: Dice) -> Text:
    """One run of the decoder."""
    model, drafter = model_of(sampler, decoding), drafter_of(sampler, decoding, dice)
    arguments = (list(decoding.prompt), decoding.max_new_tokens, set(decoding.stop), decoding.sampling)
    return token_ids(sampler.call(dice, model, drafter, *arguments))


def model_of(sampler: Sampler, decoding: Decoding) -> Callable[[Any], np.ndarray]:
    """The target as the decoder sees it."""
    target = decoding.world.target

    def model(ids: Any) -> np.ndarray:
        text = tuple(int(token) for token in ids)
        laws = [target(text[: place + 1]) for place in range(len(text))]
        if sampler.exact:
            return sampler.array(laws, target.vocab_size)
        return np.array([[math.log(x) if x else -math.inf for x in law] for law in laws])

    return model


def drafter_of(sampler: Sampler, decoding: Decoding, dice: Dice) -> Callable[[Any], tuple]:
    """A drafter that grows the tree of the world below the last token."""
    calls = [0]

    def drafter(ids: Any) -> tuple:
        text = tuple(int(token) for token in ids)
        calls[0] += 1
        world = replace(decoding.world, parents=(-1,)) if text[-1] == decoding.silent else decoding.world
        if not decoding.sampled:
            return np.array(likeliest_tree(world, text)), np.array(world.parents), None
        tokens, parents = drawn_tree(world, text, dice, (DRAFTED, calls[0]), replace=False)
        laws = [world.draft((*text, *path)) for path in paths(tokens, tuple(parents))]
        return np.array(tokens), np.array(parents), sampler.array(laws, world.target.vocab_size)

    return drafter


@st.composite
def decodings(draw: st.DrawFn) -> Decoding:
    """Small worlds with a prompt, a limit, one of SAMPLINGS, perhaps stop tokens and one behind which nothing is
    drafted.

    Nearly half of them are forks: above temperature 0 either of two children may be taken, and the text goes on
    behind the first cycle, for only there shows which rows a decoder has kept of it. Drawn children multiply the
    branches of a cycle, so texts are shorter there, and the larger trees are functions of the text.
    """
    shape = draw(st.sampled_from(("any",) * 3 + ("fork",) * 4 + ("larger",) * 3))
    fork, larger = shape == "fork", shape == "larger"
    world = draw(trees(max_drafted=2) if shape == "any" else siblings())
    if larger:
        world = replace(world, parents=draw(st.sampled_from(LARGER)), ranks=(0, 0, 1, 0))
    vocab_size = world.target.vocab_size
    # a law without zeros: any number of children can be drawn from it
    sampled = not larger and draw(st.booleans()) and all(0 not in row for row in world.draft.rows)
    sampling = draw(st.sampled_from([each for each in SAMPLINGS if each.temperature > 0] if fork else SAMPLINGS))
    if sampling.temperature == 2:
        world = replace(world, target=squared(world.target))
    prompt = tuple(draw(st.lists(st.integers(0, vocab_size - 1), min_size=1, max_size=2)))
    stop = frozenset(draw(st.lists(st.integers(0, vocab_size - 1), max_size=2)))
    silent = draw(st.sampled_from([None] * 3 + [*range(vocab_size)]))
    limit = draw(st.integers(3 if shape != "any" else 1, 3 if sampled else 4))
    return Decoding(world, prompt, limit, stop, sampling, sampled, silent)
