"""Samplers as other people write them, right and wrong, for the certifier to judge.

They draw from whatever source their kind of code draws from, and know nothing of dice.
"""

import math
import random

import numpy as np
import torch

GENERATOR = np.random.default_rng(0)  # made at import, as much code does

RIGHT = [  # (kind, function) of those whose law is the target's
    *(("chain", name) for name in ("chain_numpy", "chain_generator", "chain_random", "chain_torch")),
    *(("chain", name) for name in ("chain_torch_in_place", "chain_dice", "bonus_forgotten", "one_number_rescaled")),
    ("tree", "match"),
    ("tree-sampled", "recursive"),
    ("tree-iid", "recursive_iid"),
    ("batch", "batch"),
    ("loop", "decoder"),
]


def chain_numpy(draft_tokens, draft_probs, target_probs):
    """Leviathan et al. 2211.17192, with the legacy functions of numpy."""
    out = []
    for place, token in enumerate(draft_tokens):
        if np.random.rand() >= target_probs[place, token] / draft_probs[place, token]:
            residual = np.maximum(target_probs[place] - draft_probs[place], 0)
            return [*out, np.random.choice(len(residual), p=residual / residual.sum())]
        out.append(token)
    return [*out, np.random.choice(target_probs.shape[1], p=target_probs[-1])]


def chain_generator(draft_tokens, draft_probs, target_probs):
    """The same with a Generator, all coins at once, and the token found in cumulative sums."""
    count = len(draft_tokens)
    rows = np.arange(count)
    coins = GENERATOR.random(count) * draft_probs[rows, draft_tokens] < target_probs[rows, draft_tokens]
    kept = count if coins.all() else int(np.argmin(coins))
    weights = target_probs[kept] if kept == count else np.maximum(target_probs[kept] - draft_probs[kept], 0)
    sums = np.cumsum(weights)
    return [*draft_tokens[:kept], np.searchsorted(sums, GENERATOR.uniform(0, sums[-1]), side="right")]


def chain_random(draft_tokens, draft_probs, target_probs):
    """The same with the standard library, coins compared as logarithms."""
    out = []
    for place, token in enumerate(draft_tokens):
        ratio = target_probs[place, token] / draft_probs[place, token]
        if math.log(ratio or 1e-300) < np.log(1 - random.random()):
            residual = np.maximum(target_probs[place] - draft_probs[place], 0)
            return [*out, random.choices(range(len(residual)), weights=residual)[0]]
        out.append(token)
    return [*out, random.choices(range(target_probs.shape[1]), weights=target_probs[-1])[0]]


def chain_torch(draft_tokens, draft_probs, target_probs, in_place=False):
    """The same in float32 tensors, without a loop."""
    q, p = (torch.tensor(rows, dtype=torch.float32) for rows in (draft_probs, target_probs))
    tokens = torch.tensor(draft_tokens)
    rows = torch.arange(len(tokens))
    ratio = p[rows, tokens] / q[rows, tokens]
    if in_place:
        coins = torch.empty_like(ratio)
        coins.uniform_()
    else:
        coins = torch.rand_like(ratio)
    kept = int((~(coins < ratio)).cumsum(-1).eq(0).sum())
    weights = p[kept] if kept == len(tokens) else (p[kept] - q[kept]).clamp(min=0)
    return [*tokens[:kept].tolist(), torch.multinomial(weights / weights.sum(), 1).item()]


def chain_torch_in_place(draft_tokens, draft_probs, target_probs):
    """The same with `uniform_` on a buffer."""
    return chain_torch(draft_tokens, draft_probs, target_probs, in_place=True)


def chain_dice(draft_tokens, draft_probs, target_probs, *, dice):
    """The same with dice that are handed over; with Fractions it is exact."""
    out = []
    for place, token in enumerate(draft_tokens):
        p, q = target_probs[place], draft_probs[place]
        if not dice.accept(min(p[token], q[token]) / q[token], ("coin", place)):
            return [*out, dice.categorical(np.maximum(p - q, 0), ("residual", place))]
        out.append(token)
    return [*out, dice.categorical(target_probs[-1], ("bonus",))]


def one_number_rescaled(draft_tokens, draft_probs, target_probs):
    """One number a call: what a comparison leaves open of it is uniform again, and serves the next one."""
    u, last = random.random(), target_probs[-1]
    for place, token in enumerate(draft_tokens):
        p, q = target_probs[place], draft_probs[place]
        ratio = min(p[token] / q[token], 1)
        if u >= ratio:
            u, last = (u - ratio) / (1 - ratio), np.maximum(p - q, 0)
            draft_tokens = draft_tokens[:place]
            break
        u = u / ratio
    sums = np.cumsum(last)
    return [*draft_tokens, np.searchsorted(sums, u * sums[-1], side="right")]


def residual_from_target(draft_tokens, draft_probs, target_probs):
    """Wrong: after a rejection the token comes from p, not from what is left of it."""
    for place, token in enumerate(draft_tokens):
        if np.random.rand() * draft_probs[place, token] >= target_probs[place, token]:
            return [*draft_tokens[:place], np.random.choice(target_probs.shape[1], p=target_probs[place])]
    return [*draft_tokens, np.random.choice(target_probs.shape[1], p=target_probs[-1])]


def one_coin(draft_tokens, draft_probs, target_probs):
    """Wrong: one coin decides about all drafts."""
    coin = np.random.rand()
    for place, token in enumerate(draft_tokens):
        if coin * draft_probs[place, token] >= target_probs[place, token]:
            residual = np.maximum(target_probs[place] - draft_probs[place], 0)
            return [*draft_tokens[:place], np.random.choice(len(residual), p=residual / residual.sum())]
    return [*draft_tokens, np.random.choice(target_probs.shape[1], p=target_probs[-1])]


def row_too_late(draft_tokens, draft_probs, target_probs):
    """Wrong: each draft is judged by the law one place on."""
    return chain_numpy(draft_tokens, draft_probs, np.concatenate([target_probs[1:], target_probs[-1:]]))


def bonus_forgotten(draft_tokens, draft_probs, target_probs):
    """Nothing follows when all is accepted: a token is given away, and the law is kept all the same."""
    out = chain_numpy(draft_tokens, draft_probs, target_probs)
    return out[:-1] if len(out) > len(draft_tokens) > 0 else out


def match(tokens, parents, target_probs):
    """The target's own draw, followed down the tree."""
    node, out = 0, []
    while True:
        out.append(np.random.choice(target_probs.shape[1], p=target_probs[node]))
        found = [n for n in range(len(tokens)) if parents[n] == node and tokens[n] == out[-1]]
        if not found:
            return out
        node = found[0]


def siblings_not_renormalised(tokens, parents, target_probs):
    """Wrong: each sibling is taken with p(x), though earlier ones were refused."""
    node, out = 0, []
    while True:
        weights = target_probs[node].copy()
        for child in (n for n in range(len(tokens)) if parents[n] == node):
            if np.random.rand() < target_probs[node][tokens[child]]:
                out.append(tokens[child])
                node = child
                break
            weights[tokens[child]] = 0
        else:
            weights = weights if weights.any() else target_probs[node]
            return [*out, np.random.choice(len(weights), p=weights / weights.sum())]


def recursive(tokens, parents, draft_probs, target_probs, replace=False):
    """Recursive rejection (Jeon et al. 2402.14160)."""
    node, out = 0, []
    while True:
        p, q = target_probs[node], draft_probs[node].copy()
        for child in (n for n in range(len(tokens)) if parents[n] == node):
            q, token = q / q.sum(), tokens[child]
            if np.random.rand() * q[token] < p[token]:
                out.append(token)
                node = child
                break
            p = np.maximum(p - q, 0)
            p = p / p.sum()
            q[token] = q[token] if replace else 0
        else:
            return [*out, np.random.choice(len(p), p=p)]


def recursive_iid(tokens, parents, draft_probs, target_probs):
    """The same for children drawn with replacement."""
    return recursive(tokens, parents, draft_probs, target_probs, replace=True)


def batch(draft_tokens, draft_probs, target_probs):
    """Row by row."""
    return [chain_numpy(*row) for row in zip(draft_tokens, draft_probs, target_probs)]


def batch_with_one_coin(draft_tokens, draft_probs, target_probs):
    """Wrong: the rows share their coins, so each has the right law and both together have not."""
    coin = np.random.rand()
    out = []
    for tokens, q, p in zip(draft_tokens, draft_probs, target_probs):
        weights = p[0]
        if len(tokens):
            if coin * q[0, tokens[0]] < p[0, tokens[0]]:
                out.append([tokens[0], np.random.choice(p.shape[1], p=p[1])])
                continue
            weights = np.maximum(p[0] - q[0], 0)
        sums = np.cumsum(weights / weights.sum())
        out.append([np.searchsorted(sums, coin if not len(tokens) else np.random.rand(), side="right")])
    return out


# --- whole decoders ---


def softmax(row):
    weights = np.exp(row - row.max())
    return weights / weights.sum()


def processed(row, sampling):
    """Temperature, top_k, top_p, in this order; ties to the smaller token."""
    law = softmax(row / (sampling.temperature or 1))
    order = np.argsort(-law, kind="stable")
    law[order[1 if sampling.temperature == 0 else sampling.top_k or len(law) :]] = 0
    before = np.cumsum(law[order]) - law[order]
    law[order[before >= sampling.top_p * law.sum()]] = 0
    return law / law.sum()


def decoder(model, drafter, prompt, max_new_tokens, stop, sampling):
    """The match walk in a loop; the children, drawn or not, are only guesses of the next token."""
    text = list(prompt)
    while len(text) < len(prompt) + max_new_tokens:
        tokens, parents, _ = drafter(text)
        node = 0
        while node is not None:
            law = processed(model(text)[-1], sampling)
            text.append(int(np.random.choice(len(law), p=law)))
            if text[-1] in stop or len(text) == len(prompt) + max_new_tokens:
                return text[len(prompt) :]
            found = [n for n in range(len(tokens)) if parents[n] == node and tokens[n] == text[-1]]
            node = found[0] if found else None
    return text[len(prompt) :]


def decoder_past_the_stop(model, drafter, prompt, max_new_tokens, stop, sampling):
    """Wrong: whether a text has ended is asked only where a cycle ends."""
    text = list(prompt)
    while len(text) < len(prompt) + max_new_tokens and (len(text) == len(prompt) or text[-1] not in stop):
        tokens, parents, _ = drafter(text)
        node = 0
        while node is not None:
            law = processed(model(text)[-1], sampling)
            text.append(int(np.random.choice(len(law), p=law)))
            found = [n for n in range(len(tokens)) if parents[n] == node and tokens[n] == text[-1]]
            node = found[0] if found else None
    return text[len(prompt) : len(prompt) + max_new_tokens]


def decoder_without_filter(model, drafter, prompt, max_new_tokens, stop, sampling):
    """Wrong: the first token of a text ignores top_k and temperature."""
    law = softmax(model(prompt)[-1])
    first = int(np.random.choice(len(law), p=law))
    if first in stop or max_new_tokens == 1:
        return [first]
    return [first, *decoder(model, drafter, [*prompt, first], max_new_tokens - 1, stop, sampling)]


# --- what cannot be enumerated ---


def looks_at_the_number(draft_tokens, draft_probs, target_probs):
    return [int(float(np.random.rand()) * target_probs.shape[1])]


def races(draft_tokens, draft_probs, target_probs):
    return [np.argmax(np.log(target_probs[0] + 1e-9) - np.log(-np.log(np.random.rand(target_probs.shape[1]))))]


def draws_exponentials(draft_tokens, draft_probs, target_probs):
    return [torch.argmax(torch.tensor(target_probs[0]) / torch.empty(target_probs.shape[1]).exponential_()).item()]


def seeds(draft_tokens, draft_probs, target_probs):
    torch.manual_seed(0)
    return chain_torch(draft_tokens, draft_probs, target_probs)


CALLS = []


def remembers(draft_tokens, draft_probs, target_probs):
    CALLS.append(1)
    return chain_numpy(draft_tokens, draft_probs, target_probs) if len(CALLS) % 3 else [0]


def draws_without_end(draft_tokens, draft_probs, target_probs):
    while np.random.rand() < 0.5:
        pass
    return [0]
