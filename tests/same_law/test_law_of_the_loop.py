"""The whole loop is exact: the joint law of its output is the target's, in fractions, with `==`.

Every sequence of dice answers is visited, over several cycles, with the stopping rule in play. The
wanted law is a product of conditionals, written in `loop_laws.py` and `oracles.py` without the package.
"""

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from loop_laws import assert_exact, conditional, loop_law, wanted_law
from loops import CONTEXT_KINDS, Loop, loops, random_loop
from oracles import token_path
from strategies import fewer

import eagle_min.decode
from eagle_min import generate
from eagle_min.config import TreeConfig
from eagle_min.dice import SeededDice
from eagle_min.verify import rejection_walk


@given(loops(kinds=["chain"], vocab_size=4, most_new=4))
def test_plain_decoding_has_the_target_law(loop):
    assert loop_law(loop) == wanted_law(loop)


@fewer(2)
@given(loops(kinds=CONTEXT_KINDS, vocab_size=4, most_new=4))
def test_loop_has_the_target_law_over_four_tokens(loop):
    assert_exact(loop)


ONE_CHILD = ("0", "00", "000")  # a sampled chain: the rule of 2211.17192, algorithm 1


@pytest.mark.parametrize("paths", [TreeConfig().paths, ONE_CHILD], ids=["tree", "chain"])
def test_loop_over_sampled_children_has_the_target_law(paths):
    @given(loops(kinds=["static_sampled"], most_new=4, max_nodes=4))  # with 3 there is never a second draft
    def check(loop):
        assert_exact(replace(loop, config=replace(loop.config, paths=paths)))

    check()


@fewer(2)
@given(loops(kinds=CONTEXT_KINDS, most_new=4))
def test_loop_with_the_published_rejection_loop_has_the_target_law(loop):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eagle_min.decode, "verify", rejection_walk)
        assert_exact(loop)


def hard_parts(loop: Loop) -> set[str]:
    """What one world puts the loop through, in a few of the outcomes of its dice."""
    found, drafter = set(), loop.drafter()
    for seed in range(5):
        result = generate(loop.target(), loop.world.history, drafter, dice=SeededDice(seed), **loop.options())
        drafted = [cycle for cycle in result.cycles if cycle.tree is not None]
        facts = {
            "two cycles with a tree": len(drafted) >= 2,
            "an accepted token": any(cycle.num_accepted for cycle in drafted),
            "an accepted run cut short": any(len(cycle.tokens) < len(cycle.path) for cycle in drafted),
        }
        found |= {name for name, true in facts.items() if true}
    for history, tree in drafter.seen:
        for node in range(len(tree)):
            found |= hard_parts_of_a_node(loop, history, tree, node)
    return found


def hard_parts_of_a_node(loop: Loop, history: tuple[int, ...], tree, node: int) -> set[str]:
    """How the laws of target and draft meet at one inner node."""
    proposed = [tree.tokens[child] for child in range(1, len(tree)) if tree.parents[child] == node]
    if not proposed:
        return set()
    context = history + token_path(tree.tokens, tree.parents, node)
    p, q = conditional(loop, context), loop.world.draft.weights(context)
    left = [token for token, share in enumerate(p) if share and token not in proposed]
    facts = {
        "a residual of two tokens or more": len(left) >= 2,
        "two rejections in a row": len(proposed) >= 2 and len(left) >= 1,
        "a proposed token the target never takes": any(not p[token] for token in proposed),
        "a wanted token the draft never gives": any(share and not q[token] for token, share in enumerate(p)),
    }
    return {name for name, true in facts.items() if true}


def test_generator_reaches_the_hard_worlds():
    """At least 30 % of worlds have each hard part; the shares are printed."""
    num_worlds = 100
    worlds = [random_loop(random.Random(seed), CONTEXT_KINDS, 4, most_new=4, max_nodes=6) for seed in range(num_worlds)]
    counts = Counter(part for world in worlds for part in hard_parts(world))
    for part, count in sorted(counts.items()):
        print(f"{count / num_worlds:.0%} of worlds have {part}")
    assert len(counts) == 7
    least = {"an accepted run cut short": 0.03}  # only a stop token does it
    assert all(count / num_worlds >= least.get(part, 0.3) for part, count in counts.items())
