"""Faulty verifiers of trees: children that are a function of the context, sampled children, batches."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import samplers

from eagle_min.exactness.acceptance import rules
from eagle_min.exactness.worlds.tables import Table

from .row import BASE, SECOND, SIBLINGS, Faulty, P, Q, after, first, known, law_of, on_second_pair, world


def children_of(tokens, parents, node):
    """The nodes below one."""
    return [n for n in range(len(tokens)) if parents[n] == node]


def rejection_loop(stale=False):
    """EAGLE-2's loop. `stale`: when a later sibling was accepted at the last level, the bonus comes from what
    was left of the row above."""

    def sampler(tokens, parents, target_probs, *, dice):
        node, out, weights, adjusted = 0, [], target_probs[0], False
        while below := children_of(tokens, parents, node):
            weights, adjusted = target_probs[node].copy(), False
            for child in below:
                token = int(tokens[child])
                if dice.accept(weights[token] / weights.sum(), ("coin", child)):
                    out.append(token)
                    node = child
                    break
                weights[token], adjusted = 0, True
            else:
                return [*out, dice.categorical(weights, ("rest", node))]
        kept = stale and adjusted and weights.any()
        return [*out, dice.categorical(weights if kept else target_probs[node], ("bonus", node))]

    return sampler


def running_sum(threshold):
    """SGLang's rule: one coin a node, compared with the sum of p over the children so far, over `threshold`."""

    def sampler(tokens, parents, target_probs):
        node, out = 0, []
        while True:
            coin, reached, weights = np.random.rand(), 0 * target_probs[node][0], target_probs[node].copy()
            for child in children_of(tokens, parents, node):
                reached += weights[tokens[child]]
                if coin * threshold < reached:
                    out.append(int(tokens[child]))
                    node = child
                    break
                weights[tokens[child]] = 0
            else:
                return [*out, int(np.random.choice(len(weights), p=weights / weights.sum()))]

    return sampler


def recursive_by(order, repeated=False):
    """Recursive rejection of the children that `order(children, tokens, q, dice)` gives, in that order."""

    def sampler(tokens, parents, draft_probs, target_probs, *, dice):
        node, out = 0, []
        while True:
            p, q = target_probs[node], draft_probs[node].copy()
            for child in order(children_of(tokens, parents, node), tokens, q, dice):
                token, q = int(tokens[child]), q / q.sum()
                if dice.accept(min(p[token], q[token]) / q[token], ("coin", child)):
                    out.append(token)
                    node = child
                    break
                left = np.maximum(p - q, 0)
                p = left / left.sum() if left.any() else p
                q[token] = q[token] if repeated else 0
            else:
                return [*out, dice.categorical(p, ("rest", node))]

    return sampler


def likeliest_first(below, tokens, q, dice):
    return sorted(below, key=lambda child: -q[tokens[child]])


def best_only(below, tokens, q, dice):
    return likeliest_first(below, tokens, q, dice)[:1]


def without_repeats(below, tokens, q, dice):
    return [child for n, child in enumerate(below) if tokens[child] not in tokens[below[:n]]]


def any_order(below, tokens, q, dice):
    left, found = list(below), []
    while left:
        found.append(left.pop(dice.categorical(np.array([1] * len(left)), ("order", below[0], len(left)))))
    return found


BONUS = Table((P, law_of(8, 1, 1))), Table((Q,))  # the second law behind token 2
ON_SIBLINGS = world(BASE, SIBLINGS)  # tokens 1 and 2 where children are not drawn

C7 = Faulty(
    "C7",
    "sampled siblings are tried likeliest first",
    "tree-iid",
    "ggml-org/llama.cpp PR #5625",
    recursive_by(likeliest_first, repeated=True),
    ON_SIBLINGS,
    first(".41", ".45", ".14"),
)

FAULTS = (
    known("C1", "p stays as it is after a refusal", ON_SIBLINGS, first(".28", ".468", ".252")),
    known(
        "siblings",
        "siblings are not renormalised after a refusal",
        ON_SIBLINGS,
        first(".56", ".3", ".14"),
        "by hand: 1 with .3, then 2 with .7 * .2, all the rest is token 0",
    ),
    Faulty(
        "C11",
        "stale bonus after a later sibling was accepted",
        "tree",
        "SafeAILab/EAGLE, batched `modeling_eagle.py`",
        rejection_loop(stale=True),
        world(BONUS, SIBLINGS),
        after(2, chances="1/7 0 2/35"),  # 2 comes with .2, then [5/7, 0, 2/7]
    ),
    Faulty(
        "r26",
        "running sum over a threshold of one half",
        "tree",
        "SGLang's accept thresholds below 1",
        running_sum(Fraction(1, 2)),
        ON_SIBLINGS,
        first("0", ".6", ".4"),
        "by hand: 1 where u / 2 < .3, else 2 where u / 2 < .5, which is always",
    ),
    known("C5", "siblings are judged by the raw q", world(SECOND, SIBLINGS), first("699/1960", "673/1960", ".2", ".1")),
    C7,
    on_second_pair(C7, first("111/280", "369/1400", ".18", ".16"), SIBLINGS),
    replace(
        C7,
        name="siblings drawn without replacement are tried likeliest first",
        kind="tree-sampled",
        sampler=recursive_by(likeliest_first),
        law=first("109/280", "141/280", "3/28"),
        source="by hand: 1 is first with 235/280, else 2; accepted with 3/5 and 2/3, the rest is token 0",
    ),
    Faulty(
        "C8",
        "the better of two drawn tokens is judged as one draw",
        "tree-iid",
        "apple/ml-recurrent-drafter #6: a beam-search winner",
        recursive_by(best_only),
        ON_SIBLINGS,
        first(".41", ".45", ".14"),
    ),
    Faulty(
        "repeats",
        "repeated draws are skipped, the others judged as independent",
        "tree-iid",
        "beginner: the other half of control C6",
        recursive_by(without_repeats, repeated=True),
        world(SECOND, SIBLINGS),
        first("209/560", "183/560", ".2", ".1"),
        "by hand: residual [3/4, 1/4] after one refusal, [13/14, 1/14] after two",
    ),
)

CONTROLS = (
    Faulty(
        "C0",
        "EAGLE-2's loop",
        "tree",
        "disputed in SafeAILab/EAGLE #110, #183, #221, #301, #329",
        rejection_loop(),
        ON_SIBLINGS,
    ),
    Faulty("C2'", "running sum", "tree", "SGLang with thresholds of 1", running_sum(1), ON_SIBLINGS),
    Faulty(
        "C3",
        "recursive rejection, independent children",
        "tree-iid",
        "SpecInfer 2305.09781",
        samplers.recursive_iid,
        ON_SIBLINGS,
    ),
    Faulty(
        "C4",
        "recursive rejection",
        "tree-sampled",
        "Jeon et al. 2402.14160; asked about in SafeAILab/EAGLE #74",
        samplers.recursive,
        ON_SIBLINGS,
    ),
    Faulty(
        "C6",
        "repeated draws are skipped, the others judged without replacement",
        "tree-iid",
        "Jeon et al.",
        recursive_by(without_repeats),
        ON_SIBLINGS,
    ),
    Faulty(
        "any-order",
        "independent children in an order of its own",
        "tree-iid",
        "llama.cpp",
        recursive_by(any_order, repeated=True),
        ON_SIBLINGS,
    ),
    Faulty(
        "traversal", "traversal verification", "tree-sampled", "Weng et al. 2505.12398", rules.traversal, ON_SIBLINGS
    ),
    Faulty("K-SEQ", "K-SEQ", "tree-iid", "SpecTr 2310.15141", rules.k_seq, ON_SIBLINGS),
    Faulty(
        "match",
        "the target's own draw, followed down the tree",
        "tree",
        "the equality rule on trees",
        samplers.match,
        ON_SIBLINGS,
    ),
)
