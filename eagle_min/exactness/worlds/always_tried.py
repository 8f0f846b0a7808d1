"""Worlds that are always enumerated, beside those that are drawn: what is rare or too large among these.

A decoder that looks rows up by depth and token errs only where two siblings have children that are the same token; a
batch whose second sequence gets the first one's laws shows only with two drafts in each. Their tables have three
rows each, all different, so that a row taken for another is a law taken for another. One cycle is played; decoders
write whole texts. Nothing smaller is looked for when one of them refutes. Read next: `bounds.py`.
"""

from fractions import Fraction

from ...config import SamplingConfig
from .decodings import TOP_P, Decoding
from .tables import Table, World, batch

Tables = tuple[Table, Table]  # target and draft


def table(*rows: tuple[int, ...]) -> Table:
    """Laws from weights."""
    return Table(tuple(tuple(Fraction(weight, sum(row)) for weight in row) for row in rows))


TWO: Tables = table((1, 2), (2, 3), (3, 1)), table((2, 1), (3, 1), (4, 1))  # token 0 is likeliest behind everything
SWAPPED: Tables = table((1, 2), (2, 3), (3, 1)), table((1, 3), (3, 1), (2, 1))  # behind 1 0 comes 1, behind 1 1 comes 0
# what is left of a law after a refusal is two tokens, behind whatever text
THREE: Tables = table((1, 2, 2), (2, 1, 2), (2, 2, 1)), table((3, 1, 1), (1, 3, 1), (1, 1, 3))
# of the two likeliest tokens the first has half of the whole law, and two thirds of theirs
HALVES: Tables = table((1, 1, 2), (2, 1, 1), (1, 2, 1)), THREE[1]

CHAIN_OF_THREE, CHAIN_OF_FOUR = (-1, 0, 1, 2), (-1, 0, 1, 2, 3)
COUSINS = (-1, 0, 0, 1, 2)  # parents: two siblings with a child each
LATE_SIBLINGS = (-1, 0, 1, 2, 2)  # on the third level


def drafted(tables: Tables, parents: tuple[int, ...]) -> World:
    """A node with the rank among its siblings that its place has."""
    ranks = tuple(parents[:node].count(parent) for node, parent in enumerate(parents))
    return World(*tables, parents, ranks, num_cycles=1)


def decoding(tables: Tables, parents: tuple[int, ...], limit: int, sampled: bool = False, **sampling) -> Decoding:
    """A decoder at temperature 1 behind the prompt 1, which leads to another row with each token behind it."""
    told = SamplingConfig(1.0, **sampling)
    return Decoding(drafted(tables, parents), (1,), limit, frozenset(), told, sampled)


STANDING: dict[str, tuple[World | Decoding, ...]] = {
    "chain": (drafted(TWO, CHAIN_OF_FOUR),),
    "tree": (drafted(TWO, CHAIN_OF_FOUR), drafted(TWO, COUSINS), drafted(THREE, LATE_SIBLINGS)),
    "tree-sampled": (drafted(TWO, COUSINS),),
    "tree-iid": (drafted(TWO, COUSINS),),
    "batch": (
        batch(*TWO, (2, 2)),
        batch(*THREE, (1, 1)),
        batch(*THREE, (0, 0)),
        batch(*TWO, (1, 0, 1)),
        batch(*TWO, (1, 1, 0)),
        batch(*THREE, (1,)),
    ),
    "loop": (
        decoding(TWO, CHAIN_OF_THREE, 4),
        decoding(TWO, COUSINS, 4),
        decoding(SWAPPED, COUSINS, 4),
        decoding(TWO, COUSINS, 3, sampled=True),
        decoding(HALVES, (-1, 0, 0), 3, top_k=2, top_p=TOP_P),
    ),
}
