"""Faults in how drafts are drawn, and in what follows: whole steps, which draw their drafts themselves.

A step returns the tokens of one cycle, whether they were drafted or not; see `row.py` for its contract.
"""

from fractions import Fraction
from math import frexp

import numpy as np

from eagle_min.exactness.worlds.tables import Table, likeliest_first

from .row import BASE, THREE_LAWS, TWO, TWO_LAWS, Faulty, P, after, first, law_of, on_second_pair, pair, world

ROOT = ()


def top(law, count):
    """The `count` likeliest tokens, renormalised; ties to the smaller token."""
    best = likeliest_first(law)[:count]
    kept = np.array([x if token in best else 0 * x for token, x in enumerate(law)], dtype=object)
    return kept / kept.sum()


def colder(law):
    """Temperature 1/2."""
    return law**2 / (law**2).sum()


def rounded(law):
    """As drawn from a bfloat16 softmax: 8 bits a weight."""
    bits = [2 ** (8 - frexp(float(x))[1]) for x in law]
    weights = np.array([Fraction(round(x * scale), scale) for x, scale in zip(law, bits)], dtype=object)
    return weights / weights.sum()


def judged(token, law, q, p, dice):
    """The right rule for one draft `token` that is said to come from `q`; `law` is the target's there."""
    if dice.accept(min(law[token] / q[token], 1), ("coin",)):
        return [token, dice.categorical(p((token,)), ("bonus",))]
    return [dice.categorical(np.maximum(law - q, 0), ("rest",))]


def drawing_from(drawn, said=lambda q: q):
    """A draft from `drawn(q)`, judged as one from `said(q)`."""

    def step(p, q, *, dice):
        return judged(dice.categorical(drawn(q(ROOT)), ("draft",)), p(ROOT), said(q(ROOT)), p, dice)

    return step


def peak(law):
    """All mass on the likeliest token."""
    return top(law, 1)


def token_zero(law):
    """All mass on token 0."""
    return np.array([Fraction(token == 0) for token in range(len(law))], dtype=object)


def greedy_processor(p, q, *, dice):
    """Greedy in name: the draft is a maximum, the coin is tossed with the raw laws, the rest is a maximum."""
    token, law = likeliest_first(q(ROOT))[0], p(ROOT)
    if dice.accept(min(law[token] / q(ROOT)[token], 1), ("coin",)):
        return [token, likeliest_first(p((token,)))[0]]
    return [likeliest_first(np.maximum(law - q(ROOT), 0))[0]]


def temperature_of_the_draft_only(p, q, *, dice):
    """The draft has its temperature, the target's side of the test has 1."""
    cold = colder(q(ROOT))
    return judged(dice.categorical(cold, ("draft",)), p(ROOT), cold, p, dice)


def no_break(p, q, *, dice):
    """The loop goes on behind a refusal: its rows belong to a prefix that never was."""
    drafted, out = [], []
    for place in range(2):
        law, draft = p(tuple(drafted)), q(tuple(drafted))
        token = dice.categorical(draft, ("draft", place))
        if not dice.accept(min(law[token] / draft[token], 1), ("coin", place)):
            out.append(dice.categorical(np.maximum(law - draft, 0), ("rest", place)))
        else:
            out.append(token)
        drafted.append(token)
    return [*out, dice.categorical(p(tuple(drafted)), ("bonus",))]


def padded_path(p, q, *, dice):
    """Paths of different lengths, the short one padded with token 0 and the last row of the tree: the walk
    takes the padding for a node."""
    long, short = likeliest_first(q(ROOT))[:2]
    below = likeliest_first(q((long,)))[0]
    out = [dice.categorical(p(ROOT), ("target", 0))]
    if out[0] in (long, short):
        out.append(dice.categorical(p(tuple(out)), ("target", 1)))
        if out in ([long, below], [short, 0]):
            out.append(dice.categorical(p((long, below)), ("target", 2)))
    return out


A3 = Faulty(
    "A3",
    "the draft is a maximum, judged as a sample",
    "step",
    "jaymody/speculative-sampling #3; huggingface/transformers #32867",
    drawing_from(peak),
    world(BASE),
    first(".4", ".6", "0"),
)

FAULTS = (
    A3,
    on_second_pair(A3, first("9/16", "3/16", "0", "1/4")),
    Faulty(
        "r1",
        "greedy processor tosses coins",
        "step",
        "romsto/Speculative-Decoding, its default",
        greedy_processor,
        pair(P, law_of(6, 1, 3)),
        first("5/6", "1/6", "0"),
        processed=lambda law: tuple(top(law, 1)),
    ),
    Faulty(
        "r58",
        "the draft is replaced by token 0, judged as a sample",
        "step",
        "vllm-project/vllm #58080",
        drawing_from(token_zero),
        world(BASE),
        first("1", "0", "0"),
        "by hand: p(0) > q(0), so that 0 is always accepted",
    ),
    Faulty(
        "A4",
        "drawn at temperature 1/2, judged by the draft's law at 1",
        "step",
        "huggingface/transformers PR #28166",
        drawing_from(colder),
        world(BASE),
        first("17/38", "15/38", "3/19"),
    ),
    Faulty(
        "r3",
        "drawn from a law in bfloat16, judged by the one in float32",
        "step",
        "deepseek-ai/DeepSpec #31",
        drawing_from(rounded),
        world(BASE),
        first("7687/15375", "1536/5125", "616/3075"),
        "by hand: drawn as [205, 512, 308] / 1025, accepted with [1, 3/5, 2/3], the rest is token 0",
    ),
    Faulty(
        "A5",
        "drawn from the top 2 of q, judged by q",
        "step",
        "huggingface/transformers #47932",
        drawing_from(lambda q: top(q, 2)),
        world(BASE),
        first("3/8", "3/8", "1/4"),
    ),
    Faulty(
        "A7",
        "temperature is missing on the target's side",
        "step",
        "vllm-project/vllm PR #10198",
        temperature_of_the_draft_only,
        world(BASE),
        first(".5", ".3", ".2"),
        processed=lambda law: tuple(colder(np.array(law))),
    ),
    Faulty(
        "F3",
        "no stop at the first refusal",
        "step",
        "antonellof/ferrox #307",
        no_break,
        world(TWO_LAWS, TWO),  # behind tokens 0 and 2 comes the second law, behind 1 the first
        after(0, chances=".13 .09 .28"),
        "by hand: behind a 0 that stands for a refused 1 comes the law behind 1; .2 of the first tokens",
    ),
    Faulty(
        "r49",
        "short paths are padded with a real token",
        "step",
        "Medusa's paths are padded with 0",
        padded_path,
        world((THREE_LAWS[0], Table((law_of(5, 2, 3),))), ((-1, 0, 0, 1), (0, 0, 1, 0))),
        after(2, 0, chances=".01 .08 .01"),
        "by hand: 2 and 0 come with .2 * .5, then the law behind 0, 0 is read, the third, instead of the second",
    ),
)

CONTROLS = (
    Faulty(
        "A3'",
        "the draft is a maximum, judged as what it is",
        "step",
        "A3 mended",
        drawing_from(peak, peak),
        world(BASE),
    ),
    Faulty(
        "A5'",
        "drawn from the top 2 of q, judged by the same",
        "step",
        "huggingface/transformers PR #47961",
        drawing_from(lambda q: top(q, 2), lambda q: top(q, 2)),
        world(BASE),
    ),
)
