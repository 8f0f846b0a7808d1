"""The draft tree: tokens and parents, and what follows from the parents alone.

A cycle drafts a tree of tokens below the root, the last token already chosen. The target
reads all nodes in one pass. For that it needs two things, both pure functions of `parents`:
the position of a node is its depth below the root, and a node sees itself and its ancestors
(*all* of them, not just parent and grandparent), besides the cached text
(EAGLE-1 2401.15077 section 3.3, EAGLE-2 2406.16858 section 4).

Shapes: N tree nodes, root included; V vocabulary.
Deliberately left out: padding and leaf tables, which a batched implementation would need.
Read next: `dice.py`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .config import require
from .sampling import check_law


@dataclass(frozen=True)
class DraftTree:
    """One value travels from drafter to verifier. Node 0 is the root; parents precede children."""

    tokens: tuple[int, ...]  # siblings carry distinct tokens
    parents: tuple[int, ...]  # parents[0] == -1
    log_confidence: tuple[float, ...]  # sum of untempered draft log-probabilities from the root; 0.0 there
    # Only where children were SAMPLED: node -> the law (V,) its children were drawn from, in
    # the order of their indices, without replacement. Empty: the tree is a function of the context.
    child_laws: Mapping[int, np.ndarray] = field(default_factory=dict, compare=False)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def num_drafted(self) -> int:
        """Nodes below the root."""
        return len(self.tokens) - 1

    def check_invariants(self) -> None:
        """ValueError, naming the value and what is allowed, unless this is a draft tree."""
        size = len(self.tokens)
        require(size >= 1, "number of nodes", size, "at least 1, the root")
        require(len(self.parents) == size, "number of parents", len(self.parents), f"{size}, one a node")
        require(len(self.log_confidence) == size, "number of confidences", len(self.log_confidence), f"{size}")
        require(all(token >= 0 for token in self.tokens), "tokens", self.tokens, "at least 0")
        require(self.parents[0] == -1, "parent of the root", self.parents[0], "-1")
        require(self.log_confidence[0] == 0, "log-confidence of the root", self.log_confidence[0], "0")
        for node in range(1, size):
            parent, value = self.parents[node], self.log_confidence[node]
            require(0 <= parent < node, f"parent of node {node}", parent, f"between 0 and {node - 1}")
            bound = self.log_confidence[parent]
            require(value <= bound, f"log-confidence of node {node}", value, f"at most its parent's {bound}")
        siblings = [[self.tokens[child] for child in group] for group in children(self.parents)]
        for node, group in enumerate(siblings):
            require(len(set(group)) == len(group), f"tokens below node {node}", group, "distinct")
        if self.child_laws:
            self._check_child_laws(siblings)

    def _check_child_laws(self, siblings: list[list[int]]) -> None:
        """Sampled children: each node that has some has a law, under which all are possible."""
        for node, law in self.child_laws.items():
            require(0 <= node < len(self), "node of a draft law", node, f"between 0 and {len(self) - 1}")
            check_law(law)
        for node, group in enumerate(siblings):
            require(not group or node in self.child_laws, f"draft law of node {node}", None, "given")
            for token in group:
                law = self.child_laws[node]
                possible = token < len(law) and law[token] > 0
                require(possible, f"token below node {node}", token, "one its draft law can draw")


def root_only(token: int) -> DraftTree:
    """The tree without a draft: one node, the last token already chosen."""
    return DraftTree((token,), (-1,), (0.0,))


def depths(parents: Sequence[int]) -> list[int]:
    """Depth of each node, which is also its position relative to the root: [-1, 0, 0, 1] -> [0, 1, 1, 2]."""
    result = [0] * len(parents)
    for node in range(1, len(parents)):
        result[node] = result[parents[node]] + 1
    return result


def children(parents: Sequence[int]) -> list[list[int]]:
    """The children of each node, in node order: [-1, 0, 0, 1] -> [[1, 2], [3], [], []]."""
    result: list[list[int]] = [[] for _ in parents]
    for node in range(1, len(parents)):
        result[parents[node]].append(node)
    return result


def ancestor_mask(parents: Sequence[int]) -> np.ndarray:
    """(N, N) boolean: the node of a row sees itself and its ancestors, and nothing else.

    >>> ancestor_mask([-1, 0, 0, 1]).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [1, 0, 1, 0],
           [1, 1, 0, 1]])
    """
    mask = np.eye(len(parents), dtype=bool)
    for node in range(1, len(parents)):
        mask[node] |= mask[parents[node]]  # the parent's row is finished: parents come first
    return mask


def path_to(parents: Sequence[int], node: int) -> list[int]:
    """The nodes from the root to `node`, both included: path_to([-1, 0, 0, 1], 3) -> [0, 1, 3]."""
    path = []
    while node >= 0:
        path.append(node)
        node = parents[node]
    return path[::-1]


def select(tree: DraftTree, nodes: Sequence[int]) -> DraftTree:
    """The sub-tree of `nodes`, renumbered in their order.

    `nodes` rises, starts with the root and holds the parent of each of its nodes, else
    ValueError. A tree of sampled children is refused: to choose among draws after seeing them
    changes the law they were drawn from, and verification would no longer be exact.
    """
    require(not tree.child_laws, "tree to select from", "sampled children", "a function of the context")
    require(bool(nodes) and nodes[0] == 0, "nodes to select", nodes, "with the root first")
    number = {-1: -1}
    for new, old in enumerate(nodes):
        rising = new == 0 or nodes[new - 1] < old < len(tree)
        require(rising, "node to select", old, f"above the one before and below {len(tree)}")
        require(tree.parents[old] in number, f"parent of selected node {old}", tree.parents[old], "selected too")
        number[old] = new
    return DraftTree(
        tokens=tuple(tree.tokens[old] for old in nodes),
        parents=tuple(number[tree.parents[old]] for old in nodes),
        log_confidence=tuple(tree.log_confidence[old] for old in nodes),
    )


def draw(tree: DraftTree, label: Callable[[int], str], accepted: Collection[int] = ()) -> str:
    """A picture, one node a line, children below their parent; accepted nodes have a full dot.

    >>> print(draw(DraftTree((5, 7, 8, 9), (-1, 0, 0, 1), (0.0,) * 4), lambda node: f"node {node}", [0, 1]))
    ● node 0
    ├─● node 1
    │ └─○ node 3
    └─○ node 2
    """
    below = children(tree.parents)
    lines = []

    def visit(node: int, joint: str, rest: str) -> None:
        lines.append(f"{joint}{'●' if node in accepted else '○'} {label(node)}")
        for child in below[node]:
            last = child == below[node][-1]
            visit(child, rest + ("└─" if last else "├─"), rest + ("  " if last else "│ "))

    visit(0, "", "")
    return "\n".join(lines)
