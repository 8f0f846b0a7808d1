"""Growing: which nodes each rule keeps, and how often it asks the drafter."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from growing import ROOT, Draft, assert_the_best_are_kept, paths
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import falling, rank_paths, token_path
from strategies import TableModel, rows, sampling_configs, table_models, tree_configs

from eagle_min import sampling
from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.dice import SeededDice
from eagle_min.grow import GROWERS, chain, confidence, ratio, static, static_sampled, top_children
from eagle_min.tree import children, depths

MODELS = st.sampled_from([2, 3, 5]).flatmap(table_models)
ROOM = st.integers(0, 5)


def same_law_everywhere(*weights: int) -> TableModel:
    return TableModel((weights,))


def every_grower(draft, config, depth):
    yield from ((name, grow(ROOT, draft(), config, depth)) for name, grow in GROWERS.items())
    plain = SamplingConfig(1.0)
    yield "static_sampled", static_sampled(ROOT, draft(), config, depth, SeededDice(5), 0, plain)


@given(MODELS, tree_configs(), ROOM)
def test_every_grower_makes_a_tree_in_level_order_within_its_limits(model, config, depth):
    for name, tree in every_grower(lambda: Draft(model), config, depth):
        tree.check_invariants()
        assert tree.tokens[0] == ROOT, name
        levels = depths(tree.parents)
        assert levels == sorted(levels) and max(levels) <= min(depth, config.depth), name
        assert len(tree) <= config.num_nodes, name


@given(MODELS, tree_configs(), ROOM)
def test_confidence_is_the_product_of_draft_probabilities_along_the_path(model, config, depth):
    for name, tree in every_grower(lambda: Draft(model), config, depth):
        for path, value in paths(tree).items():
            product = Fraction(1)
            for place, token in enumerate(path):
                product *= model.weights((ROOT, *path[:place]))[token]
            assert product > 0, name
            assert math.exp(value) == pytest.approx(float(product), rel=1e-12), name


@given(MODELS, tree_configs())
def test_without_room_there_is_the_root_alone_and_no_call(model, config):
    draft = Draft(model)
    for _, tree in every_grower(lambda: draft, config, 0):
        assert tree.tokens == (ROOT,) and not tree.child_laws
    for _, tree in every_grower(lambda: draft, TreeConfig(num_nodes=1), 4):
        assert tree.tokens == (ROOT,)
    assert draft.widths == []


@given(st.integers(0, 2**32))
def test_rerank_keeps_the_best_where_places_are_few(seed):
    """Many unlike candidates. Drawn from one seed: left to itself Hypothesis tries simple tables first."""
    rng = random.Random(seed)
    rows = tuple(tuple(rng.choices(range(1, 10), k=5)) for _ in range(7))
    config = TreeConfig(num_nodes=rng.randint(3, 16), depth=rng.randint(2, 5), top_k=rng.randint(2, 4))
    assert_the_best_are_kept(TableModel(rows), config, 5)


@given(MODELS, tree_configs(), ROOM, st.floats(0, 1))
@example(TableModel(((1, 1),)), TreeConfig(num_nodes=7, depth=2, top_k=2), 2, 0.4)  # 1/2 at a node, 1/4 on its path
def test_a_least_confidence_leaves_out_the_nodes_below_it_and_nothing_else(model, config, depth, least):
    """And none of them is expanded: they cost no pass."""
    whole, draft = paths(confidence(ROOT, Draft(model), config, depth)), Draft(model)
    lean = paths(confidence(ROOT, draft, replace(config, min_confidence=least), depth))
    floor = math.log(least) if least else -math.inf
    assert lean == {path: value for path, value in whole.items() if value >= floor}
    assert len(draft.widths) <= 1 + max(map(len, lean), default=0)


@given(st.integers(0, 2**32))
def test_what_is_below_the_least_confidence_is_not_expanded(seed):
    """Every node expanded is one that is kept, with room for all. Drawn from one seed, as above."""
    rng, expanded = random.Random(seed), []
    draft = Draft(TableModel(tuple(tuple(rng.choices(range(1, 10), k=5)) for _ in range(7))))

    def expand(tokens, parents, nodes):
        expanded.extend(token_path(tokens, parents, node) for node in nodes)
        return draft(tokens, parents, nodes)

    config = TreeConfig(num_nodes=600, depth=4, top_k=5, min_confidence=rng.uniform(0.02, 0.2))
    assert set(expanded) - {()} <= paths(confidence(ROOT, expand, config, 4)).keys()


def test_a_node_exactly_as_confident_as_it_must_be_is_kept():
    certain = Draft(same_law_everywhere(0, 1, 0))
    assert len(confidence(ROOT, certain, TreeConfig(num_nodes=4, min_confidence=1.0), 3)) == 4


@given(MODELS, st.integers(2, 12), st.integers(1, 4), ROOM)
def test_a_larger_budget_keeps_a_superset(model, num_nodes, top_k, depth):
    trees = [
        paths(confidence(ROOT, Draft(model), TreeConfig(num_nodes=size, depth=4, top_k=top_k), depth))
        for size in (num_nodes, num_nodes + 1, num_nodes + 5)
    ]
    assert trees[0].items() <= trees[1].items() <= trees[2].items()


def test_ties_go_to_the_shallower_node_then_to_the_earlier_one():
    certain = Draft(same_law_everywhere(0, 1, 0))  # every node of the one path has value 0
    assert paths(confidence(ROOT, certain, TreeConfig(num_nodes=4, depth=5), 5)) == {(1,): 0, (1, 1): 0, (1, 1, 1): 0}
    tied = Draft(same_law_everywhere(1, 1, 0))  # 0 and 1 tie below the root, and so do their children
    kept = paths(confidence(ROOT, tied, TreeConfig(num_nodes=5, depth=3), 3))
    assert set(kept) == {(0,), (1,), (0, 0), (0, 1)}


def test_log_probabilities_rounded_to_above_zero_do_not_raise_a_child_above_its_parent():
    rows = np.array([[1e-7, -20.0]], dtype=np.float32)
    tree = confidence(ROOT, lambda tokens, parents, nodes: rows[[0] * len(nodes)], TreeConfig(num_nodes=4), 3)
    tree.check_invariants()
    assert max(depths(tree.parents)) == 3


def test_a_sure_draft_goes_deep_and_an_unsure_one_wide():
    config = TreeConfig(num_nodes=8, depth=7, top_k=8)
    sure = confidence(ROOT, Draft(same_law_everywhere(99, *[1] * 8)), config, 7)
    unsure = confidence(ROOT, Draft(same_law_everywhere(*[1] * 9)), config, 7)
    assert max(depths(sure.parents)) == 7 and max(depths(unsure.parents)) == 1


@given(MODELS, tree_configs(), ROOM)
def test_a_chain_follows_the_best_token_with_one_call_each(model, config, depth):
    draft = Draft(model)
    tree = chain(ROOT, draft, config, depth)
    want: tuple[int, ...] = ()
    for _ in range(min(depth, config.depth, config.num_nodes - 1)):
        want += (falling(model.log_weights((ROOT, *want)))[0],)
    assert tree.tokens == (ROOT, *want) and list(tree.parents) == list(range(-1, len(want)))
    assert draft.widths == [1] * len(want)


EAGLE1 = {"0", "1", "2", "3", "00", "01", "02", "10", "11", "20", "21", "30"}
EAGLE1 |= {"000", "001", "002", "010", "011", "020", "021", "100", "0000", "0001", "0002", "00000", "00001"}


def static_shape(num_nodes: int, depth: int) -> list[str]:
    """The published tree in level order, cut."""
    return sorted((path for path in EAGLE1 if len(path) <= depth), key=lambda path: (len(path), path))[: num_nodes - 1]


WIDE = same_law_everywhere(8, 7, 6, 5, 4, 3)


def test_the_static_tree_has_the_published_shape_and_five_head_passes():
    draft = Draft(WIDE)
    tree = static(ROOT, draft, TreeConfig(num_nodes=26, depth=7), 9)
    assert set(rank_paths(tree.parents)) == EAGLE1 | {""} and tree.num_drafted == 25
    assert draft.widths == [1, 4, 4, 1, 1]
    assert len(set(range(len(tree))) - set(tree.parents)) == 15
    assert all(str(path).strip("(),").replace(", ", "") in EAGLE1 for path in paths(tree))  # rank r is token r here
    sampled = static_sampled(ROOT, Draft(WIDE), TreeConfig(num_nodes=26), 9, SeededDice(1), 0, SamplingConfig(1.0))
    assert sampled.parents == tree.parents


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 6))
def test_a_smaller_static_tree_is_the_head_of_the_level_order(num_nodes, config_depth, depth):
    tree = static(ROOT, Draft(WIDE), TreeConfig(num_nodes=num_nodes, depth=config_depth), depth)
    assert rank_paths(tree.parents) == ["", *static_shape(num_nodes, min(depth, config_depth))]


def test_ranks_that_a_small_vocabulary_cannot_fill_are_left_out():
    tree = static(ROOT, Draft(same_law_everywhere(3, 2)), TreeConfig(num_nodes=26), 9)
    assert set(rank_paths(tree.parents)) == {path for path in EAGLE1 if set(path) <= {"0", "1"}} | {""}
    short = static(ROOT, Draft(same_law_everywhere(0, 1, 0)), TreeConfig(num_nodes=26), 9)
    assert rank_paths(short.parents) == ["", "0", "00", "000", "0000", "00000"]


@given(MODELS, tree_configs(), ROOM)
def test_at_temperature_zero_nothing_is_drawn_and_the_tree_is_the_static_one(model, config, depth):
    greedy = static_sampled(ROOT, Draft(model), config, depth, None, 0, SamplingConfig(0.0))  # None: no dice to ask
    assert greedy == static(ROOT, Draft(model), config, depth) and not greedy.child_laws


@given(MODELS, tree_configs(), ROOM, sampling_configs(2, greedy=False), st.integers(0, 99))
def test_sampled_children_come_with_the_law_they_were_drawn_from(model, config, depth, filters, seed):
    tree = static_sampled(ROOT, Draft(model), config, depth, SeededDice(seed), 3, filters)
    tree.check_invariants()
    shape, names = static_shape(config.num_nodes, min(depth, config.depth)), rank_paths(tree.parents)
    for node, group in enumerate(children(tree.parents)):
        width = sum(path[:-1] == names[node] for path in shape)
        if width == 0:
            assert not group and node not in tree.child_laws
            continue
        row = model.log_weights((ROOT, *token_path(tree.tokens, tree.parents, node)))
        assert tree.child_laws[node].tolist() == sampling.next_token_law(row, filters).tolist()
        # Budget and support alone decide how many there are, never what was drawn.
        assert len(group) == min(width, np.count_nonzero(tree.child_laws[node]))


def test_a_draft_that_ends_gives_no_children():
    nothing = lambda tokens, parents, nodes: np.full((len(nodes), 3), -math.inf)  # noqa: E731
    for name, tree in every_grower(lambda: nothing, TreeConfig(), 5):
        assert tree.tokens == (ROOT,), name


@given(MODELS, tree_configs(), ROOM)
def test_the_ratio_rule_branches_by_the_two_best_probabilities(model, config, depth):
    draft = Draft(model)
    tree = ratio(ROOT, draft, config, depth)
    threshold, room = Fraction(config.ratio_threshold), min(depth, config.depth)
    want: list[tuple[int, ...]] = []
    level: list[tuple[int, ...]] = [()]
    for _ in range(room):
        following = []
        for path in level:
            law = model.weights((ROOT, *path))
            best = [token for token in falling(law) if law[token] > 0]
            r = law[best[0]] / law[best[1]] if len(best) > 1 else math.inf
            # On the scale of logarithms the range up to the threshold has three equal parts.
            width = 1 if r > threshold else 2 if r**3 > threshold**2 else 3 if r**3 > threshold else 4
            following += [(*path, token) for token in best[: min(width, config.top_k)]]
        want += following
        level = following
        if len(want) >= config.num_nodes - 1:
            break
    assert list(paths(tree)) == want[: config.num_nodes - 1]
    assert len(draft.widths) <= room


def test_the_ratio_rule_makes_a_chain_seven_deep_or_two_to_four_branches():
    config = TreeConfig(num_nodes=24, depth=7, ratio_threshold=3.0)
    sure = ratio(ROOT, Draft(same_law_everywhere(90, 5, 5)), config, 20)
    assert list(sure.parents) == list(range(-1, 7))
    for weights, width in [((28, 10, 5, 5), 2), ((17, 10, 5, 5), 3), ((11, 10, 5, 5), 4), ((31, 10, 5, 5), 1)]:
        tree = ratio(ROOT, Draft(same_law_everywhere(*weights)), config, 2)
        assert len(children(tree.parents)[0]) == width


@pytest.mark.parametrize(("thirds", "width"), [(3, 2), (2, 3), (1, 4), (0, 4)])
def test_the_ratio_rule_counts_a_gap_on_a_boundary_to_the_lower_third(thirds, width):
    """And one just above it to the upper one."""
    boundary = math.log(3.0) * thirds / 3  # rounded as it must be: the last bit decides
    for gap, wanted in [(boundary, width), (boundary + 1e-9, max(1, width - 1) if thirds else 4)]:
        row = np.array([[0.0, -gap, -9.0, -10.0, -11.0, -12.0]])
        tree = ratio(ROOT, lambda *_, row=row: row, TreeConfig(ratio_threshold=3.0), 1)
        assert len(tree) - 1 == wanted


@given(st.lists(rows(6), min_size=1, max_size=4), st.integers(1, 8), st.sampled_from([np.float32, np.float64]))
def test_the_best_children_are_those_of_a_full_sort(table, k, kind):
    logs = np.array([[math.log(w) - 2 if w else -math.inf for w in row] for row in table], dtype=kind)
    want = [[(t, min(float(row[t]), 0.0)) for t in falling(row) if row[t] > -math.inf][:k] for row in logs]
    got = [[(token, min(value, 0.0)) for token, value in row] for row in top_children(logs, k)]
    assert got == want


def test_not_a_number_from_the_drafter_is_refused():
    for k in (1, 3):
        with pytest.raises(ValueError, match="log-probabilities"):
            top_children(np.array([[0.0, -1.0, math.nan]]), k)
