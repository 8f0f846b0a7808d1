# %% [markdown]
# # 3. Trees, masks, expand and rerank
#
# A chain stops at the first wrong token. A *draft tree* keeps several continuations, and the target checks all of
# them in one call. Two questions: how can one call read a tree, and which tree should it be?
#
# The first is answered by a mask and by positions. The second is EAGLE-2 (Li et al. 2406.16858, section 4): follow
# the draft's confidence, then keep the best. The rule that popular articles print instead is another one; we grow
# both and compare.

# %%
import itertools
import json
import math
import sys
from collections.abc import Callable, Collection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # find the package from any directory

import numpy as np

import eagle_min
from eagle_min.config import TreeConfig
from eagle_min.grow import Expand, confidence, ratio
from eagle_min.head import Expansion
from eagle_min.tree import DraftTree, ancestor_mask, depths, draw, path_to, select

models = eagle_min.load("tiny")
models.target.double()  # so that comparisons below are to the last digits
target, tokenizer = models.target, models.tokenizer
prompts_file = Path(__file__).resolve().parent.parent / "tinymodels" / "prompts.json"
prompts = [tokenizer.prompt(text) for text in json.loads(prompts_file.read_text(encoding="utf-8"))["code"]]


def show(token: int) -> str:
    """The text of one token, quoted."""
    return "<end>" if token == tokenizer.end_id else repr(tokenizer.decode([token]))


# %% [markdown]
# ## A tree is tokens and parents
#
# Node 0 is the root: the last token already chosen. Parents come before children. Everything else follows from
# `parents`: the depth of a node, which is its position after the root, and who sees whom.

# %%
parents = (-1, 0, 0, 1, 1, 2, 3, 6)
tokens = tuple(tokenizer.encode("return self.x + 1 if y else None")[: len(parents)])
tree = DraftTree(tokens, parents, (0.0,) * len(parents))
tree.check_invariants()
places, mask = depths(parents), ancestor_mask(parents)
print(draw(tree, lambda node: f"node {node}  depth {places[node]}  {show(tokens[node])}"))
print("\nmask: row sees column               ancestors of the row")
for node, row in enumerate(mask):
    picture = " ".join("■" if seen else "·" for seen in row)
    print(f"  {node}   {picture}           {path_to(parents, node)}")

# %% [markdown]
# ## One call reads every path
#
# The nodes lie side by side in one call. With the mask, a node sees the cached text, its ancestors and itself. With
# depth as position, two siblings stand at the same place, as they do on their own paths. So the logits at a node
# must be those of its path alone. We check each node against a fresh reading of prompt and path.
#
# An article that is copied often says a node sees "its parent and grandparent". We draw that mask too.


# %%
def tree_call(prompt: list[int], mask: np.ndarray) -> np.ndarray:
    """Logits (N, V) of all nodes from one call behind the prompt."""
    session = target.start(num_spare=len(tree))
    session.read(prompt, list(range(len(prompt))))
    return session.read(tree.tokens, [len(prompt) + depth for depth in places], mask)[1]


def path_alone(prompt: list[int], node: int) -> np.ndarray:
    """Logits (V,) after prompt and the path to `node`, read as a plain text."""
    text = prompt + [tree.tokens[n] for n in path_to(parents, node)]
    return target.start().read(text, list(range(len(text))))[1][-1]


prompt = prompts[0]
alone = np.stack([path_alone(prompt, node) for node in range(len(tree))])
grandparents = mask.copy()
for node in range(len(tree)):
    grandparents[node, path_to(parents, node)[:-3]] = False  # itself, parent, grandparent; no further
right = np.abs(tree_call(prompt, mask) - alone).max(axis=1)
wrong = np.abs(tree_call(prompt, grandparents) - alone).max(axis=1)
print("\nlargest difference of the logits to the path read alone")
print("node   depth   all ancestors   parent and grandparent only")
for node in range(len(tree)):
    print(f"{node:4d}   {places[node]:5d}   {right[node]:13.1e}   {wrong[node]:13.1e}")

# %% [markdown]
# ## Which tree: expand
#
# The *value* of a node is the sum of the draft's log-probabilities along its path: the log of the product of
# confidences. EAGLE-2 found that confidence tracks acceptance, so the value estimates how likely the target is to
# accept the whole path.
#
# Expand, level by level: run the drafter on the level's `top_k` best values, give each its `top_k` best children. All
# of these are candidates. Here the drafter is a table: the law of a word depends on the word before it alone.

# %%
words = ["return", "self", ".", "x", "+", "1", "="]
table = {
    "return": {"self": 0.50, "x": 0.30, "1": 0.20},
    "self": {".": 1.0},  # the draft is certain, so value(.) = value(self): a tie
    ".": {"x": 0.90, "1": 0.10},
    "x": {"+": 0.40, "=": 0.35, ".": 0.25},
    "+": {"1": 0.80, "x": 0.20},
    "1": {"+": 0.50, "=": 0.30, "x": 0.20},
    "=": {"1": 0.40, "x": 0.35, "self": 0.25},
}
with np.errstate(divide="ignore"):  # a word that cannot follow has log-probability -inf
    log_rows = np.log([[table[word].get(other, 0.0) for other in words] for word in words])


def table_expand(tokens: list[int], parents: list[int], nodes: list[int]) -> np.ndarray:
    """Log-probabilities (len(nodes), V) of the children of `nodes`: what a head pass would give."""
    return log_rows[[tokens[node] for node in nodes]]


def falling(value: Callable[[int], float], nodes: list[int]) -> list[int]:
    """Nodes by falling value; among equals the earlier one first, because Python's sort is stable."""
    return sorted(nodes, key=value, reverse=True)


def expand_loudly(root: int, expand: Expand, config: TreeConfig, name: Callable[[int], str]) -> DraftTree:
    """All candidates of EAGLE-2, with every step printed: a slow twin of the first half of `grow.confidence`."""
    tokens, parents, values, beam = [root], [-1], [0.0], [0]
    for level in range(1, config.depth + 1):
        rows, new = expand(tokens, parents, beam), []
        for node, row in zip(beam, rows):
            best = sorted(range(len(row)), key=lambda token: -row[token])[: config.top_k]
            for token in (token for token in best if row[token] > -math.inf):
                new.append(len(tokens))
                tokens.append(token)
                parents.append(node)
                values.append(values[node] + min(float(row[token]), 0.0))
        print(f"\nlevel {level}: head pass on {len(beam)} node(s) {beam}")
        beam = falling(values.__getitem__, new)[: config.top_k]
        for node in new:
            chosen = "   expanded next" if node in beam and level < config.depth else ""
            word = name(tokens[node])
            print(f"   {node:3d} below {parents[node]:3d}  {word:10s} confidence {math.exp(values[node]):.3f}{chosen}")
    return DraftTree(tuple(tokens), tuple(parents), tuple(values))


config = TreeConfig(num_nodes=8, depth=4, top_k=3)
candidates = expand_loudly(0, table_expand, config, words.__getitem__)

# %% [markdown]
# ## Which tree: rerank
#
# The candidates are too many for a target call. Keep the num_nodes - 1 best values. Is what remains a tree? A
# child's value is at most its parent's, because a log-probability is at most 0. So a parent ranks before its child,
# **except on a tie**: "." has confidence 1 below "self", and both have the value log 0.5. A stable sort over
# candidates that are listed level by level puts the parent first. If ties fall the other way, a child can be kept
# whose parent is gone, and no path leads to it. Ties are not rare: in 16-bit floats a child of confidence 0.999 below
# a path of value -5 has its parent's value, rounded.


# %%
def rerank(candidates: DraftTree, num_nodes: int, stable: bool = True) -> DraftTree:
    """Keep the best values. With stable=False ties go to the later node: wrong."""
    nodes = list(range(1, len(candidates)))
    order = falling(candidates.log_confidence.__getitem__, nodes if stable else nodes[::-1])
    return select(candidates, [0, *sorted(order[: num_nodes - 1])])


def picture(tree: DraftTree, name: Callable[[int], str], accepted: Collection[int] = ()) -> str:
    """One node a line: its token, and the draft's confidence in the path to it."""
    return draw(tree, lambda node: f"{name(tree.tokens[node])}  {math.exp(tree.log_confidence[node]):.3f}", accepted)


dynamic = rerank(candidates, config.num_nodes)
print(f"\nthe {config.num_nodes} nodes that rerank keeps\n{picture(dynamic, words.__getitem__)}")
orphans = []
for num_nodes in range(2, config.num_nodes + 1):
    try:
        rerank(candidates, num_nodes, stable=False)
    except ValueError as error:
        orphans.append(num_nodes)
        print(f"ties the other way, {num_nodes} nodes: {error}")

# %% [markdown]
# ## The ratio rule is not EAGLE-2's
#
# Popular articles describe EAGLE's dynamic tree by the ratio of the draft's two best probabilities: above a
# threshold one child, so that sure stretches become chains; below it two to four branches. It is a rule one may
# use, and `grow.ratio` does. But it looks at one node at a time and forgets how unlikely the way there was. EAGLE-2
# compares whole paths across the tree and spends each node where it is worth most.
#
# If the confidences are the true acceptance probabilities, the expected number of accepted tokens is the sum of
# the path probabilities of all drafted nodes: each node is reached with just that probability. So the best tree of n
# nodes is the one with the largest sum, and rerank picks it: below we try *every* connected choice.


# %%
def expected_accepted(tree: DraftTree) -> float:
    """Mean number of accepted tokens when the target agrees with the draft's confidences."""
    return sum(math.exp(value) for value in tree.log_confidence[1:])


by_ratio = ratio(0, table_expand, config, config.depth)
print(f"\nratio rule, {len(by_ratio)} nodes\n{picture(by_ratio, words.__getitem__)}")
print("\nexpected accepted tokens")
print(f"EAGLE-2 {expected_accepted(dynamic):.3f}, ratio rule {expected_accepted(by_ratio):.3f}, 8 nodes each")

best, num_trees = 0.0, 0
for chosen in itertools.combinations(range(1, len(candidates)), 5):
    if all(candidates.parents[node] in (0, *chosen) for node in chosen):
        num_trees += 1
        best = max(best, sum(math.exp(candidates.log_confidence[node]) for node in chosen))
reranked = expected_accepted(rerank(candidates, 6))
print(f"all {num_trees} trees of 6 nodes: the best sum is {best:.3f}, rerank's is {reranked:.3f}")

# %% [markdown]
# ## The shipped head
#
# The same steps, with the head in place of the table: `Expansion` runs it on the nodes it is asked for, each below
# its own ancestors, and takes the head's guess at the parent as the feature. The root needs no pass of its own.
# Small limits, to keep the print short.

# %%
features, _ = target.start().read(prompt, list(range(len(prompt))))
drafter = models.drafter("eagle2")
draft = drafter.start(prompt)
root = tokenizer.encode("\n    ")[0]
draft.read(features, [*prompt[1:], root])


def head_expand() -> Expansion:
    """A fresh growing tree; rows of an earlier one are forgotten."""
    draft.cache.truncate(len(prompt))
    return draft.expansion()


small = TreeConfig(num_nodes=8, depth=3, top_k=3)
from_head = rerank(expand_loudly(root, head_expand(), small, show), small.num_nodes)
print("\n" + picture(from_head, show))

# %% [markdown]
# And a real cycle: the tree of 24 nodes, with the path that the target accepted marked by full dots. We show the
# cycle of a short text in which most tokens were accepted.

# %%
generation = eagle_min.generate(target, prompt, models.drafter("eagle2"), max_new_tokens=40)
cycle = max(generation.cycles[1:], key=lambda cycle: cycle.num_accepted)
print(f"\n{cycle.num_accepted} accepted, bonus token {show(cycle.tokens[-1])}; tau of the text {generation.tau:.2f}")
print(picture(cycle.tree, show, cycle.path))

# %% [markdown]
# ## What must hold

# %%
assert right.max() < 1e-10, "a tree call gives each node the logits of its path alone"
deep = [node for node in range(len(tree)) if places[node] >= 3]
assert deep and wrong[deep].min() > 1e-6, "parent and grandparent are not enough from depth 3 on"
assert max(wrong[node] for node in range(len(tree)) if node not in deep) < 1e-10, "and above it nobody notices"

assert dynamic == confidence(0, table_expand, config, config.depth), "the loud twin is grow.confidence"
assert from_head == confidence(root, head_expand(), small, small.depth)
assert orphans, "ties the other way leave orphans"
for num_nodes in range(2, len(candidates) + 1):  # connected, and each larger tree contains the smaller one
    kept = rerank(candidates, num_nodes)
    kept.check_invariants()
    paths = [
        {tuple(t.tokens[n] for n in path_to(t.parents, node)) for node in range(len(t))}
        for t in (rerank(candidates, num_nodes - 1), kept)
    ]
    assert paths[0] < paths[1]
assert math.isclose(best, reranked), "no connected choice is better"
assert by_ratio != dynamic and expected_accepted(by_ratio) < expected_accepted(dynamic)
print("all assertions hold")

# %% [markdown]
# ## Break it
#
# 1. In `tree_call`, use the number of a node as its position instead of its depth. Which nodes keep their logits?
#    Nothing crashes, and the text a decoder writes with it would still look like a text: what would you notice?
# 2. In `expand_loudly`, score a child by its own probability instead of the product along the path. Which line stops
#    you, and with which sentence? Ask `candidates.check_invariants()` which property rerank has lost.
