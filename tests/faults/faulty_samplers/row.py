"""One faulty sampler: what it does wrong, where that was met, and the law it makes in a world of its own.

`origin` names the place where the fault was met. Its figure, `law`, is known by other means than running it, and
tests/faults/test_bank.py enumerates the sampler and compares with ==.

Where `fault.py` plants a fault in a module of the package, a row here is a whole sampler with the fault
in it, some ten lines long, so that its law can be enumerated and compared with a figure. Kinds are those of
`eagle_min/exactness/judge/kinds.py`, and one more, for faults in how drafts are drawn:

    step    f(p, q, *, dice) -> tokens; p(tokens) and q(tokens) are the laws (V,) of target and draft
            after these tokens of the cycle, and the function draws its drafts itself
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from eagle_min.exactness.judge.kinds import KINDS
from eagle_min.exactness.worlds.decodings import Decoding
from eagle_min.exactness.worlds.tables import Row, Table, World

END = -1  # stands behind the last token of a text of a whole decoder
Beginning = tuple[int | None, ...]  # the first tokens of a text; None stands for any token
KNOWN_FIGURE = "a known figure, which enumeration of the sampler gives"


@dataclass(frozen=True)
class Faulty:
    """A row. Controls are rows whose law is the target's, whatever people say of them."""

    code: str  # how it is called on the command line and in tables (see `../bank.py`)
    name: str
    kind: str
    origin: str  # where it was met in public, or "beginner"
    sampler: Callable
    world: World | Decoding
    law: dict[Beginning, Fraction] = field(default_factory=dict)  # its figure; empty: the target's own
    source: str = KNOWN_FIGURE  # or how `law` is derived by hand, without running anything
    processed: Callable[[Row], Row] | None = None  # the target's laws are these; a step is given the raw ones
    num_cycles: int = 1  # that the figure is about
    bits: int | None = None  # the law is that of coins k / 2^bits

    @property
    def bound_kind(self) -> str | None:
        """The kind whose bound on acceptance holds; a step's drafts look like a chain, or a tree, from q."""
        if self.kind == "step":
            return "tree" if self.world.parents.count(0) > 1 else "chain"
        return self.kind if KINDS[self.kind].bound is not None else None


def law_of(*weights: int) -> Row:
    """Small integers made a law."""
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


def first(*chances: str) -> dict[Beginning, Fraction]:
    """The law of the first token; chances as "1/3" or ".35"."""
    return {(token,): Fraction(chance) for token, chance in enumerate(chances)}


def after(*before: int | None, chances: str) -> dict[Beginning, Fraction]:
    """Probabilities of the texts that begin with `before` and one token more."""
    return {(*before, token): Fraction(chance) for token, chance in enumerate(chances.split())}


ONE, TWO = ((-1, 0), (0, 0)), ((-1, 0, 1), (0, 0, 0))  # chains: parents and ranks
SIBLINGS = ((-1, 0, 0), (0, 0, 1))
P, Q = law_of(5, 3, 2), law_of(2, 5, 3)
BASE = Table((P,)), Table((Q,))  # its residual (p - q)+ has one token
SECOND = Table((law_of(4, 3, 2, 1),)), Table((law_of(1, 2, 3, 4),))  # here it has two
# Targets that depend on the text; which law is whose follows from `Table` and its NEXT_STATE, and each row says what it
# needs of it. Behind one token, 0, 1 or 2, comes the second, first or second of two laws, the second, third or first of
# three.
TWO_LAWS = Table((P, law_of(1, 1, 8))), Table((Q,))
THREE_LAWS = Table((P, law_of(2, 2, 6), law_of(1, 8, 1))), Table((Q,))


def world(tables: tuple[Table, Table], shape: tuple[tuple[int, ...], tuple[int, ...]] = ONE) -> World:
    """A target and a draft, and the shape of what is drafted."""
    return World(*tables, *shape)


def pair(p: Row, q: Row, shape: tuple[tuple[int, ...], tuple[int, ...]] = ONE) -> World:
    """A world whose laws do not depend on the text."""
    return world((Table((p,)), Table((q,))), shape)


def known(code: str, name: str, where: World, law: dict[Beginning, Fraction], source: str = KNOWN_FIGURE) -> Faulty:
    """A row for the fault that the certifier's report knows by this name."""
    [(kind, row)] = ((kind.name, row) for kind in KINDS.values() for row in kind.known_faults if row.name == name)
    return Faulty(code, row.name, kind, row.origin, row.sampler, where, law, source)


def on_second_pair(row: Faulty, law: dict[Beginning, Fraction], shape: tuple = ONE) -> Faulty:
    """The same fault on the second pair."""
    return replace(row, name=f"{row.name}, second pair", world=world(SECOND, shape), law=law)
