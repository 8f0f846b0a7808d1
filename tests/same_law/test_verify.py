"""Verification keeps the target's law: exact, in fractions, compared with `==`."""

from cycles import FIXED_TREE_RULES, cycles, emitted
from hypothesis import given
from hypothesis import strategies as st
from oracles import first_tokens_law, greedy_path, sequence_law, token_path
from strategies import fewer, sampling_configs, trees, worlds, worlds_and_trees

from eagle_min import sampling
from eagle_min.config import SamplingConfig
from eagle_min.dice import SeededDice, target_draw
from eagle_min.exactness.law import law
from eagle_min.tree import root_only
from eagle_min.verify import recursive_rejection, verify

# --- children that are a function of the context --------------------------------------------------


@fewer(2)
@given(worlds(vocab_sizes=(3,)), st.data())
def test_two_cycles_in_a_row_keep_the_law_under_every_rule(world, data):
    table = [data.draw(trees(3, root=token, max_nodes=4, max_depth=2)) for token in range(3)]
    want = sequence_law(world.target.weights, world.history, 4)
    for rule in FIXED_TREE_RULES.values():
        two = law(lambda dice: cycles(world, lambda history, *_: table[history[-1]], rule, 2, dice))  # noqa: B023
        assert first_tokens_law(two, world.target.weights, world.history, 4) == want


@given(worlds_and_trees())
def test_a_child_is_accepted_with_the_target_mass_of_the_child_set(case):
    world, tree = case
    first = {tree.tokens[node] for node in range(1, len(tree)) if tree.parents[node] == 0}
    mass = sum(world.target.weights(world.history)[token] for token in first)
    for rule in FIXED_TREE_RULES.values():
        law_at = world.law_at(tree, world.history)
        lengths = law(lambda dice: len(rule(tree, law_at, dice, 0, 0).path) > 1)  # noqa: B023
        assert lengths.get(True, 0) == mass


@given(worlds_and_trees(), sampling_configs(3), st.integers(0, 2**64 - 1))
def test_the_match_walk_gives_the_text_of_plain_decoding_from_the_same_seed(case, filters, seed):
    world, tree = case
    step = lambda history: sampling.next_token_law(world.target.weights(history), filters)  # noqa: E731
    law_at = lambda node: step(world.history + token_path(tree.tokens, tree.parents, node))  # noqa: E731
    start = len(world.history)
    got = emitted(tree, verify(tree, law_at, SeededDice(seed), start, 5))
    plain, dice = world.history, SeededDice(seed)
    for position in range(start, start + len(got)):
        plain += (dice.categorical(step(plain), target_draw(position)),)
    assert plain[start:] == got


@given(worlds_and_trees(max_nodes=10), st.integers(0, 9))
def test_temperature_zero_is_the_walk_along_first_maxima(case, seed):
    world, tree = case
    greedy = SamplingConfig(0.0)
    one_hot = lambda node: sampling.next_token_law(world.law_at(tree, world.history)(node), greedy)  # noqa: E731
    below: dict[tuple[int, ...], set[int]] = {}
    for node in range(1, len(tree)):
        below.setdefault(token_path(tree.tokens, tree.parents, tree.parents[node]), set()).add(tree.tokens[node])
    want = greedy_path(below, world.target.weights, world.history)
    for rule in FIXED_TREE_RULES.values():
        assert emitted(tree, rule(tree, one_hot, SeededDice(seed), 0, 0)) == want


@given(worlds())
def test_without_a_draft_every_rule_makes_the_draw_of_plain_decoding(world):
    tree = root_only(world.history[-1])
    plain = SeededDice(3).categorical(world.target.weights(world.history), target_draw(4))
    for rule in (*FIXED_TREE_RULES.values(), recursive_rejection):
        assert rule(tree, world.law_at(tree, world.history), SeededDice(3), 4, 0) == ([0], plain)


@given(worlds_and_trees())
def test_only_the_nodes_on_the_path_are_asked_and_their_laws_are_left_alone(case):
    world, tree = case
    for rule in FIXED_TREE_RULES.values():
        laws = {node: world.law_at(tree, world.history)(node) for node in range(len(tree))}
        asked = []
        path, _ = rule(tree, lambda node: asked.append(node) or laws[node], SeededDice(1), 0, 0)  # noqa: B023
        assert asked == path
        assert all(laws[node].tolist() == world.law_at(tree, world.history)(node).tolist() for node in laws)
