"""A world for a whole decoder, and the law of the texts that plain decoding gives there.

A decoder is told more than one step of verification is: a prompt, how many tokens to give, stop tokens, and how to
process the target's law (`SAMPLINGS`). A `Decoding` is a world with all that. Its right answer is found here from the
definitions alone: `plain_law` draws one token after the other from the `processed` law, up to a stop token
or the limit. The law of the decoder under test is found in `judge/decoders.py`. Read next: `drawn.py`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from ...config import SamplingConfig
from .tables import Row, Table, Text, TextLaw, World, likeliest_first

# No share of small weights is exactly TOP_P, so roundings of a decoder decide nothing. Temperature 1/2 squares weights,
# and in worlds for temperature 2 the weights are squares already, so that its roots stay Fractions.
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


@dataclass(frozen=True)
class Decoding:
    """A world with all that a decoder is told."""

    world: World
    prompt: Text
    max_new_tokens: int
    stop: frozenset[int]
    sampling: SamplingConfig
    sampled: bool  # children are drawn; else they are the draft's likeliest
    silent: int | None = None  # behind this token nothing is drafted


AnyWorld = World | Decoding


def world_of(any_world: AnyWorld) -> World:
    """The tables and the shape, also those of a decoder's world."""
    return any_world.world if isinstance(any_world, Decoding) else any_world


def in_fractions(any_world: AnyWorld) -> bool:
    """Can a sampler compute with Fractions here? A temperature of 2 takes roots."""
    return not isinstance(any_world, Decoding) or any_world.sampling.temperature <= 1


def processed(row: Row, sampling: SamplingConfig) -> Row:
    """The law of the next token after temperature, top_k and top_p, from their definitions: weights to the power of
    1 / temperature (0: the likeliest token), of these the top_k likeliest, and of those the fewest whose share is at
    least top_p. Temperature 2 needs weights whose ratios are squares."""
    if sampling.temperature == 0:
        return tuple(Fraction(token == likeliest_first(row)[0]) for token in range(len(row)))
    if sampling.temperature == 2:
        weights = [square_root(chance / max(row)) for chance in row]
    else:
        weights = [chance ** round(1 / sampling.temperature) for chance in row]
    keep = likeliest_first(row)[: sampling.top_k]
    total, enough, kept = sum(weights[token] for token in keep), Fraction(sampling.top_p), Fraction(0)
    law = [Fraction(0)] * len(row)
    for token in keep:
        if kept < enough * total:
            law[token] = weights[token]
            kept += weights[token]
    return tuple(weight / kept for weight in law)


def square_root(square: Fraction) -> Fraction:
    """The number whose square it is."""
    return Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))


def with_squared_weights(table: Table) -> Table:
    """The table whose laws have the squares of these weights."""
    return Table(tuple(tuple(chance**2 / sum(x**2 for x in row) for chance in row) for row in table.rows))


def in_words(sampling: SamplingConfig) -> str:
    """Temperature, and top_k and top_p where they are set."""
    words = [f"temperature {sampling.temperature:g}"]
    words += [f"top_k {sampling.top_k}"] if sampling.top_k is not None else []
    words += [f"top_p {sampling.top_p:g}"] if sampling.top_p < 1 else []
    return " ".join(words)


def plain_law(decoding: Decoding, text: Text = ()) -> TextLaw:
    """The law of the texts of plain decoding that begin with `text`: a token after the other, up to a stop token or the
    limit."""
    if len(text) == decoding.max_new_tokens or (text and text[-1] in decoding.stop):
        return {text: Fraction(1)}
    law = processed(decoding.world.target((*decoding.prompt, *text)), decoding.sampling)
    return {
        longer: chance * more
        for token, chance in enumerate(law)
        if chance
        for longer, more in plain_law(decoding, (*text, token)).items()
    }
