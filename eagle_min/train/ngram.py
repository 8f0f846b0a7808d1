"""Two yardsticks for the target: an interpolated 5-gram model and `lzma`.

The n-gram model reads the same token ids as the target, so that both answer the same question.
It interpolates all orders in the way of Witten and Bell (Bell, Cleary and Witten, *Text
Compression*, 1990; method C): with c(h w) the count of token w behind history h, c(h) the sum
of it over w, and T(h) the number of different tokens seen behind h,

    P(w | h) = (c(h w) + T(h) P(w | h')) / (c(h) + T(h)),   h' = h without its oldest token,

P(w | h') alone where h was never seen, and 1 / V below the shortest history. Each P(. | h) sums
to one when P(. | h') does, hence all do; `test_evaluate.py` checks it.

Five ids of 10 bits fit into one 64-bit key; sorted distinct keys with their counts replace any
dictionary, and a look-up is a binary search. Deliberately left out: pruning, other smoothings.
Read next: `../show/terminal.py`.
"""

import lzma
import math
from collections.abc import Sequence

import numpy as np

from ..config import require
from .corpus import Document

ID_BITS = 10  # token ids are below 1024
MAX_ORDER = 64 // ID_BITS


class Counts:
    """Sorted distinct keys, and how often each occurred."""

    def __init__(self, keys: np.ndarray, weights: np.ndarray | None = None) -> None:
        """keys: sorted uint64, repeated; weights: how much each counts (one when None)."""
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        self.keys = keys[first]
        if weights is None:
            self.counts = np.diff(np.append(first, len(keys)))
        else:
            self.counts = np.add.reduceat(weights, first)

    def of(self, keys: np.ndarray) -> np.ndarray:
        """Counts of other keys, 0 where a key never occurred."""
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.counts[places], 0)


def pack(stream: np.ndarray, length: int) -> np.ndarray:
    """Every run of `length` ids as one key, the oldest id in the highest bits; (n - length + 1,)."""
    num_runs = len(stream) - length + 1
    keys = np.zeros(num_runs, dtype=np.uint64)
    for offset in range(length):
        keys <<= np.uint64(ID_BITS)
        keys |= stream[offset : offset + num_runs].astype(np.uint64)
    return keys


class NGram:
    """Counts of all runs of 1 to `order` tokens of a training stream."""

    def __init__(self, stream: np.ndarray, order: int = 5, vocab_size: int = 1 << ID_BITS) -> None:
        """stream: (n,) token ids. ValueError for ids or orders that do not fit, or too few tokens."""
        require(1 <= order <= MAX_ORDER, "order", order, f"between 1 and {MAX_ORDER}")
        require(len(stream) >= order, "length of the training stream", len(stream), f"at least the order, {order}")
        require(1 <= vocab_size <= 1 << ID_BITS, "vocab_size", vocab_size, f"between 1 and {1 << ID_BITS}")
        self.order, self.vocab_size = order, vocab_size
        self.check(stream)
        self.levels = [self.count(pack(stream, length)) for length in range(1, order + 1)]

    def check(self, stream: np.ndarray) -> None:
        """ValueError unless every id is inside the vocabulary."""
        require(int(stream.max()) < self.vocab_size, "token id", int(stream.max()), f"below {self.vocab_size}")
        require(int(stream.min()) >= 0, "token id", int(stream.min()), "at least 0")

    @staticmethod
    def count(keys: np.ndarray) -> tuple[Counts, Counts, Counts]:
        """Of the runs h w of one length: c(h w), c(h) and T(h)."""
        keys.sort()
        runs = Counts(keys)
        histories = runs.keys >> np.uint64(ID_BITS)  # sorted still
        return runs, Counts(histories, runs.counts), Counts(histories)

    def probabilities(self, stream: np.ndarray) -> np.ndarray:
        """(n,) ids -> (n - 1,) float64: P of each token but the first, given those before it.

        A token with fewer predecessors than the order asks for is judged by the orders that fit.
        """
        require(len(stream) >= 2, "length of the stream", len(stream), "at least 2")
        self.check(stream)
        result = np.full(len(stream) - 1, 1.0 / self.vocab_size)
        for length, (runs, totals, kinds) in enumerate(self.levels, start=1):
            keys = pack(stream, length)[length == 1 :]  # the first token is not judged
            if len(keys) == 0:
                break
            lower = result[-len(keys) :]  # a view
            histories = keys >> np.uint64(ID_BITS)
            total, kind = totals.of(histories), kinds.of(histories)
            seen = total > 0
            mixed = runs.of(keys) + kind * lower
            lower[seen] = mixed[seen] / (total + kind)[seen]
        return result

    def bits(self, stream: np.ndarray) -> float:
        """Bits of all tokens of a held-out stream but its first, which is an END."""
        return float(-np.log(self.probabilities(stream)).sum() / math.log(2))


def lzma_bits_per_byte(documents: Sequence[Document]) -> float:
    """What `lzma` at its strongest makes of the documents, end to end, in bits a byte."""
    text = "".join(text for _, text in documents).encode()
    require(len(text) > 0, "bytes of text", len(text), "at least 1")
    return 8 * len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)) / len(text)
