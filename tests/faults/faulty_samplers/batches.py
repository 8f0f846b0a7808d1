"""Faults between the sequences of a batch: laws, tokens, coins and rows of one that reach another."""

import numpy as np
import samplers

from eagle_min.exactness.acceptance.rules import chain_by
from eagle_min.exactness.worlds.tables import batch

from .row import BASE, THREE_LAWS, Faulty, after, first, world


def by_reversed(p, q, token):
    """The ratio, with the draft law of another row: here q in reverse."""
    return p[token] / q[::-1][token] if q[::-1][token] else 1


def drafts_of_the_last(draft_tokens, draft_probs, target_probs):
    """All rows of the target in one array, cut as if each sequence had as many drafts as the last one."""
    rows, out = [row for sequence in target_probs for row in sequence], []
    for number, (tokens, q) in enumerate(zip(draft_tokens, draft_probs)):
        start = number * (len(draft_tokens[-1]) + 1)
        out.append(samplers.chain_numpy(tokens, q, np.array(rows[start : start + len(tokens) + 1])))
    return out


def neighbours_resample(p, q, *, dice):
    """Two sequences of a batch, each with a draft. The tokens drawn after the accepted ones are written with
    `tokens[:, kept] = drawn`, in every row at the places of all. The first sequence is returned."""
    kept, drawn, tokens = [], [], []
    for row in range(2):
        token = dice.categorical(q(()), ("draft", row))
        accepted = dice.accept(min(p(())[token] / q(())[token], 1), ("coin", row))
        weights = p((token,)) if accepted else np.maximum(p(()) - q(()), 0)
        kept.append(int(accepted))
        drawn.append(dice.categorical(weights, ("last", row)))
        tokens.append([token, None])
    for place, token in zip(kept, drawn):
        tokens[0][place] = token
    return tokens[0][: kept[0] + 1]


FAULTS = (
    Faulty(
        "r23",
        "judged by the draft law of another row",
        "chain",
        "1CatAI/1Cat-vLLM #656",
        chain_by(by_reversed, lambda p, q, t: np.maximum(p - q[::-1], 0)),
        world(BASE),
        first(".4", ".3", ".3"),
        "by hand: accepted [.2, .3, .3], what is refused becomes token 0",
    ),
    Faulty(
        "r24",
        "a token drawn for one row lands in another",
        "step",
        "Dao-AILab/flash-attention PR #2779",
        neighbours_resample,
        world(BASE),
        first(".65", ".21", ".14"),
        "by hand: an accepted draft stays with .7, else it becomes the neighbour's 0",
    ),
    Faulty(
        "r45",
        "every sequence is taken to have as many drafts as the last",
        "batch",
        "vllm-project/vllm PR #7508; HabanaAI/vllm-fork PR #1780",
        drafts_of_the_last,
        batch(*THREE_LAWS, (1, 0)),
        after(None, None, chances=".13 .62 .25"),
        "by hand: the second sequence reads the row behind the first one's draft 0, 1 or 2, the third, third or second",
    ),
    Faulty(
        "one-coin-rows",
        "the sequences of a batch share their coins",
        "batch",
        "beginner: each row has the right law, both together have not",
        samplers.batch_with_one_coin,
        batch(*BASE, (1, 0)),
        after(1, None, chances=".25 .05 0"),
        "by hand: a coin that accepts 1 is below .6; in the second sequence it means 0 below .5 and 1 below .8",
    ),
)
