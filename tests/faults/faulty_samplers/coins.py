"""Faulty verifiers of chains: coins that serve twice or compare wrongly, rows of another place, blocks."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import samplers

from eagle_min.exactness.acceptance import rules
from eagle_min.exactness.acceptance.rules import chain_by, ratio, residual

from .row import SECOND, TWO, TWO_LAWS, Faulty, P, Q, after, first, known, law_of, on_second_pair, pair, world

THREE = law_of(4, 4, 2)  # residuals of two tokens need a target with two tokens above the draft
BY_TEXT = world(TWO_LAWS)  # behind tokens 0 and 2 comes the second law, behind 1 the first


def recovered(p, q, token):
    """Weights of the draw from (p - q)+ when its exponential race has the noise that drew `token` from q.

    Token j is proposed at time e_j / q_j and recovered at e_j / r_j, earliest first. Given the proposal and its
    time M, which is exponential of rate 1, e_j is q_j M and a fresh exponential: in the recovery j starts at
    time M q_j / r_j, with rate r_j. Among those that race the chances are those of the rates; the chance that
    none has come by the next start is exp(-c M), whose mean is 1 / (1 + c).
    """
    r, chances = residual(p, q, token), 0 * p
    order = sorted((j for j in range(len(r)) if r[j] > 0), key=lambda j: q[j] / r[j])
    for count, last in enumerate(order, 1):
        racing, later = order[:count], order[count : count + 1]
        rate, head_start = sum(r[j] for j in racing), sum(q[j] for j in racing)
        reached = 1 / (1 + rate * q[last] / r[last] - head_start)
        left = sum(1 / (1 + rate * q[j] / r[j] - head_start) for j in later)
        for j in racing:
            chances[j] += r[j] / rate * (reached - left)
    return chances


def one_number(draft_tokens, draft_probs, target_probs):
    """One uniform number accepts or refuses, and then finds the token of the residual."""
    for place, token in enumerate(draft_tokens):
        u = np.random.rand()
        if not u * draft_probs[place][token] < target_probs[place][token]:
            sums = np.cumsum(np.maximum(target_probs[place] - draft_probs[place], 0))
            return [*draft_tokens[:place], next(i for i, reached in enumerate(sums) if u * sums[-1] < reached)]
    return [*draft_tokens, np.random.choice(len(target_probs[-1]), p=target_probs[-1])]


def inclusive(draft_tokens, draft_probs, target_probs):
    """`u <= p / q` where `u < p / q` is right."""
    for place, token in enumerate(draft_tokens):
        if np.random.rand() * draft_probs[place][token] > target_probs[place][token]:
            rest = np.maximum(target_probs[place] - draft_probs[place], 0)
            return [*draft_tokens[:place], np.random.choice(len(rest), p=rest / rest.sum())]
    return [*draft_tokens, np.random.choice(len(target_probs[-1]), p=target_probs[-1])]


def first_never_tested(draft_tokens, draft_probs, target_probs, *, dice):
    """Draft i + 1 is judged by row i, draft 0 by none."""
    tail = rules.token_by_token(draft_tokens[1:], draft_probs[1:], target_probs[:-1], dice=dice)
    return [int(draft_tokens[0]), *tail]


def rejected_stays(draft_tokens, draft_probs, target_probs, *, dice):
    """The rejected draft is not taken back before the next token is written."""
    out = rules.token_by_token(draft_tokens, draft_probs, target_probs, dice=dice)
    kept = len(out) - 1
    return out if kept == len(draft_tokens) else [*out[:-1], int(draft_tokens[kept]), out[-1]]


def bonus_of_the_row_before(draft_tokens, draft_probs, target_probs, *, dice):
    """Two tokens from one row."""
    rows = [*target_probs[:-1], target_probs[-2]]
    return rules.token_by_token(draft_tokens, draft_probs, rows, dice=dice)


def block_by(threshold=True, adjusted=True, stop=False):
    """Block verification, changed: without h, with the plain residual, or with a stop at the first refusal."""

    def sampler(draft_tokens, draft_probs, target_probs, *, dice):
        count, rho, kept = len(draft_tokens), target_probs[0].sum(), 0
        rests = [np.maximum(target_probs[0] - draft_probs[0], 0)]
        for place, token in enumerate(draft_tokens, 1):
            rho = min(1, rho * ratio(target_probs[place - 1], draft_probs[place - 1], token))
            chance = rho
            if place < count:
                p, q = target_probs[place], draft_probs[place]
                mass = np.maximum(rho * p - q, 0).sum()
                rests.append(np.maximum((rho if adjusted else 1) * p - q, 0))
                if threshold:
                    chance = mass / (mass + 1 - rho) if mass + 1 - rho > 0 else 1
            if dice.accept(chance, ("coin", place)):
                kept = place
            elif stop:
                break
        weights = target_probs[-1] if kept == count else rests[kept]
        weights = weights if weights.any() else target_probs[kept]
        return [*map(int, draft_tokens[:kept]), dice.categorical(weights, ("bonus", kept))]

    return sampler


B1 = Faulty(
    "B1",
    "one uniform number accepts and recovers",
    "chain",
    "vllm-project/vllm-ascend PR #16370",
    one_number,
    pair(THREE, law_of(1, 1, 8)),
    first(".3", ".5", ".2"),
)
B3 = Faulty(
    "B3",
    "one noise vector proposes and recovers",
    "chain",
    "vllm-project/vllm PR #47386, #54282",
    chain_by(ratio, recovered),
    pair(THREE, law_of(3, 1, 6)),
    first("16/45", "4/9", "1/5"),
)
B6 = Faulty(
    "B6",
    "inclusive comparison, coins of 2 bits",
    "chain",
    "sgl-project/sglang #35771; EAGLE's `r <= acp`; Sequoia; gpt-fast's `rand > a` in bfloat16",
    inclusive,
    pair(law_of(1, 1, 0), law_of(0, 0, 1)),  # the target forbids what is drafted
    first("3/8", "3/8", "1/4"),
    bits=2,
)

FAULTS = (
    Faulty(
        "A16",
        "the first draft is never tested",
        "chain",
        "ohdearquant/lattice #243; openvinotoolkit/openvino.genai PR #2331",
        first_never_tested,
        pair(P, law_of(0, 1, 0)),
        first("0", "1", "0"),
    ),
    known(
        "late",
        "each draft is judged by the law one place on",
        BY_TEXT,
        first(".3", ".3", ".4"),
        "by hand: 0 is accepted with 1/2 and else becomes 2; 1 with 3/5 and else becomes 0; 2 always",
    ),
    Faulty(
        "r47",
        "the bonus comes from the row before",
        "chain",
        "deepseek-ai/DeepSeek-V3 PR #1536: two tokens from one row",
        bonus_of_the_row_before,
        BY_TEXT,
        after(2, chances=".1 .06 .04"),
        "by hand: 2 is accepted with .2, then the bonus has the first law",
    ),
    Faulty(
        "r46",
        "the rejected draft stays in the text",
        "chain",
        "lucidrains/speculative-decoding #3; romsto/Speculative-Decoding #1",
        rejected_stays,
        pair(P, Q),
        first(".2", ".5", ".3"),
        "by hand: the first token is always the draft",
    ),
    B1,
    on_second_pair(B1, first("13/40", "3/8", "1/5", "1/10")),
    B3,
    on_second_pair(B3, first("13/30", "4/15", "1/5", "1/10")),
    B6,
    replace(B6, name="inclusive comparison, coins of 8 bits", law={(2,): Fraction(1, 256)}, bits=8),
    Faulty(
        "one-coin",
        "one coin decides about all drafts",
        "chain",
        "beginner",
        samplers.one_coin,
        pair(P, Q, TWO),
        after(1, chances=".06 .15 .09"),
        "by hand: a coin that accepts 1 is below 3/5 and accepts every draft behind it",
    ),
    Faulty(
        "G-a",
        "a block is accepted by its joint ratio",
        "chain",
        "vllm-project/vllm-ascend #7807, #7839",
        block_by(threshold=False),
        pair(P, Q, TWO),
        first("26/75", "2/5", "19/75"),
    ),
    Faulty(
        "G-c",
        "block verification stops at the first refusal",
        "chain",
        "asked for by a review of vllm-project/vllm-ascend PR #11985",
        block_by(stop=True),
        pair(P, Q, TWO),
        first("57/70", "1/10", "3/35"),
    ),
    Faulty(
        "r18",
        "block verification with the residual of a single token",
        "chain",
        "vllm-project/vllm-ascend #7807, #7839",
        block_by(adjusted=False),
        world(SECOND, TWO),
        after(2, chances="27/400 29/400"),
        "by hand: 2 alone is kept with .05, then 0 and 1 come as 3 to 1, where all should be 0",
    ),
)
