"""The laws that are compared: what a sampler's cycles give over two of them, and what the target gives.

Texts of unlike length are completed by the target's own law, so that both laws are about as many tokens. The sequences
of a batch play one cycle, and their joint law must be the product of theirs. Read next: `whole.py`.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

from ..worlds.tables import Table, Text, World, joint
from .kinds import Law, Sampler, prompts


def completed(target: Table, law_of_texts: Law, length: int, behind: Text = ()) -> Law:
    """Each text, which stands behind `behind`, cut to `length` tokens or completed by the target's own law."""
    found: Law = {}
    for text, chance in law_of_texts.items():
        for rest, more in joint(target, (*behind, *text), max(0, length - len(text))):
            key = (*text, *rest)[:length]
            found[key] = found.get(key, 0) + chance * more
    return found


def together(laws: Sequence[Law]) -> Law:
    """The law of a text of each, of sequences that have nothing to do with each other."""
    rows = product(*(law.items() for law in laws))
    return {tuple(text for text, _ in row): prod(chance for _, chance in row) for row in rows}


def wanted_rows(world: World) -> Law:
    """What a batch must give: a text for each sequence, by the target's own law."""
    length = world_length(world, "batch")
    return together([dict(joint(world.target, before, length)) for before in prompts(world)])


def batch_laws(sampler: Sampler, world: World) -> tuple[Law, Law]:
    """Got and wanted for a batch: the joint law of the texts of all sequences, which must be the product of theirs."""
    length = world_length(world, sampler.kind)
    got: Law = {}
    for texts, chance in sampler.cycle_law(world, ()).items():
        rows = [
            completed(world.target, {text: Fraction(1)}, length, before) for before, text in zip(prompts(world), texts)
        ]
        for row, more in together(rows).items():
            got[row] = got.get(row, 0) + chance * more
    return got, wanted_rows(world)


def all_cycles(sampler: Sampler, world: World, first_cycle: Law | None = None) -> tuple[Law, Law]:
    """Got and wanted: the joint law of the first tokens over the cycles of the world, one or two. `first_cycle`: the
    law of what the first one returns, from who has it already."""
    length, got = world_length(world, sampler.kind), first_cycle or sampler.cycle_law(world, ())
    for _ in range(world.num_cycles - 1):
        before, got = got, {}
        for text, chance in before.items():
            for rest, more in sampler.cycle_law(world, text).items():
                got[*text, *rest] = got.get((*text, *rest), 0) + chance * more
    return completed(world.target, got, length), dict(joint(world.target, (), length))


def world_length(world: World, kind: str) -> int:
    """Tokens that are compared: where a second cycle is played one more than the first can commit."""
    return world.num_levels + (1 if kind == "batch" else world.num_cycles)
