"""Tree structure: everything follows from the parents."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import ancestors
from strategies import parent_lists, trees

from eagle_min.tree import (
    DraftTree,
    ancestor_mask,
    children,
    depths,
    draw,
    path_to,
    root_only,
    select,
)


@given(parent_lists())
def test_a_node_sees_itself_and_its_ancestors_only(parents):
    mask = ancestor_mask(parents)
    assert mask.shape == (len(parents), len(parents)) and mask.dtype == bool
    for node in range(len(parents)):
        assert set(np.flatnonzero(mask[node])) == ancestors(parents, node) | {node}


@given(parent_lists())
def test_the_position_of_a_node_is_its_depth(parents):
    assert depths(parents) == [len(ancestors(parents, node)) for node in range(len(parents))]
    assert depths(parents) == (ancestor_mask(parents).sum(axis=1) - 1).tolist()


@given(parent_lists())
def test_paths_and_children_agree_with_the_parents(parents):
    below = children(parents)
    for node in range(len(parents)):
        path = path_to(parents, node)
        assert path[0] == 0 and path[-1] == node
        assert set(path) == ancestors(parents, node) | {node} and path == sorted(path)
        assert below[node] == [other for other in range(len(parents)) if parents[other] == node]


@given(parent_lists(), st.randoms(use_true_random=False))
def test_renumbering_the_nodes_permutes_mask_depths_and_paths(parents, random):
    # A valid renumbering: repeatedly give the next number to any node whose parent has one.
    number: dict[int, int] = {}
    while len(number) < len(parents):
        ready = [n for n, parent in enumerate(parents) if n not in number and (parent in number or parent < 0)]
        number[random.choice(ready)] = len(number)
    renamed = [-1] * len(parents)
    for old, new in number.items():
        renamed[new] = -1 if parents[old] < 0 else number[parents[old]]
    mask, other = ancestor_mask(parents), ancestor_mask(renamed)
    for a in range(len(parents)):
        assert depths(parents)[a] == depths(renamed)[number[a]]
        assert [number[node] for node in path_to(parents, a)] == path_to(renamed, number[a])
        for b in range(len(parents)):
            assert mask[a, b] == other[number[a], number[b]]


@given(trees(vocab_size=4))
def test_trees_of_the_generator_are_draft_trees(tree):
    tree.check_invariants()
    assert tree.num_drafted == len(tree) - 1 == len(tree.tokens) - 1


def test_the_root_alone_is_a_tree():
    tree = root_only(7)
    tree.check_invariants()
    assert (tree.tokens, tree.parents, tree.log_confidence, tree.num_drafted) == ((7,), (-1,), (0.0,), 0)
    assert ancestor_mask(tree.parents).tolist() == [[True]]
    assert depths(tree.parents) == [0] and children(tree.parents) == [[]]


HALF = np.array([0.5, 0.5, 0.0])
REFUSED = {
    "no node": ((), (), (), {}),
    "too few parents": ((1, 2), (-1,), (0.0, -1.0), {}),
    "too few confidences": ((1, 2), (-1, 0), (0.0,), {}),
    "root with a parent": ((1, 2), (0, 0), (0.0, -1.0), {}),
    "second root": ((1, 2), (-1, -1), (0.0, -1.0), {}),
    "parent after its child": ((1, 2, 0), (-1, 2, 0), (0.0, -1.0, -1.0), {}),
    "own parent": ((1, 2), (-1, 1), (0.0, -1.0), {}),
    "parent outside": ((1, 2), (-1, 5), (0.0, -1.0), {}),
    "equal siblings": ((1, 2, 2), (-1, 0, 0), (0.0, -1.0, -1.0), {}),
    "negative token": ((1, -2), (-1, 0), (0.0, -1.0), {}),
    "confidence of the root": ((1, 2), (-1, 0), (-1.0, -2.0), {}),
    "rising confidence": ((1, 2, 0), (-1, 0, 1), (0.0, -2.0, -1.0), {}),
    "NaN confidence": ((1, 2), (-1, 0), (0.0, math.nan), {}),
    "law of a missing node": ((1, 0), (-1, 0), (0.0, -1.0), {0: HALF, 2: HALF}),
    "no law for sampled children": ((1, 0, 0), (-1, 0, 1), (0.0, -1.0, -2.0), {0: HALF}),
    "impossible child": ((1, 2), (-1, 0), (0.0, -1.0), {0: HALF}),
    "child outside its law": ((1, 3), (-1, 0), (0.0, -1.0), {0: HALF}),
    "law of sum 2": ((1, 0), (-1, 0), (0.0, -1.0), {0: HALF * 2}),
    "negative law": ((1, 0), (-1, 0), (0.0, -1.0), {0: np.array([0.5, 1.0, -0.5])}),
    "NaN law": ((1, 0), (-1, 0), (0.0, -1.0), {0: np.array([0.5, 0.5, math.nan])}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_draft_tree_is_refused_in_one_line(case):
    with pytest.raises(ValueError, match="must be") as error:
        DraftTree(*REFUSED[case]).check_invariants()
    assert "\n" not in str(error.value)


def test_sampled_children_of_positive_draft_probability_are_accepted():
    DraftTree((2, 1, 0, 0), (-1, 0, 0, 1), (0.0, -1.0, -1.0, -1.0), {0: HALF, 1: HALF}).check_invariants()


def test_each_node_is_checked_against_its_own_law():
    laws = {0: np.array([0.0, 1.0, 0.0]), 1: np.array([1.0, 0.0, 0.0])}
    DraftTree((2, 1, 0), (-1, 0, 1), (0.0, -1.0, -2.0), laws).check_invariants()
    with pytest.raises(ValueError, match="token below node 0"):
        DraftTree((2, 0, 0), (-1, 0, 1), (0.0, -1.0, -2.0), laws).check_invariants()


def test_a_tree_is_a_value_whose_laws_take_no_part_in_comparisons():
    tree, other = (DraftTree((1, 0), (-1, 0), (0.0, -1.0), {0: law}) for law in (HALF, np.array([1.0, 0.0, 0.0])))
    assert tree == other and hash(tree) == hash(other)
    with pytest.raises(FrozenInstanceError):
        tree.tokens = (1, 1)


@given(trees(vocab_size=4, max_nodes=10), st.data())
def test_select_keeps_tokens_paths_and_confidence_of_the_chosen_nodes(tree, data):
    seeds = data.draw(st.sets(st.sampled_from(range(len(tree)))))
    chosen = sorted({0}.union(*[ancestors(tree.parents, node) | {node} for node in seeds]))
    part = select(tree, chosen)
    part.check_invariants()
    assert len(part) == len(chosen)
    for new, old in enumerate(chosen):
        assert part.tokens[new] == tree.tokens[old]
        assert part.log_confidence[new] == tree.log_confidence[old]
        assert [chosen[node] for node in path_to(part.parents, new)] == path_to(tree.parents, old)


@pytest.mark.parametrize("nodes", [[], [1], [0, 3], [0, 2, 1], [0, 1, 1], [0, 4]])
def test_select_refuses_nodes_without_root_parent_or_order(nodes):
    tree = DraftTree((0, 1, 2, 1), (-1, 0, 0, 1), (0.0, -1.0, -1.0, -1.0))
    with pytest.raises(ValueError, match="must be"):
        select(tree, nodes)


def test_select_refuses_to_prune_sampled_children():
    with pytest.raises(ValueError, match="sampled"):
        select(DraftTree((0, 1), (-1, 0), (0.0, -1.0), {0: HALF}), [0])


def test_the_picture_has_one_line_a_node_and_marks_the_accepted_path():
    tree = DraftTree((5, 1, 2, 3, 4), (-1, 0, 0, 1, 1), (0.0,) * 5)
    picture = draw(tree, lambda node: str(tree.tokens[node]), accepted=[0, 1])
    assert picture == "● 5\n├─● 1\n│ ├─○ 3\n│ └─○ 4\n└─○ 2"


@given(trees(vocab_size=4))
def test_the_picture_shows_every_node_once(tree):
    lines = draw(tree, lambda node: f"node {node}").splitlines()
    assert sorted(line.split("○ ")[1] for line in lines) == sorted(f"node {node}" for node in range(len(tree)))
