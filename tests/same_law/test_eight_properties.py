"""Eight properties of speculative decoding, each in a few lines: what this package claims, and how it is checked.

The first is about real networks. The others need none: a *world* is a target and a draft over three or four tokens
that read their laws off small tables of fractions, and `law(program)` is the exact law of what a program returns,
found by following every answer that its dice can give. So two laws are compared with `==`, not by samples. The helpers
lie in `tests/support/`; what is wanted is written there without the package, in `oracles.py` and `loop_laws.py`.
"""

import numpy as np
import pytest
from cycles import FIXED_TREE_RULES, cycles, emission, match, sampled_tree, world_of
from growing import assert_the_best_are_kept
from hypothesis import example, given
from hypothesis import strategies as st
from loop_laws import assert_exact
from loops import CONTEXT_KINDS, loops
from networks import CONFIG, drafter_of, random_target, small_tree
from oracles import ancestors, first_tokens_law, sequence_law
from strategies import fewer, table_models, tree_configs, worlds, worlds_and_trees
from tree_reading import TOLERANCE, drafts, plain, read_tree, seeds

from eagle_min import generate
from eagle_min.drafters.registry import REGISTRY
from eagle_min.exactness.law import law
from eagle_min.tree import DraftTree
from eagle_min.verify import rejection_walk, verify

# --- 1. the text ---

SAME_TEXT = [name for name in REGISTRY if not name.endswith("-sampled")]  # the others keep the law, not the text
PROMPTS = st.lists(st.integers(0, CONFIG.vocab_size - 1), min_size=1, max_size=6)
REPEATING = st.builds(lambda part, count: (part * count)[:12], PROMPTS, st.integers(1, 4))


@pytest.mark.parametrize("name", SAME_TEXT)
def test_same_seed_same_text(name):
    """Speculative decoding gives plain decoding's text, token for token, at any temperature, whatever the drafter.

    Networks in float64, decoded up to the last position of the context, stop tokens included.
    """
    temperatures, stops = st.sampled_from([0.0, 0.7, 1.0]), st.sets(st.integers(0, 5), max_size=1)

    @fewer(2, fast=5)
    @given(PROMPTS | REPEATING, seeds, temperatures, st.integers(0, 99), stops)
    def check(prompt, seed, temperature, number, stop):
        how = {"max_new_tokens": 99, "temperature": temperature, "seed": number, "stop": stop}
        alone = generate(random_target(seed), prompt, **how)
        speculative = generate(random_target(seed), prompt, drafter_of(name, seed, small_tree(name)), **how)
        assert (speculative.tokens, speculative.finish_reason) == (alone.tokens, alone.finish_reason)
        assert speculative.target_calls <= alone.target_calls

    check()


# --- 2 and 3. trees that are a function of the text ---


@pytest.mark.parametrize("name", FIXED_TREE_RULES)
@given(worlds_and_trees())
def test_match_walk_emits_the_target_law_for_any_tree(name, case):
    """The joint law of the first three tokens is the target's, whatever tree is proposed."""
    world, tree = case
    rule = FIXED_TREE_RULES[name]
    got = law(lambda dice: cycles(world, lambda *_: tree, rule, 1, dice))
    target, length = world.target.weights, 3
    assert first_tokens_law(got, target, world.history, length) == sequence_law(target, world.history, length)


@given(worlds_and_trees())
@example((world_of((5, 3, 2), (2, 5, 3)), DraftTree((0, 1, 2), (-1, 0, 0), (0.0,) * 3)))  # two siblings
def test_match_walk_and_rejection_walk_have_one_path_law(case):
    """The walk used here and the published reject-zero-renormalise loop accept each path equally often."""
    world, tree = case

    def path_and_bonus(rule, dice) -> tuple[tuple[int, ...], int]:
        path, bonus = rule(tree, world.law_at(tree, world.history), dice, 9, 2)
        return tuple(path), bonus

    assert law(lambda dice: path_and_bonus(match, dice)) == law(lambda dice: path_and_bonus(rejection_walk, dice))


# --- 4. trees whose children are drawn from the draft's law ---

WIDTHS = st.sampled_from([(1,), (2,), (3,), (1, 1), (2, 1), (1, 2)])  # children per node, level by level


@fewer(2)
@given(worlds(vocab_sizes=(3,)), WIDTHS)
@example(world_of((0, 1, 0), (1, 0, 1)), (2, 1))  # the draft never proposes what the target wants
@example(world_of((1, 2, 3), (1, 2, 3)), (2, 1))  # p = q: nothing is ever left of p
@example(world_of((1, 1, 0), (0, 0, 1)), (3,))  # the draft has fewer tokens than places
def test_recursive_rejection_emits_the_target_law(world, widths):
    """With children sampled without replacement, too, the law of the output is the target's."""
    got = law(lambda dice: emission(world, widths, dice))
    target, length = world.target.weights, len(widths) + 1
    assert first_tokens_law(got, target, world.history, length) == sequence_law(target, world.history, length)


# --- 5. the whole loop ---


@pytest.mark.parametrize("kind", CONTEXT_KINDS)
def test_loop_over_trees_of_the_context_has_the_target_law(kind):
    """Several cycles, filters, the stop token, the limit and the context's end: every text is as likely as without a
    draft, and ends for the same reason."""

    @fewer(1)
    @given(loops(kinds=[kind]))
    def check(loop):
        assert_exact(loop)

    check()


# --- 6. one target call for a tree ---


@given(seeds, drafts())
def test_logits_at_a_node_are_those_of_its_path_alone(seed, draft):
    """Under the tree mask one call over a flattened tree gives what reading its paths one by one gives."""
    text, parents, nodes = draft
    features, logits = read_tree(random_target(seed), text, parents, nodes)
    for node in range(len(nodes)):
        path = [*sorted(ancestors(parents, node)), node]
        own_features, own_logits = plain(random_target(seed), [*text, *(nodes[place] for place in path)])
        assert np.abs(logits[node] - own_logits[-1]).max() < TOLERANCE
        assert np.abs(features[node] - own_features[-1]).max() < TOLERANCE


# --- 7. which tree ---


@given(st.sampled_from([2, 3, 5]).flatmap(table_models), tree_configs(), st.integers(0, 5))
def test_rerank_keeps_the_best_and_stays_connected(model, config, depth):
    """EAGLE-2's tree holds the candidates of the highest confidence, each with its parent."""
    assert_the_best_are_kept(model, config, depth)


# --- 8. and a rule that is wrong is seen to be wrong ---


def test_sorting_sampled_children_by_probability_changes_the_law():
    """The order of sampled children must be the order of drawing: sorted best first, they bias the output."""
    world = world_of((5, 3, 2), (2, 5, 3))

    def first_token(dice, sort: bool) -> int:
        tree = sampled_tree(world.draft.weights, (0,), (2,), dice, 0)
        if sort:
            best_first = sorted(tree.tokens[1:], key=lambda token: -tree.child_laws[0][token])
            tree = DraftTree((0, *best_first), tree.parents, tree.log_confidence, tree.child_laws)
        path, bonus = verify(tree, world.law_at(tree, (0,)), dice, 1, 0)
        return tree.tokens[path[1]] if len(path) > 1 else bonus

    target = dict(enumerate(world.target.weights(())))
    assert law(lambda dice: first_token(dice, sort=False)) == target
    assert law(lambda dice: first_token(dice, sort=True)) != target
