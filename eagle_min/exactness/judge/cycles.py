"""Samplers that play one cycle: drafts are drawn, the sampler is called once, and it returns the path that it accepts.

The dice that answer the sampler draw its drafts too, from the very laws that it is given, and the law of what it
returns is over both. Two cycles are judged together, for a fault may show only behind the first; the second is
enumerated at every text that the first can leave, which costs little more than one. Texts of different lengths
are cut to one length or completed by the target's own law, so that got and wanted are about as many tokens.
Read next: `batches.py`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dice import Dice, Name
from ..no_verdict import described
from ..worlds.tables import Table, Text, TextLaw, World, drawn_tree, joint_law, likeliest_tree, paths
from .call import BrokenContract, token_ids
from .sampler import Laws, Sampler

DRAFT = "draft of the certifier"  # begins the names of draws: code under test would not take this one


def as_path(returned: Any, tokens: Sequence[int], parents: Sequence[int], vocab_size: int) -> Text:
    """The returned token ids, checked: a path from the root and one token more."""
    path = token_ids(returned)
    shown = described(list(path))
    if not path or any(not 0 <= token < vocab_size for token in path):
        raise BrokenContract(f"returned {shown}: one token or more, each from 0 to {vocab_size - 1}")
    if path[:-1] not in paths(list(tokens), tuple(parents)):
        raise BrokenContract(f"returned {shown}: {described(list(path[:-1]))} was not drafted")
    return path


def as_chain(returned: Any, drafted: np.ndarray, vocab_size: int) -> Text:
    """`as_path` for a chain."""
    return as_path(returned, [-1, *drafted.tolist()], range(-1, len(drafted)), vocab_size)


def drawn_chain(
    sampler: Sampler, world: World, text: Text, size: int, dice: Dice, name: Name
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`size` drafts behind `text`, drawn one after the other: (size,), and the laws q (size, V), p (size + 1, V)."""
    tokens: list[int] = []
    for place in range(size):
        row = np.array(world.draft((*text, *tokens)), dtype=object)
        tokens.append(dice.categorical(row, (*name, place)))
    texts = [(*text, *tokens[:place]) for place in range(size + 1)]
    return np.array(tokens, dtype=int), sampler.rows(world.draft, texts[:-1]), sampler.rows(world.target, texts)


def play_chain(sampler: Sampler, world: World, text: Text, dice: Dice) -> Text:
    """Draw a chain, let it be verified."""
    drafted, q, p = drawn_chain(sampler, world, text, world.num_drafted, dice, (DRAFT,))
    return as_chain(sampler.call(dice, drafted, q, p), drafted, world.vocab_size)


def play_tree(sampler: Sampler, world: World, text: Text, dice: Dice) -> Text:
    """A tree that is a function of the text."""
    tokens = likeliest_tree(world, text)
    p = sampler.rows(world.target, [(*text, *path) for path in paths(tokens, world.parents)])
    returned = sampler.call(dice, np.array(tokens), np.array(world.parents), p)
    return as_path(returned, tokens, world.parents, world.vocab_size)


def play_sampled_tree(sampler: Sampler, world: World, text: Text, dice: Dice, *, replace: bool) -> Text:
    """A tree of a fixed shape with sampled children; nodes that its laws cannot fill are left out."""
    tokens, parents = drawn_tree(world, text, dice, (DRAFT,), replace=replace)
    texts = [(*text, *path) for path in paths(tokens, tuple(parents))]
    q, p = sampler.rows(world.draft, texts), sampler.rows(world.target, texts)
    return as_path(sampler.call(dice, np.array(tokens), np.array(parents), q, p), tokens, parents, world.vocab_size)


def law_at_length(target: Table, law: TextLaw, length: int, behind: Text = ()) -> TextLaw:
    """Each text, which stands behind `behind`, cut to `length` tokens or completed by the target's own law."""
    found: TextLaw = {}
    for text, chance in law.items():
        for rest, more in joint_law(target, (*behind, *text), max(0, length - len(text))).items():
            key = (*text, *rest)[:length]
            found[key] = found.get(key, 0) + chance * more
    return found


def text_at_length(target: Table, text: Text, length: int, dice: Dice) -> Text:
    """The same for one text, completed by draws from the target."""
    while len(text) < length:
        text = (*text, dice.categorical(np.array(target(text), dtype=object), ("more", len(text))))
    return text[:length]


def got_law(sampler: Sampler, world: World) -> tuple[TextLaw, TextLaw]:
    """The joint law of the first tokens over the cycles of the world, one or two; and the law of the first cycle."""
    law = first_cycle = sampler.cycle_law(world, ())
    for _ in range(world.num_cycles - 1):
        before, law = law, {}
        for text, chance in before.items():
            for rest, more in sampler.cycle_law(world, text).items():
                law[*text, *rest] = law.get((*text, *rest), 0) + chance * more
    return law_at_length(world.target, law, world.num_compared), first_cycle


def wanted_law(world: World) -> TextLaw:
    """The target's law of as many tokens."""
    return joint_law(world.target, (), world.num_compared)


def one_text(sampler: Sampler, world: World, dice: Dice) -> Text:
    """Two cycles, played once."""
    first = sampler.kind.play(sampler, world, (), dice)
    second = sampler.kind.play(sampler, world, first, dice)
    return text_at_length(world.target, (*first, *second), world.num_compared, dice)


LAWS = Laws(got_law, wanted_law, one_text)
