"""Faulty verifiers of chains: the test of acceptance, the draw after a refusal, drafts that are dropped."""

from fractions import Fraction
from math import exp, floor, log

import numpy as np
import samplers

from eagle_min.exactness.acceptance import rules
from eagle_min.exactness.acceptance.known_faults import struck_out
from eagle_min.exactness.acceptance.rules import chain_by, ratio, residual

from .row import TWO, Faulty, P, Q, first, known, law_of, pair

LOW = Fraction(1, 5)  # drafts of a lower probability are dropped
UNEVEN = law_of(6, 3, 1)  # a draft law with a token to drop
AFTER_A_DROP = law_of(55, 33, 12)  # what becomes of p under it


def typical(p, q, token):
    """Medusa's typical acceptance (2401.10774, section 2.3.1) with its default thresholds."""
    entropy = -sum(float(x) * log(x) for x in p if x)
    return int(p[token] > min(0.09, 0.3 * exp(-entropy)))


def in_eight_bits(p, q, token):
    """Chance of u <= p / q for u = k / 256."""
    return Fraction(min(floor(256 * ratio(p, q, token)) + 1, 256), 256)


def unless_low(p, q, token):
    """No chance for what is dropped."""
    return 0 if q[token] < LOW else ratio(p, q, token)


def p_if_low(p, q, token):
    """A dropped draft leaves the target's own draw."""
    return p if q[token] < LOW else residual(p, q, token)


def stop_after_low(draft_tokens, draft_probs, target_probs, *, dice):
    """Drafting stops behind a token of low probability, which is kept."""
    low = [place for place, token in enumerate(draft_tokens) if draft_probs[place][token] < LOW][:1]
    count = low[0] + 1 if low else len(draft_tokens)
    return rules.token_by_token(draft_tokens[:count], draft_probs[:count], target_probs[: count + 1], dice=dice)


def equality(draft_tokens, draft_probs, target_probs, *, dice):
    """The target draws; a draft is only a guess of what it drew."""
    out = []
    for place, row in enumerate(target_probs):
        out.append(dice.categorical(row, ("target", place)))
        if place == len(draft_tokens) or out[-1] != draft_tokens[place]:
            break
    return out


def by_another_target(change):
    """The right rule, but each law of the target was changed before."""

    def sampler(draft_tokens, draft_probs, target_probs, *, dice):
        return rules.token_by_token(draft_tokens, draft_probs, [change(row) for row in target_probs], dice=dice)

    return sampler


def peak(row):
    """All mass on the likeliest token."""
    law = 0 * row
    law[np.argmax(row)] = 1
    return law


def inverted(row):
    """softmax of -logits: what has no mass gets all of it."""
    weights = 1 * (row == 0) + 0 * row if (row == 0).any() else 1 / row
    return weights / weights.sum()


def place_in_order(row):
    """Where only one token is possible: its place in the order of probability, which is 0."""
    return np.sort(row)[::-1] if np.count_nonzero(row) == 1 else row


ON_BASE = pair(P, Q)
dropping = chain_by(unless_low, p_if_low)

FAULTS = (
    known("A1", "after a refusal the token comes from p", ON_BASE, first(".35", ".39", ".26")),
    known("A2", "q is subtracted at the refused token only", ON_BASE, first("227/560", "27/80", "9/35")),
    known("A8", "every draft is accepted", ON_BASE, first(".2", ".5", ".3")),
    known(
        "r8",
        "accepts with p(x), the rule of drafts that are not random",
        ON_BASE,
        first(".79", ".15", ".06"),
        "by hand: accepted p q = [.1, .15, .06], all that is refused becomes token 0",
    ),
    known("A14", "accepts with 2 p(x) / q(x)", ON_BASE, first(".2", ".5", ".3")),
    Faulty(
        "A9",
        "ratio upside down",
        "chain",
        "textbook slip",
        chain_by(lambda p, q, t: q[t] / p[t] if p[t] else 1, residual),
        ON_BASE,
        first(".2", ".5", ".3"),
    ),
    Faulty(
        "A10",
        "a drawn token of low probability is dropped",
        "chain",
        "ggml-org/llama.cpp PR #22506, ikawrakow/ik_llama.cpp #1820",
        dropping,
        pair(P, UNEVEN),
        dict(zip([(0,), (1,), (2,)], AFTER_A_DROP)),
    ),
    Faulty(
        "F2",
        "tokens of low probability are dropped, in a chain",
        "chain",
        "ggml-org/llama.cpp PR #22506, vllm-project/vllm PR #35301",
        dropping,
        pair(P, UNEVEN, TWO),
        {(a, b): x * y for a, x in enumerate(AFTER_A_DROP) for b, y in enumerate(AFTER_A_DROP)},
        num_cycles=2,
    ),
    Faulty(
        "A11",
        "equality with the target's draw, and a second draw where they differ",
        "chain",
        "claimed in ml-explore/mlx-swift-lm PR #459",
        chain_by(lambda p, q, t: p[t], lambda p, q, t: p),
        ON_BASE,
        first(".445", ".357", ".198"),
    ),
    Faulty(
        "A13",
        "half target, half draft is verified",
        "chain",
        "relaxations: huggingface/transformers PR #45979, youssofal/MTPLX #478",
        chain_by(lambda p, q, t: (p[t] + q[t]) / 2 / q[t], residual),
        ON_BASE,
        first(".35", ".4", ".25"),
    ),
    Faulty(
        "typical",
        "typical acceptance",
        "chain",
        "Medusa (2401.10774), as it is published",
        chain_by(typical, lambda p, q, t: p),
        ON_BASE,
        first(".2", ".5", ".3"),
        "by hand: every token of p is above .09, so every draft is accepted",
    ),
    Faulty(
        "r20",
        "the verifier decodes greedily",
        "chain",
        "sgl-project/sglang PR #31214, #39253; lablup/mlxcel #902",
        by_another_target(peak),
        ON_BASE,
        first("1", "0", "0"),
    ),
    Faulty(
        "r21",
        "greedy rows give a place in sorted columns as token id",
        "chain",
        "vllm-project/vllm-ascend #16396",
        by_another_target(place_in_order),
        pair(law_of(0, 0, 0, 0, 0, 1, 0, 0), law_of(*[1] * 8)),
        {(0,): Fraction(1), (5,): Fraction(0)},
    ),
    Faulty(
        "r22",
        "rows carry temperature -1",
        "chain",
        "vllm-project/tpu-inference PR #2860",
        by_another_target(inverted),
        ON_BASE,
        first("6/31", "10/31", "15/31"),
    ),
    Faulty(
        "r65",
        "coins of eight bits",
        "chain",
        "pytorch-labs/gpt-fast: the acceptance coin is a bfloat16 number",
        chain_by(in_eight_bits, residual),
        ON_BASE,
        first("1277/2560", "77/256", "513/2560"),
        "by hand: .6 becomes 154/256 and 2/3 becomes 171/256",
    ),
)

CONTROLS = (
    Faulty("A0", "p / q and residual", "chain", "Leviathan et al. 2211.17192", samplers.chain_dice, ON_BASE),
    Faulty("A12", "equality with the target's draw", "chain", "mlx-lm; z-lab/dflash #74", equality, ON_BASE),
    Faulty(
        "one-hot-rule",
        "accepts sampled drafts with p(x) and strikes out what it refused",
        "chain",
        "vllm-project/vllm #40149: exact, .31 accepted instead of .7",
        chain_by(lambda p, q, t: p[t], lambda p, q, t: struck_out(p, t)),
        ON_BASE,
    ),
    Faulty("F1", "drafting stops behind an unlikely token", "chain", "llama.cpp", stop_after_low, pair(P, UNEVEN, TWO)),
    Faulty("block", "block verification", "chain", "Sun et al. 2403.10444", rules.block, pair(P, Q, TWO)),
)
