"""Whole decoders: they are given a target and a drafter as functions, and return the tokens of a text.

What each of them is given is said in `kinds.py`. A decoder that keeps a state between cycles, counts positions wrongly,
or treats a stop token or the limit differently from plain decoding shows it here and in no single cycle. The law
of its texts must be that of plain decoding. Read next: `kinds.py`.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...dice import Dice
from ..worlds.decodings import Decoding, plain_law
from ..worlds.tables import Text, TextLaw, drawn_tree, likeliest_tree, paths
from .call import token_ids
from .cycles import DRAFT
from .sampler import Laws, Sampler


def play_decoder(sampler: Sampler, decoding: Decoding, text: Text, dice: Dice) -> Text:
    """One run of the decoder, behind the prompt and `text`."""
    model, drafter = model_of(sampler, decoding), drafter_of(sampler, decoding, dice)
    arguments = ([*decoding.prompt, *text], decoding.max_new_tokens, set(decoding.stop), decoding.sampling)
    return token_ids(sampler.call(dice, model, drafter, *arguments))


def model_of(sampler: Sampler, decoding: Decoding) -> Callable[[Any], np.ndarray]:
    """The target as the decoder sees it."""
    target = decoding.world.target

    def model(ids: Any) -> np.ndarray:
        text = tuple(int(token) for token in ids)
        laws = sampler.rows(target, [text[: place + 1] for place in range(len(text))])
        if sampler.exact:
            return laws
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
        tokens, parents = drawn_tree(world, text, dice, (DRAFT, calls[0]), replace=False)
        q = sampler.rows(world.draft, [(*text, *path) for path in paths(tokens, tuple(parents))])
        return np.array(tokens), np.array(parents), q

    return drafter


def got_law(sampler: Sampler, decoding: Decoding) -> tuple[TextLaw, TextLaw]:
    """The law of what the decoder returns; its first cycle cannot be seen."""
    return sampler.cycle_law(decoding, ()), {}


def one_text(sampler: Sampler, decoding: Decoding, dice: Dice) -> Text:
    """One run."""
    return play_decoder(sampler, decoding, (), dice)


LAWS = Laws(got_law, plain_law, one_text)
