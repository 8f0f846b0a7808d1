"""One cycle over tables: a tree is proposed or drawn, a rule verifies it, and these tokens come of it."""

import numpy as np
from oracles import token_path
from strategies import TableModel, World

from eagle_min.dice import draft_draw
from eagle_min.tree import DraftTree
from eagle_min.verify import match_walk, rejection_walk, verify


def match(tree, law_at, dice, position, cycle):
    """The match walk, called as the other rules are: its draws are named by position and need no cycle."""
    return match_walk(tree, law_at, dice, position)


FIXED_TREE_RULES = {"match_walk": match, "rejection_walk": rejection_walk, "verify": verify}


def emitted(tree: DraftTree, outcome) -> tuple[int, ...]:
    """The tokens one cycle commits; `outcome` is what a rule returned, (path, bonus)."""
    path, bonus = outcome
    return (*token_path(tree.tokens, tree.parents, path[-1]), bonus)


def cycles(world: World, propose, rule, number: int, dice) -> tuple[int, ...]:
    """The tokens of `number` cycles; `propose(history, dice, cycle)` makes the trees."""
    history = world.history
    for cycle in range(number):
        tree = propose(history, dice, cycle)
        history += emitted(tree, rule(tree, world.law_at(tree, history), dice, len(history), cycle))
    return history[len(world.history) :]


def sampled_tree(draft, history, widths, dice, cycle) -> DraftTree:
    """Draw children without replacement, level by level: what static_sampled does, for any widths."""
    tokens, parents, laws, level = [history[-1]], [-1], {}, [0]
    for width in widths:
        level, expanded = [], level
        for node in expanded:
            laws[node] = draft(history + token_path(tokens, parents, node))
            weights = laws[node].copy()
            for rank in range(min(width, np.count_nonzero(weights))):
                token = dice.categorical(weights, draft_draw(cycle, node, rank))
                weights[token] = 0
                tokens.append(token)
                parents.append(node)
                level.append(len(tokens) - 1)
    return DraftTree(tuple(tokens), tuple(parents), (0.0,) * len(tokens), laws)


def emission(world: World, widths, dice, history=None, cycle=0, rule=verify) -> tuple[int, ...]:
    """The tokens of one cycle with sampled children: draw a tree, verify it."""
    history = world.history if history is None else history
    tree = sampled_tree(world.draft.weights, history, widths, dice, cycle)
    return emitted(tree, rule(tree, world.law_at(tree, history), dice, len(history), cycle))


def world_of(target, draft) -> World:
    """A world with one law of the target and one of the draft, given as integer weights."""
    return World(TableModel((tuple(target),)), TableModel((tuple(draft),)), (0,))
