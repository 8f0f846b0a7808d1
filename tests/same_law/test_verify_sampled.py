"""Recursive rejection: children sampled without replacement, exact in fractions."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from cycles import emission, world_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import first_tokens_law, sequence_law, token_path
from strategies import fewer, rows, worlds

from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.dice import SeededDice, coin, residual_draw, target_draw
from eagle_min.exactness.law import law, total_variation
from eagle_min.grow import static_sampled
from eagle_min.tree import DraftTree
from eagle_min.verify import match_walk, recursive_rejection, rejection_walk, verify

TENTHS = Fraction(1, 10)


@fewer(6)
@given(worlds(vocab_sizes=(3,)), st.sampled_from([(1,), (2,), (1, 1)]))
def test_two_cycles_of_sampled_trees_keep_the_law(world, widths):
    def program(dice):
        history = world.history
        for cycle in range(2):
            history += emission(world, widths, dice, history, cycle)
        return history[len(world.history) :]

    want = sequence_law(world.target.weights, world.history, 3)
    assert first_tokens_law(law(program), world.target.weights, world.history, 3) == want


@fewer(2)
@given(worlds(vocab_sizes=(2, 3)), st.sampled_from([2, 3, 6]))
def test_the_static_sampled_tree_and_its_laws_keep_the_target_law(world, num_nodes):
    """With Fraction rows, which `sampling.next_token_law` takes as weights, the real grower is exact too."""
    config, filters = TreeConfig(num_nodes=num_nodes, depth=2), SamplingConfig(1.0)

    def expand(tokens, parents, nodes):
        return np.stack([world.draft.weights(world.history + token_path(tokens, parents, node)) for node in nodes])

    def program(dice):
        tree = static_sampled(world.history[-1], expand, config, 2, dice, 0, filters)
        path, bonus = verify(tree, world.law_at(tree, world.history), dice, len(world.history), 0)
        return (*token_path(tree.tokens, tree.parents, path[-1]), bonus)

    want = sequence_law(world.target.weights, world.history, 3)
    assert first_tokens_law(law(program), world.target.weights, world.history, 3) == want


@fewer(2)
@given(worlds(vocab_sizes=(3,)))
def test_in_floats_the_law_is_off_by_rounding_only(world):
    config = TreeConfig(num_nodes=3)

    def program(dice):
        expand = lambda tokens, parents, nodes: world.draft.log_weights(world.history)[None]  # noqa: E731
        tree = static_sampled(world.history[-1], expand, config, 1, dice, 0, SamplingConfig(1.0))
        law_at = lambda node: world.law_at(tree, world.history)(node).astype(np.float64)  # noqa: E731
        path, bonus = verify(tree, law_at, dice, len(world.history), 0)
        return (*token_path(tree.tokens, tree.parents, path[-1]), bonus)

    got = {tokens: Fraction(p) for tokens, p in law(program).items()}
    two = first_tokens_law(got, world.target.weights, world.history, 2)
    assert total_variation(two, sequence_law(world.target.weights, world.history, 2)) < 1e-12


# Exact acceptance of one node, computed independently (reference notes, section 3.10).
ACCEPTANCE = [
    ((5, 3, 2), (2, 5, 3), 1, 0.7000),
    ((5, 3, 2), (2, 5, 3), 2, 0.8086),
    ((5, 3, 1, 1), (4, 3, 2, 1), 2, 0.9500),
    ((5, 3, 1, 1), (1, 2, 3, 4), 2, 0.6786),
    ((5, 3, 1, 1), (1, 2, 3, 4), 3, 0.7801),
]


@pytest.mark.parametrize(("target", "draft", "width", "want"), ACCEPTANCE)
def test_acceptance_is_the_published_one(target, draft, width, want):
    lengths = law(lambda dice: len(emission(world_of(target, draft), (width,), dice)))
    assert round(float(lengths[2]), 4) == want


@given(rows(3), rows(3))
def test_one_sampled_child_is_accepted_with_the_overlap_of_the_laws(target, draft):
    world = world_of(target, draft)
    lengths = law(lambda dice: len(emission(world, (1,), dice)))
    p, q = world.target.weights(()), world.draft.weights(())
    assert lengths.get(2, 0) == sum(min(a, b) for a, b in zip(p, q))


@given(rows(3), st.tuples(*[st.integers(1, 5)] * 3))
def test_a_draft_that_covers_the_vocabulary_is_always_accepted(target, draft):
    assert set(law(lambda dice: len(emission(world_of(target, draft), (3,), dice)))) == {2}


class Contrary:
    """Rejects whatever may be rejected and draws the least likely token that can be drawn."""

    def accept(self, probability, name):
        assert 0 <= probability <= 1
        return probability == 1

    def categorical(self, weights, name):
        assert weights.min() >= 0 and weights.sum() > 0
        return min(np.flatnonzero(weights), key=lambda token: weights[token])


class Eager(Contrary):
    """Accepts whatever may be accepted."""

    def accept(self, probability, name):
        assert 0 <= probability <= 1
        return probability > 0


TINY = st.sampled_from([0.0, 0.0, 5e-324, 1e-17, 2.0**-53, 1e-9, 0.1, 0.3, 1.0])


@given(st.lists(TINY, min_size=3, max_size=3).filter(any), st.lists(TINY, min_size=3, max_size=3).filter(any))
@example([0.1, 0.3, 0.1], [0.3, 0.9, 0.3])
@example([1.0, 0.0, 0.0], [1.0, 1e-17, 0.0])  # q sums to 1 by rounding; its second token has no mass in p
def test_no_token_of_target_probability_zero_is_ever_emitted(target, draft):
    p, q = np.array(target) / sum(target), np.array(draft) / sum(draft)
    for dice in (Contrary(), Eager(), SeededDice(1)):
        fixed = DraftTree((0, 0, 1, 2), (-1, 0, 0, 0), (0.0,) * 4)
        for rule in (rejection_walk, lambda tree, law_at, dice, position, cycle: match_walk(tree, law_at, dice, 7)):
            path, bonus = rule(fixed, lambda node: p, dice, 3, 1)
            assert p[bonus] > 0 and all(p[fixed.tokens[node]] > 0 for node in path[1:])
    for dice in (Contrary(), Eager()):
        for order in ((0, 1, 2), (2, 0, 1)):
            drawn = [token for token in order if q[token] > 0]
            tree = DraftTree((0, *drawn), (-1, *[0] * len(drawn)), (0.0,) * (len(drawn) + 1), {0: q})
            path, bonus = recursive_rejection(tree, lambda node: p, dice, 3, 1)
            assert p[bonus] > 0 and all(p[tree.tokens[node]] > 0 for node in path[1:])


def test_a_rejection_by_rounding_where_nothing_is_left_draws_from_p():
    p, q = np.array([0.5, 0.5]), np.array([0.5 + 2**-53, 0.5])  # p <= q everywhere, both of sum 1
    tree = DraftTree((0, 0), (-1, 0), (0.0, 0.0), {0: q})
    path, bonus = recursive_rejection(tree, lambda node: p, Contrary(), 3, 1)
    assert path == [0] and bonus == 0


@given(st.integers(0, 3), st.integers(1, 99))
def test_where_nothing_was_tried_the_last_draw_is_the_targets_own_for_its_position(length, position):
    """A chain of one-token laws is accepted whole; its leaf, and a root without children, try nothing."""
    certain = np.array([0, Fraction(1), 0], dtype=object)
    tree = DraftTree(
        (0, *[1] * length), tuple(range(-1, length)), (0.0,) * (length + 1), dict.fromkeys(range(length), certain)
    )
    names: list = []

    class Noting(SeededDice):
        def categorical(self, weights, name) -> int:
            names.append(name)
            return 1

    assert recursive_rejection(tree, lambda node: certain, Noting(0), position, 5).path == list(range(length + 1))
    assert names == [target_draw(position + length)]


@given(st.integers(0, 3))
def test_the_draw_behind_a_refusal_is_named_after_the_node_where_it_happened(length):
    """So that no two draws of a cycle have one name, and a text has one set of names whatever was drafted."""
    p, q = np.array([0.5, 0.5]), np.array([0.25, 0.75])
    tree = DraftTree(
        (0, *[1] * (length + 1)),
        tuple(range(-1, length + 1)),
        (0.0,) * (length + 2),
        dict.fromkeys(range(length + 1), q),
    )
    names: list = []

    class Refusing(SeededDice):
        def accept(self, probability, name) -> bool:
            return name != coin(5, length + 1)

        def categorical(self, weights, name) -> int:
            names.append(name)
            return 0

    for rule in (recursive_rejection, rejection_walk):
        assert rule(tree, lambda node: p, Refusing(0), 9, 5).path == list(range(length + 1))
    assert names == [residual_draw(5, length)] * 2


def test_a_child_its_draft_law_cannot_draw_is_refused():
    tree = DraftTree((0, 1), (-1, 0), (0.0, 0.0), {0: np.array([1.0, 0.0])})
    with pytest.raises(ValueError, match="draft probability of node 1"):
        recursive_rejection(tree, lambda node: np.array([0.5, 0.5]), Contrary(), 3, 1)


def test_judging_sampled_children_as_if_they_were_fixed_keeps_the_law_and_accepts_less():
    world = world_of((5, 3, 2), (2, 5, 3))
    fixed = law(lambda dice: emission(world, (1,), dice, rule=rejection_walk))
    want = sequence_law(world.target.weights, world.history, 1)
    assert first_tokens_law(fixed, world.target.weights, world.history, 1) == want
    assert sum(p for tokens, p in fixed.items() if len(tokens) == 2) == 31 * TENTHS / 10  # sum of p q, not .7


def test_the_generator_reaches_the_cases_that_show_faults():
    """Shares of worlds, at the root's context, that can expose a faulty rule; each at least 30 %."""
    seen: Counter = Counter()

    @settings(max_examples=300, derandomize=True)
    @given(worlds())
    def look(world):
        p, q = world.target.weights(world.history), world.draft.weights(world.history)
        residual = np.maximum(p - q, 0)
        rejections = law(lambda dice: rejected_in_a_row(p, q, dice))
        seen["worlds"] += 1
        seen["residual of two tokens or more"] += np.count_nonzero(residual) >= 2
        seen["two rejections in a row"] += 2 in rejections
        seen["a proposed token of target probability 0"] += bool(((q > 0) & (p == 0)).any())
        seen["a wanted token of draft probability 0"] += bool(((p > 0) & (q == 0)).any())

    look()
    number = seen.pop("worlds")
    for case, count in seen.items():
        print(f"{case}: {count / number:.0%} of {number} worlds")
        assert count >= 0.3 * number, case
    assert len(seen) == 4


def rejected_in_a_row(p, q, dice) -> int:
    """How many of two sampled children are rejected; written apart from the rule under test."""
    for turn in range(2):
        if not q.any():
            return turn
        q = q / q.sum()
        token = dice.categorical(q, ("draft", turn))
        if dice.accept(min(1, p[token] / q[token]), ("coin", turn)):
            return turn
        p = np.maximum(p - q, 0)
        p = p / p.sum()
        q = np.where(np.arange(len(q)) == token, 0, q)
    return 2
