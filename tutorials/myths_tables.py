# %% [markdown]
# # The worlds in which myths are settled
#
# Two pairs of a target p and a draft q. In the second pair two tokens are likelier under the target than under the
# draft; in the first it is one, and some faults hide there. `myths.py` is the command.

# %%
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # find the package from any directory

import numpy as np

from eagle_min.dice import Dice
from eagle_min.exactness.acceptance import known_faults as known
from eagle_min.exactness.judge.kinds import KINDS
from eagle_min.exactness.judge.sampler import Sampler
from eagle_min.exactness.law import Limits, total_variation
from eagle_min.exactness.worlds.tables import Table, TextLaw, World
from eagle_min.tree import DraftTree
from eagle_min.verify import match_walk

MYTHS: dict[str, Callable[[], None]] = {}  # name on the command line -> what settles it


def myth(settle: Callable[[], None]) -> Callable[[], None]:
    """Give a function a name on the command line; its docstring is the claim."""
    MYTHS[settle.__name__.replace("_", "-")] = settle
    return settle


def tenths(*weights: int) -> np.ndarray:
    """A law (V,) in fractions."""
    return np.array([Fraction(weight, 10) for weight in weights], dtype=object)


P, Q = tenths(5, 3, 2), tenths(2, 5, 3)
P4, Q4 = tenths(4, 3, 2, 1), tenths(1, 2, 3, 4)


def off_by(off: Fraction) -> str:
    """A total variation as it is printed."""
    return f"off by {float(off):.4f}" if off else "off by 0"


def line(name: str, found: TextLaw, wanted: np.ndarray = P, note: str = "") -> Fraction:
    """Print a law of the next token and its distance to `wanted`; returns the distance."""
    off = total_variation(found, dict(enumerate(wanted)))
    shares = ", ".join(str(found.get(token, 0)) for token in range(len(wanted)))
    print(f"{name:<35} [{shares}]  {off_by(off)}{note}")
    return off


def siblings(*tokens: int, q: np.ndarray | None = None) -> DraftTree:
    """A root and its children; `q` is the law they were drawn from, if they were drawn."""
    parents, values = (-1, *(0 for _ in tokens)), (0.0, *(-1.0 for _ in tokens))
    return DraftTree((0, *tokens), parents, values, {} if q is None else {0: q})


def next_token(rule: Callable, tree: DraftTree, dice: Dice, p: np.ndarray = P) -> int:
    """The first token that a rule of `eagle_min.verify` commits."""
    cycle = () if rule is match_walk else (0,)  # the others number their coins by it
    path, bonus = rule(tree, lambda node: p, dice, 1, *cycle)
    return tree.tokens[path[1]] if len(path) > 1 else bonus


def drawn(dice: Dice, q: np.ndarray, count: int = 1) -> list[int]:
    """Tokens drawn from q, without replacement."""
    weights, tokens = q.copy(), []
    for rank in range(count):
        tokens.append(dice.categorical(weights, ("draft", rank)))
        weights[tokens[-1]] = Fraction(0)
    return tokens


def doubled(p: np.ndarray, q: np.ndarray, token: int) -> Fraction:
    """A generous chance of acceptance."""
    return 2 * known.ratio(p, q, token)


def first_cycle(rule: Callable, p: np.ndarray, q: np.ndarray, parents: tuple) -> tuple[TextLaw, Fraction]:
    """What a chain verifier commits first, and how many drafts it accepts, where p and q never change."""
    world = World(Table((tuple(p),)), Table((tuple(q),)), parents, (0,) * len(parents))
    texts = Sampler(rule, KINDS["chain"], exact=True, limits=Limits()).cycle_law(world, ())
    first: TextLaw = {}
    for text, share in texts.items():
        first[text[0]] = first.get(text[0], 0) + share
    return first, sum((len(text) - 1) * share for text, share in texts.items())
