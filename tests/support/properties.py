"""The exact laws of the rows of `tests/faults/faulty_samplers/`, and which properties of a sampler notice which fault.

All of it is enumeration in Fractions: a property notices a fault when the two laws it looks at differ at
all, however little. How many samples a test would need to see that is `num_samples`.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain, product
from math import inf, sqrt

import numpy as np
from faulty_samplers.row import BASE, END, Beginning, Faulty, law_of

from eagle_min.dice import Dice
from eagle_min.exactness.judge.cycles import law_at_length
from eagle_min.exactness.judge.kinds import KINDS, most_accepted
from eagle_min.exactness.judge.sampler import Sampler
from eagle_min.exactness.law import Limits, law
from eagle_min.exactness.undrawn.watch import watched
from eagle_min.exactness.worlds.decodings import Decoding, world_of
from eagle_min.exactness.worlds.tables import Table, Text, TextLaw, World, joint_law

PROPERTIES = ("first token", "marginals", "one cycle", "two cycles", "support", "above bound", "residual on one token")
SIGMA = 5  # standard deviations above the mean of the null
LATTICE_BITS = 2
DECODED = 3  # tokens of a text of a whole decoder in the worlds of CONTEXTS

# Targets that depend on the text, with residuals of two tokens (also with one that is left of them when a block
# is kept in part), ties, certain tokens, tokens that the target forbids and the draft proposes, and the reverse.
CONTEXTS = tuple(
    (Table(tuple(law_of(*row) for row in target)), Table(tuple(law_of(*row) for row in draft)))
    for target, draft in (
        (((4, 4, 2), (1, 6, 3), (5, 3, 2)), ((1, 1, 8), (3, 6, 1), (2, 5, 3))),
        (((0, 7, 3), (5, 0, 5), (0, 0, 1)), ((4, 3, 3), (6, 3, 1), (5, 5, 0))),
        (((3, 4, 3), (5, 4, 1)), ((2, 3, 5),)),
    )
)


def place_of(row: Faulty, tables: tuple[Table, Table]) -> World | Decoding:
    """The row's world with other laws."""
    target, draft = tables
    other = replace(world_of(row.world), target=target, draft=draft)
    return replace(row.world, world=other) if isinstance(row.world, Decoding) else other


def own_pair(row: Faulty) -> World | Decoding:
    """The row's world with the first of its laws everywhere."""
    tables, text = row.world, ()
    if isinstance(row.world, Decoding):
        tables, text = row.world.world, row.world.prompt
    return place_of(row, (Table((tables.target(text),)), Table((tables.draft(text),))))


def wanted_target(row: Faulty, world: World) -> Table:
    """The target whose law must come out."""
    if row.processed is None:
        return world.target
    return Table(tuple(row.processed(law) for law in world.target.rows))


# --- laws ---


def enumerated(row: Faulty) -> Sampler:
    """The row's sampler, given Fractions and the row's own coins."""
    return Sampler(row.sampler, KINDS[row.kind], exact=True, limits=Limits(), bits=row.bits)


def cycle_law(row: Faulty, world: World, text: Text) -> TextLaw:
    """The law of what one cycle returns behind `text`; not for batches and whole decoders."""
    if row.kind != "step":
        return enumerated(row).cycle_law(world, text)

    def laws_of(table: Table) -> Callable[[Text], np.ndarray]:
        return lambda more: np.array(table((*text, *more)), dtype=object)

    def step(dice: Dice) -> Text:
        return tuple(map(int, row.sampler(laws_of(world.target), laws_of(world.draft), dice=dice)))

    return law(step)


def whole_texts(row: Faulty, decoding: Decoding) -> tuple[TextLaw, TextLaw]:
    """Got and wanted, END behind each text, so that a text that ends is no beginning of a longer one."""
    laws = enumerated(row).got_and_wanted(decoding)
    return tuple({(*text, END): chance for text, chance in found.items()} for found in laws)


def flat(found: TextLaw) -> TextLaw:
    """The texts of a batch one after the other, as one."""
    return {tuple(chain.from_iterable(pair)): chance for pair, chance in found.items()}


def laws_over(row: Faulty, world: World | Decoding, num_cycles: int) -> tuple[TextLaw, TextLaw]:
    """Got and wanted: the joint law of the tokens of one cycle or two, texts cut or completed to one length."""
    with watched():
        if row.kind == "loop":
            return whole_texts(row, world)
        if row.kind == "batch":
            return tuple(map(flat, enumerated(row).got_and_wanted(world)))
        got = cycle_law(row, world, ())
        length = max(map(len, got)) + num_cycles - 1
        if num_cycles == 2:
            got = followed(row, world, got)
    target = wanted_target(row, world)
    return law_at_length(target, got, length), joint_law(target, (), length)


def followed(row: Faulty, world: World, first: TextLaw) -> TextLaw:
    """The law over two cycles, given that of the first one. What a cycle returns depends on the laws within its
    reach and on the last token, the root of a tree: where these are the same, it is enumerated once."""
    seen: dict[Hashable, TextLaw] = {}
    texts = [
        more
        for depth in range(max(map(len, first)) + 1)
        for more in product(range(len(world.target(()))), repeat=depth)
    ]
    found: TextLaw = {}
    for text, chance in first.items():
        key = (text[-1], *((world.target((*text, *more)), world.draft((*text, *more))) for more in texts))
        if key not in seen:
            seen[key] = cycle_law(row, world, text)
        for rest, more in seen[key].items():
            found[(*text, *rest)] = found.get((*text, *rest), 0) + chance * more
    return found


def own_laws(row: Faulty) -> tuple[TextLaw, TextLaw]:
    """In the row's own world, over the cycles of its figure."""
    return laws_over(row, row.world, row.num_cycles)


def chance_of(beginning: Beginning, found: TextLaw) -> Fraction:
    """The probability that a text begins so."""
    fits = (p for text, p in found.items() if all(a in (None, b) for a, b in zip(beginning, text, strict=False)))
    return sum(fits, Fraction(0))


# --- properties ---


def marginal(found: TextLaw, place: int) -> TextLaw:
    """The law of the token at one place, END behind the end."""
    result: TextLaw = {}
    for text, chance in found.items():
        token = text[place] if place < len(text) else END
        result[token] = result.get(token, 0) + chance
    return result


def differ(got: TextLaw, wanted: TextLaw, places: range | list[int]) -> bool:
    """Whether the law at any of these places is wrong."""
    return any(without_zeros(marginal(got, n)) != without_zeros(marginal(wanted, n)) for n in places)


def without_zeros(found: TextLaw) -> TextLaw:
    return {text: chance for text, chance in found.items() if chance}


def in_contexts(row: Faulty) -> Iterator[World | Decoding]:
    """The worlds of CONTEXTS for a row."""
    for tables in CONTEXTS:
        where = place_of(row, tables)
        yield replace(where, max_new_tokens=DECODED) if isinstance(where, Decoding) else where


def forbidden(got: TextLaw, wanted: TextLaw) -> Fraction:
    """The probability of texts that the target never gives."""
    return sum((chance for text, chance in got.items() if not wanted.get(text)), Fraction(0))


def breaks_the_support(row: Faulty, over_contexts: list[tuple[TextLaw, TextLaw]]) -> bool:
    """In its own world or in one of CONTEXTS; for a sampler that looks at uniform numbers also on the lattice."""
    if any(forbidden(*laws) for laws in (laws_over(row, row.world, 1), *over_contexts)):
        return True
    if row.kind == "step" or enumerated(row).takes_dice:
        return False
    coarse = replace(row, bits=LATTICE_BITS)
    return any(forbidden(*laws_over(coarse, where, 1)) for where in (row.world, *in_contexts(row)))


def num_accepted(row: Faulty) -> Fraction:
    """Drafts accepted in a cycle on its pair, expected. Who looks from outside counts tokens: all but the last."""
    with watched():
        return sum((len(text) - 1) * chance for text, chance in cycle_law(row, own_pair(row), ()).items())


def is_above_bound(row: Faulty) -> bool | None:
    """Whether more are accepted than any exact rule accepts; None where no bound is known."""
    if row.bound_kind is None:
        return None
    where = own_pair(row)
    return num_accepted(row) > most_accepted(replace(where, target=wanted_target(row, where)), row.bound_kind)


def noticed_by(row: Faulty) -> dict[str, bool | None]:
    """Property -> whether it notices the row; found by enumeration, on real numbers but for the support."""
    row = replace(row, bits=None)
    got, wanted = laws_over(row, own_pair(row), 1)
    length = max(map(len, (*got, *wanted)))
    firsts = [0, length // 2] if row.kind == "batch" else [0]  # of both sequences
    on_base = laws_over(row, place_of(row, BASE), 1)
    over_contexts = [laws_over(row, where, 2) for where in in_contexts(row)]
    answers = (
        differ(got, wanted, firsts),
        differ(got, wanted, range(length)),
        without_zeros(got) != wanted,
        any(without_zeros(a) != b for a, b in over_contexts),
        breaks_the_support(row, over_contexts),
        is_above_bound(row),
        without_zeros(on_base[0]) != on_base[1],
    )
    return dict(zip(PROPERTIES, answers, strict=True))


# --- power ---


def num_samples(got: TextLaw, wanted: TextLaw) -> float:
    """Samples until a test notices that texts have the law `got` and not `wanted`.

    Pearson's statistic of N samples, sum of (count - N w)^2 / (N w) over the cells of probability w > 0, has
    mean cells - 1 and standard deviation sqrt(2 (cells - 1)) when the law is w. When it is g, the mean grows
    by N sum of (g - w)^2 / w, the noncentrality (leaving out what g adds to the variance of a cell, of order
    1 in N). A test that wants SIGMA deviations sees that from N = SIGMA sqrt(2 (cells - 1)) / sum of
    (g - w)^2 / w on. A text that the target forbids needs no statistics: where g gives such texts m, the
    first one comes after 1 / m samples, on average. The smaller number counts; infinite when the laws are equal.
    """
    cells = [text for text, chance in wanted.items() if chance]
    shift = sum((got.get(text, 0) - wanted[text]) ** 2 / wanted[text] for text in cells)
    never = forbidden(got, wanted)
    needed = [float(1 / never)] if never else []
    if shift and len(cells) > 1:
        needed.append(SIGMA * sqrt(2 * (len(cells) - 1)) / float(shift))
    return min(needed, default=inf)
