"""What every drafter owes the loop, whatever it drafts with: EAGLE's heads and all rivals alike.

That none of them changes the text is the first of the eight properties (tests/same_law/test_eight_properties.py).

Networks have random weights here, so that drafts are often wrong; how well trained ones guess is for the lab.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import CONFIG, drafter_of, random_target, small_tree
from strategies import fewer

from eagle_min import generate, stream
from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.decode import Reading, check_proposal
from eagle_min.dice import SeededDice
from eagle_min.drafters.registry import REGISTRY

SAMPLED = [name for name in REGISTRY if name.endswith("-sampled")]  # they keep the law; the others also the text
SAME_TEXT = [name for name in REGISTRY if name not in SAMPLED]
SMALL = TreeConfig(num_nodes=9, depth=4, top_k=3)

every_drafter = pytest.mark.parametrize("name", REGISTRY)
prompts = st.lists(st.integers(0, CONFIG.vocab_size - 1), min_size=1, max_size=6)
repeating = st.builds(lambda part, count: (part * count)[:12], prompts, st.integers(1, 4))
seeds = st.integers(0, 2)
temperatures = st.sampled_from([0.0, 0.7, 1.0])


@every_drafter
def test_a_tree_fits_whatever_room_there_is(name):
    @fewer(2, fast=8)
    @given(prompts | repeating, seeds, st.integers(1, 9), st.integers(1, 12), temperatures)
    def check(prompt, seed, num_nodes, room, temperature):
        tree = replace(small_tree(name), num_nodes=num_nodes)
        drafter = drafter_of(name, seed, tree)
        assert drafter.num_nodes == num_nodes
        for cycle in stream(random_target(seed), prompt, drafter, max_new_tokens=room, temperature=temperature):
            if cycle.tree is not None:
                check_proposal(cycle.tree, cycle.tree.tokens[0], tree.depth, num_nodes, CONFIG.vocab_size)

    check()


def taught(name: str, seed: int, text: list[int], cuts: list[int]):
    """A draft session that was taught a text in pieces: those that the loop would have read."""
    target, drafter = random_target(seed), drafter_of(name, seed, small_tree(name))
    session, draft = target.start(0, drafter.layers), drafter.start(text[: cuts[0]])
    for start, end in zip([0, *cuts], cuts):
        features, rows = session.read(text[start:end], list(range(start, end)))
        draft.learn(Reading(features, rows, list(range(end - start)), text[start + 1 : end + 1]))
        if start:  # a tree was proposed for each piece but the first
            draft.propose(text[end], 4, SeededDice(0), end, SamplingConfig())
    return draft


MEMORIES = {"lookahead"}  # what they propose depends on the cycles, too, and not on the text alone


@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in MEMORIES])
def test_a_draft_depends_on_the_text_and_not_on_the_pieces_it_came_in(name):
    @fewer(2)
    @given(st.lists(st.integers(0, CONFIG.vocab_size - 1), min_size=4, max_size=10), seeds, st.randoms())
    def check(text, seed, rng):
        whole = len(text) - 1
        cuts = sorted({whole, *(rng.randint(1, whole) for _ in range(2))})
        trees = [
            taught(name, seed, text, pieces).propose(text[-1], 4, SeededDice(1), 99, SamplingConfig(1.0))
            for pieces in ([whole], cuts)
        ]
        assert (trees[0].tokens, trees[0].parents) == (trees[1].tokens, trees[1].parents)

    check()


@every_drafter
def test_two_sequences_at_once_do_not_disturb_each_other(name):
    @fewer(4, fast=3)
    @given(prompts | repeating, prompts | repeating, seeds)
    def check(first, second, seed):
        target, drafter = random_target(seed), drafter_of(name, seed, small_tree(name))
        how = {"max_new_tokens": 9, "temperature": 1.0, "seed": 3}
        alone = [
            generate(target, prompt, drafter_of(name, seed, small_tree(name)), **how) for prompt in (first, second)
        ]
        streams = [stream(target, prompt, drafter, **how) for prompt in (first, second)]
        cycles: list[list] = [[], []]
        waiting = [0, 1]
        while waiting:
            for number in list(waiting):
                cycle = next(streams[number], None)
                if cycle is None:
                    waiting.remove(number)
                else:
                    cycles[number].append(cycle)
        assert [[c.tokens for c in cs] for cs in cycles] == [[c.tokens for c in each.cycles] for each in alone]

    check()
