"""Samplers of whole batches: several sequences, each with a chain of its own, verified in one call.

Each sequence stands behind another text, so that the laws of one are not those of the next. One cycle is played. The
joint law of the texts of all sequences must be the product of theirs: sequences that share a coin have the right
laws one by one, and not together. Read next: `decoders.py`.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

from ...dice import Dice
from ..no_verdict import described
from ..worlds.tables import Text, TextLaw, World, joint_law
from .call import BrokenContract
from .cycles import DRAFT, as_chain, drawn_chain, law_at_length, text_at_length
from .sampler import Laws, Sampler

Texts = tuple[Text, ...]  # one for each sequence
THIRD_PROMPT = (1, 0)  # where there are only the tokens 0 and 1: leads to the law that token 2 would lead to


def prompts(world: World) -> list[Text]:
    """What the sequences stand behind: a token each, as far as there are tokens."""
    return [(number,) if number < world.vocab_size else THIRD_PROMPT for number in range(len(world.sizes))]


def play_batch(sampler: Sampler, world: World, text: Text, dice: Dice) -> Texts:
    """All sequences in one call, with chains of `world.sizes` drafts, each behind `text` and its prompt."""
    batch = [
        drawn_chain(sampler, world, (*text, *before), size, dice, (DRAFT, number))
        for number, (before, size) in enumerate(zip(prompts(world), world.sizes))
    ]
    drafted, q, p = map(list, zip(*batch))
    returned = sampler.call(dice, drafted, q, p)
    try:
        rows = list(returned)
    except TypeError as error:
        raise BrokenContract(f"returned {described(returned)}: no list of rows") from error
    if len(rows) != len(batch):
        raise BrokenContract(f"returned {len(rows)} rows for {len(batch)}")
    return tuple(as_chain(row, tokens, world.vocab_size) for row, tokens in zip(rows, drafted))


def product_law(laws: Sequence[TextLaw]) -> dict[Texts, Fraction | float]:
    """The joint law of texts that have nothing to do with each other."""
    rows = product(*(law.items() for law in laws))
    return {tuple(text for text, _ in row): prod(chance for _, chance in row) for row in rows}


def got_law(sampler: Sampler, world: World) -> tuple[TextLaw, TextLaw]:
    """The joint law of the texts of all sequences, cut or completed to one length; there is no one first cycle."""
    law: TextLaw = {}
    for texts, chance in sampler.cycle_law(world, ()).items():
        pairs = zip(prompts(world), texts)
        rows = [law_at_length(world.target, {text: Fraction(1)}, world.num_compared, before) for before, text in pairs]
        for row, more in product_law(rows).items():
            law[row] = law.get(row, 0) + chance * more
    return law, {}


def wanted_law(world: World) -> TextLaw:
    """The product of the target's own laws behind the prompts."""
    return product_law([joint_law(world.target, before, world.num_compared) for before in prompts(world)])


def one_text(sampler: Sampler, world: World, dice: Dice) -> Texts:
    """One cycle, played once: a text for each sequence."""
    found, length = [], world.num_compared
    for before, row in zip(prompts(world), sampler.kind.play(sampler, world, (), dice)):
        text = text_at_length(world.target, (*before, *row), len(before) + length, dice)
        found.append(text[len(before) :])
    return tuple(found)


LAWS = Laws(got_law, wanted_law, one_text)
