"""A small world to try a sampler in: a target and a draft, both given as tables, and the shape of the draft tree.

A real target is a network that gives the law of the next token behind a text. Here it is a `Table` of two or three laws
in Fractions, and the text decides which of them holds. Every token of the text and their order count, so a
sampler that reads the law of a wrong place reads a wrong law, and its output shows it. What the target itself
says about the next few tokens is a product of table entries: `joint_law`.

A text is a tuple of token ids; a law of texts gives each its probability. Read next: `decodings.py`.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...dice import Dice, Name
from ..law import Number

Text = tuple[int, ...]
Row = tuple[Fraction, ...]  # (V,) a law of the next token
TextLaw = dict[Text, Number]  # of a batch: of tuples of texts, one for each sequence
MAX_VOCAB = 3  # of most worlds; a fourth token leads where token 0 does

# From each state, where each token leads: NEXT_STATE[state][token]. The state behind a text picks its row. With two or
# three rows, and texts of up to five tokens, another token at any index gives at least half of the texts another row; a
# token dropped, or two swapped, at least a third. Found by search. A weighted sum of the tokens would not do: modulo
# two rows a weight is 0 or 1, so some token, or the order, does not count.
NEXT_STATE = ((1, 2, 3), (2, 5, 1), (3, 4, 0), (4, 3, 2), (5, 0, 1), (3, 5, 2))


@dataclass(frozen=True)
class Table:
    """A model of the next token: `table(text)` is the law (V,) behind a text, one of the rows."""

    rows: tuple[Row, ...]

    def __call__(self, text: Text) -> Row:
        state = 0
        for token in text:
            state = NEXT_STATE[state][token % MAX_VOCAB]
        return self.rows[state % len(self.rows)]

    @property
    def vocab_size(self) -> int:
        return len(self.rows[0])


@dataclass(frozen=True)
class World:
    """A target, a draft, and the shape of the draft tree: node 0 is the root; a chain is a tree without siblings."""

    target: Table
    draft: Table
    parents: tuple[int, ...]  # parents[0] is -1
    ranks: tuple[int, ...]  # of a tree that is a function of the text: which child of its parent a node is
    sizes: tuple[int, ...] = ()  # of a batch: the number of drafts of each sequence
    num_cycles: int = 2  # that are played

    @property
    def vocab_size(self) -> int:
        return self.target.vocab_size

    @property
    def num_drafted(self) -> int:
        """In one call of the sampler."""
        return sum(self.sizes) if self.sizes else len(self.parents) - 1

    @property
    def num_levels(self) -> int:
        """Drafts one behind the other."""
        return max(map(len, paths([0] * len(self.parents), self.parents)))

    @property
    def num_compared(self) -> int:
        """Tokens whose joint law is compared: all that a first cycle can commit, and one more where a second is
        played."""
        return self.num_levels + self.num_cycles


def batch(target: Table, draft: Table, sizes: tuple[int, ...]) -> World:
    """Several sequences with so many drafts each, and one cycle; the shape is the chain of the longest one."""
    return World(target, draft, tuple(range(-1, max(sizes))), (0,) * (max(sizes) + 1), sizes, num_cycles=1)


def likeliest_first(row: Row) -> list[int]:
    """Tokens by falling probability; of equally likely ones the smaller comes first."""
    return sorted(range(len(row)), key=lambda token: (-row[token], token))


def paths(tokens: list[int], parents: tuple[int, ...]) -> list[Text]:
    """The tokens from below the root down to each node; () for the root."""
    found: list[Text] = [()]
    for node in range(1, len(parents)):
        found.append((*found[parents[node]], tokens[node]))
    return found


def likeliest_tree(world: World, text: Text) -> list[int]:
    """Tokens of the draft tree behind `text` where that is a function of the text. The root is the last token (0
    behind nothing); a node of rank r is the r-th likeliest token of the draft behind its parent."""
    tokens = [text[-1] if text else 0]
    for node in range(1, len(world.parents)):
        above = paths(tokens, world.parents[:node])[world.parents[node]]
        tokens.append(likeliest_first(world.draft((*text, *above)))[world.ranks[node]])
    return tokens


def drawn_tree(world: World, text: Text, dice: Dice, name: Name, *, replace: bool) -> tuple[list[int], list[int]]:
    """Tokens and parents of the draft tree behind `text` where children are drawn, with replacement or without. A node
    for which its parent's law has nothing left is left out, with all below it."""
    tokens, parents, number = [text[-1] if text else 0], [-1], {0: 0}  # node of the shape -> node of the tree
    left: dict[int, np.ndarray] = {}  # node -> what its law has left for the next child
    for node in range(1, len(world.parents)):
        parent = number.get(world.parents[node])
        if parent is None:
            continue
        above = paths(tokens, tuple(parents))[parent]
        weights = left.setdefault(parent, np.array(world.draft((*text, *above)), dtype=object))
        if not weights.any():
            continue
        number[node] = len(tokens)
        tokens.append(dice.categorical(weights, (*name, node)))
        parents.append(parent)
        if not replace:
            weights[tokens[-1]] = Fraction(0)
    return tokens, parents


def joint_law(target: Table, text: Text, length: int) -> TextLaw:
    """The target's law of the next `length` tokens behind `text`, by multiplication. Calls nothing under test."""
    if length == 0:
        return {(): Fraction(1)}
    return {
        (token, *rest): chance * more
        for token, chance in enumerate(target(text))
        if chance
        for rest, more in joint_law(target, (*text, token), length - 1).items()
    }


def hard_cases(world: World) -> set[str]:
    """In which ways a world is hard for a sampler: what the laws behind nothing, behind 0 and behind 1 have, and
    whether the root has two children. A verdict is worth what its worlds contain."""
    found = set()
    for text in ((), (0,), (1,)):
        pairs = list(zip(world.target(text), world.draft(text)))
        if sum(p > q for p, q in pairs) >= 2:
            found.add("residual of two tokens or more")
        if any(p == 0 < q for p, q in pairs):
            found.add("a draft the target forbids")
        if any(q == 0 < p for p, q in pairs):
            found.add("a token the draft cannot propose")
    if world.parents.count(0) >= 2:
        found.add("siblings")
    return found
