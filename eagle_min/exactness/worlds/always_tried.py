"""Worlds that are tried always, behind those that are drawn: shapes that are rare or too large among these.

A decoder that finds the row of a node by its depth and token errs only where two siblings have children that are the
same token. A batch that hands the first sequence's laws to the second shows it only with two drafts in each. So
each kind of sampler has a few worlds with such shapes, written down here. Their tables have three laws, all
different, so that one taken for another shows. One cycle is played; decoders write whole texts. When one of
these worlds refutes, no smaller one is looked for. Read next: `../acceptance/rules.py`.
"""

from fractions import Fraction

from ...config import SamplingConfig
from .decodings import TOP_P, Decoding
from .tables import Table, World, batch

Tables = tuple[Table, Table]  # target and draft


def table(*rows: tuple[int, ...]) -> Table:
    """Laws from weights."""
    return Table(tuple(tuple(Fraction(weight, sum(row)) for weight in row) for row in rows))


# token 0 is the draft's likeliest behind everything
TWO_TOKENS: Tables = table((1, 2), (2, 3), (3, 1)), table((2, 1), (3, 1), (4, 1))
# the draft's likeliest changes with the text: 1 behind 1 0, 0 behind 1 1
TWO_SWAPPED: Tables = table((1, 2), (2, 3), (3, 1)), table((1, 3), (3, 1), (2, 1))
# what is left of a law after a refusal is two tokens, behind whatever text
THREE_TOKENS: Tables = table((1, 2, 2), (2, 1, 2), (2, 2, 1)), table((3, 1, 1), (1, 3, 1), (1, 1, 3))
# the likeliest token has half of the whole law, and two thirds of what top_k 2 keeps
HALVES: Tables = table((1, 1, 2), (2, 1, 1), (1, 2, 1)), THREE_TOKENS[1]

# parents
CHAIN_OF_THREE, CHAIN_OF_FOUR = (-1, 0, 1, 2), (-1, 0, 1, 2, 3)
COUSINS = (-1, 0, 0, 1, 2)  # two siblings with a child each
LATE_SIBLINGS = (-1, 0, 1, 2, 2)  # on the third level


def drafted(tables: Tables, parents: tuple[int, ...]) -> World:
    """A world with this draft tree; children are ranked in the order of their nodes."""
    ranks = tuple(parents[:node].count(parent) for node, parent in enumerate(parents))
    return World(*tables, parents, ranks, num_cycles=1)


def decoding(tables: Tables, parents: tuple[int, ...], limit: int, sampled: bool = False, **sampling) -> Decoding:
    """A decoder's world at temperature 1. Behind the prompt 1 each token leads to another law."""
    return Decoding(drafted(tables, parents), (1,), limit, frozenset(), SamplingConfig(1.0, **sampling), sampled)


FOR_CHAINS = (drafted(TWO_TOKENS, CHAIN_OF_FOUR),)
FOR_TREES = (*FOR_CHAINS, drafted(TWO_TOKENS, COUSINS), drafted(THREE_TOKENS, LATE_SIBLINGS))
FOR_SAMPLED_TREES = (drafted(TWO_TOKENS, COUSINS),)
FOR_BATCHES = (
    batch(*TWO_TOKENS, (2, 2)),
    batch(*THREE_TOKENS, (1, 1)),
    batch(*THREE_TOKENS, (0, 0)),
    batch(*TWO_TOKENS, (1, 0, 1)),
    batch(*TWO_TOKENS, (1, 1, 0)),
    batch(*THREE_TOKENS, (1,)),
)
FOR_DECODERS = (
    decoding(TWO_TOKENS, CHAIN_OF_THREE, 4),
    decoding(TWO_TOKENS, COUSINS, 4),
    decoding(TWO_SWAPPED, COUSINS, 4),
    decoding(TWO_TOKENS, COUSINS, 3, sampled=True),
    decoding(HALVES, (-1, 0, 0), 3, top_k=2, top_p=TOP_P),
)
