"""Prompt look-up (Saxena 2023, "Prompt Lookup Decoding"; n-gram speculation): no network at all.

The text so far, prompt and committed tokens, is its own drafter: take the longest suffix of it, of at most MAX_NGRAM
tokens, that was there before, and propose what came next there.

    for row in rows : print ( row ) ... for row in     ->  rows : print ( row
        ------ earlier                      ------ suffix

The latest place goes first. Where the same suffix has several places, what followed them makes one trie, as long as
there are nodes left: a tree in the same budget as other drafters have, where the published code proposes one chain,
from the first place that has a whole one behind it. In a text that repeats itself older places also go on
where the latest one has come to the end of the text.

A look-up states no probabilities: all nodes have log-confidence 0. Read next: `lookahead.py`.
"""

from collections.abc import Sequence

from ..config import SamplingConfig, TreeConfig, is_count, require
from ..decode import Reading
from ..dice import Dice
from ..grow import Sapling
from ..tree import DraftTree

MAX_NGRAM = 2  # tokens of the suffix that is looked up; where it is new, a shorter one is (`lab choose`)


class Trie:
    """A draft tree made of paths below the root: what paths have in common at their beginning is there once."""

    def __init__(self, root: int, num_nodes: int, depth: int) -> None:
        """Room for `num_nodes` nodes, the root included, and `depth` levels below it."""
        self.num_nodes, self.depth = num_nodes, depth
        self.sapling = Sapling(root)
        self.numbers: dict[tuple[int, int], int] = {}  # (parent, token) -> node

    def __len__(self) -> int:
        return len(self.sapling)

    def add(self, path: Sequence[int]) -> list[int]:
        """The nodes of these tokens in a row, the root first; new ones as long as there is room."""
        nodes = [0]
        for token in path[: self.depth]:
            edge = nodes[-1], token
            if edge not in self.numbers:
                if len(self) == self.num_nodes:
                    break
                self.numbers[edge] = self.sapling.add(*edge, 0.0)
            nodes.append(self.numbers[edge])
        return nodes

    def tree(self) -> DraftTree:
        return self.sapling.tree()


class LookupDrafter:
    """Proposes what followed earlier in the same text."""

    layers: Sequence[int] = ()

    def __init__(self, tree: TreeConfig, max_ngram: int = MAX_NGRAM) -> None:
        """Of `tree` only num_nodes and depth matter. ValueError for a `max_ngram` below 1."""
        require(is_count(max_ngram), "max_ngram", max_ngram, "an integer of at least 1")
        self.tree, self.num_nodes, self.max_ngram = tree, tree.num_nodes, max_ngram

    def start(self, prompt_ids: Sequence[int]) -> "LookupSession":
        """Draft for a new sequence. Its tokens come as they are read, all but the first."""
        return LookupSession(self, prompt_ids[0])


class LookupSession:
    """The text, and for each n-gram of at most `max_ngram` tokens in it the places where it goes on."""

    def __init__(self, drafter: LookupDrafter, first: int) -> None:
        self.tree, self.max_ngram, self.text = drafter.tree, drafter.max_ngram, []
        self.places: dict[tuple[int, ...], list[int]] = {}  # just behind each n-gram, rising
        self._append(first)

    def _append(self, token: int) -> None:
        self.text.append(token)
        for size in range(1, min(self.max_ngram, len(self.text)) + 1):
            self.places.setdefault(tuple(self.text[-size:]), []).append(len(self.text))

    def learn(self, reading: Reading) -> None:
        """Only the tokens count."""
        for token in reading.following:
            self._append(token)

    def earlier(self) -> list[int]:
        """The places behind earlier occurrences of the longest suffix of the text that has any, the latest first."""
        for size in range(min(self.max_ngram, len(self.text)), 0, -1):
            places = self.places[tuple(self.text[-size:])]
            if len(places) > 1:  # the last is the suffix itself
                return places[-2::-1]
        return []

    def propose(self, root: int, depth: int, dice: Dice, cycle: int, sampling: SamplingConfig) -> DraftTree:
        """What followed the suffix of the text, at most `depth` tokens; the root alone where that is new."""
        trie = Trie(root, self.tree.num_nodes, min(depth, self.tree.depth))
        for place in self.earlier():
            trie.add(self.text[place : place + trie.depth])
        return trie.tree()
