"""How good a target is: bits per byte of held-out text, and the share of sums it gets right. And how often a
head and its target agree.

*Bits per byte* does not depend on the vocabulary: the bits the model needs for all tokens of a
text, the END marks between documents included, over the bytes of the documents. The text is
read in windows of the model's context, each half a window on from the last, and a window
scores only the tokens no earlier one has scored. So every token is scored once, and all but
those of the first half window are predicted from at least half a context.

Shapes: B windows, T tokens of a window, V vocabulary. Deliberately left out: any sampling;
all figures are functions of the weights. Read next: `ngram.py`.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..config import require
from ..head import EagleHead
from ..model import GPT
from ..tokenizer import Tokenizer
from .batches import token_stream
from .corpus import Document

BATCH_WINDOWS = 8
BATCH_SUMS = 256


def bits_per_byte(
    target: GPT, documents: Sequence[Document], tokenizer: Tokenizer, max_tokens: int | None = None
) -> float:
    """Held-out bits per byte of `documents`.

    max_tokens: score about so many tokens, in windows spread evenly over the documents; None
    for all of them. ValueError when there is no document or no byte of text among them.
    """
    require(len(documents) > 0, "number of documents", len(documents), "at least 1")
    require(max_tokens is None or max_tokens >= 1, "max_tokens", max_tokens, "at least 1")
    stream = token_stream(documents, tokenizer)
    spans = windows(len(stream), target.context)
    if max_tokens is not None:
        spans = spread(spans, math.ceil(max_tokens / (target.context / 2)))
    bits, num_bytes = 0.0, 0
    for group in same_length(spans, BATCH_WINDOWS):
        bits += window_bits(target, stream, group)
        num_bytes += sum(len(tokenizer.decode_bytes(stream[scored + 1 : end + 1].tolist())) for _, scored, end in group)
    require(num_bytes > 0, "bytes of text", num_bytes, "at least 1")
    return bits / num_bytes


Window = tuple[int, int, int]  # start, first place that scores, end: place i predicts token i + 1


def windows(num_tokens: int, context: int) -> list[Window]:
    """Windows over the num_tokens - 1 predictions of a stream, half a context apart.

    >>> windows(9, 4)
    [(0, 0, 4), (2, 4, 6), (4, 6, 8)]
    """
    num_places, stride = num_tokens - 1, max(1, context // 2)
    spans, scored = [], 0
    for start in range(0, num_places, stride):
        end = min(start + context, num_places)
        spans.append((start, scored, end))
        scored = end
        if end == num_places:
            break
    return spans


def spread(items: Sequence, count: int) -> list:
    """`count` of the items at even distances, all of them when there are no more."""
    if len(items) <= count:
        return list(items)
    return [items[i] for i in np.linspace(0, len(items) - 1, count).round().astype(int)]


def groups_of(size: int, items: Sequence) -> list[list]:
    """The items in runs of `size`, the last one perhaps shorter."""
    return [list(items[i : i + size]) for i in range(0, len(items), size)]


def same_length(spans: Sequence[Window], size: int) -> Iterator[list[Window]]:
    """Groups of at most `size` windows of one length; only a text's last window can be shorter."""
    for length in sorted({end - start for start, _, end in spans}):
        yield from groups_of(size, [span for span in spans if span[2] - span[0] == length])


@torch.inference_mode()
def window_bits(target: GPT, stream: np.ndarray, group: Sequence[Window]) -> float:
    """Bits of all the tokens that the windows of one length score."""
    device = target.lm_head.weight.device
    rows = np.stack([stream[start : end + 1] for start, _, end in group]).astype(np.int64)
    ids = torch.from_numpy(rows).to(device)  # (B, T + 1)
    _, logits = target(ids[:, :-1], torch.arange(ids.shape[1] - 1, device=device))  # (B, T, V)
    nats = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none").double()  # (B, T)
    return sum(float(row[scored - start :].sum()) for row, (start, scored, _) in zip(nats, group)) / math.log(2)


def sum_accuracy(target: GPT, tokenizer: Tokenizer, sums: Sequence[Document], limit: int | None = None) -> float:
    """Share of the documents `a + b = c` whose `a + b =` is continued greedily with c and then
    with a new line or the end of the document. `limit` takes so many, spread evenly.

    ValueError when a document is no sum. Greedy decoding gives the answer exactly when each of
    its tokens is the likeliest one behind the tokens before it, so one pass over the finished
    lines is enough: no token is generated.
    """
    require(len(sums) > 0, "number of sums", len(sums), "at least 1")
    chosen = sums if limit is None else spread(sums, limit)
    newline = [i for i, piece in enumerate(tokenizer.vocabulary) if piece.startswith(b"\n")]
    enders = torch.tensor([*newline, tokenizer.end_id])
    lines = [text for _, text in chosen]
    return sum(answered(target, tokenizer, group, enders) for group in groups_of(BATCH_SUMS, lines)) / len(lines)


@torch.inference_mode()
def answered(target: GPT, tokenizer: Tokenizer, lines: Sequence[str], enders: Tensor) -> int:
    """How many of the lines `a + b = c` the target completes from `a + b =` on."""
    require(all(" = " in line for line in lines), "a sum", next((x for x in lines if " = " not in x), ""), "a + b = c")
    full = [tokenizer.prompt(line) for line in lines]
    starts = [len(tokenizer.prompt(line[: line.index(" = ") + 2])) for line in lines]
    width = max(map(len, full))
    # padding behind a line is never seen by the line: attention is causal
    rows = torch.tensor([ids + [tokenizer.end_id] * (width - len(ids)) for ids in full])
    device = target.lm_head.weight.device
    _, logits = target(rows.to(device), torch.arange(width, device=device))
    guesses = logits.argmax(-1).cpu()  # (B, T): guess for the token after each place
    count = 0
    for ids, guess, start in zip(full, guesses, starts):
        same = guess[start - 1 : len(ids) - 1].tolist() == ids[start:]
        count += bool(same and torch.isin(guess[len(ids) - 1], enders))
    return count


def agreement(target: GPT, head: EagleHead, texts: Sequence[Sequence[int]]) -> float:
    """Share of rows of the texts (token ids each) where the head, given true features, and the target find
    the same token likeliest. ValueError when no text has three tokens."""
    same = [value for ids in texts for value in first_choices(target, head, ids)[1].tolist()]
    require(len(same) > 0, "rows of text", 0, "at least 1")
    return sum(same) / len(same)


@torch.inference_mode()
def first_choices(target: GPT, head: EagleHead, ids: Sequence[int]) -> tuple[Tensor, Tensor]:
    """For each token of a text but the first and the last: the target's largest probability of what follows,
    and whether the head, given true features, finds the same token likeliest. (T - 2,) each, none when T < 3."""
    if len(ids) < 3:
        return torch.zeros(0), torch.zeros(0, dtype=torch.bool)
    tokens = torch.tensor(ids)
    features = target.features(tokens, torch.arange(len(ids)))
    guesses = head(features[:-2], target.embed(tokens[1:-1]), torch.arange(len(ids) - 2))  # of features 1, 2, ...
    largest, first = target.lm_head(features[1:-1]).softmax(-1).max(-1)
    return largest, target.lm_head(guesses).argmax(-1) == first
