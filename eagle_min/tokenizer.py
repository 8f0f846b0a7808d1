"""Byte-pair encoding: merges learned here, run by tiktoken.

A vocabulary is a list of byte strings; the index of a string is its token id. The first 256
are the single bytes, so every text can be encoded, and each later entry joins two earlier
ones. One special token, END, separates documents; it has the last id and no bytes of its
own: text that spells it out is encoded like any other text.

Deliberately left out: any download. tiktoken gets the ranks from the shipped file.
Read next: `model.py`.
"""

import base64
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import tiktoken

# Text is first cut into words, and no token crosses a cut: a word with the space before it,
# one digit (so that sums are spelled digit by digit), a run of signs, a newline with the
# indentation that follows it, other white space.
PATTERN = r" ?[A-Za-z_]+|[0-9]| ?[^\sA-Za-z_0-9]+|\n *|\s"
END = "<|end|>"


class Tokenizer:
    """Text to token ids and back, for one vocabulary of byte strings."""

    def __init__(self, vocabulary: Sequence[bytes]) -> None:
        ranks = {piece: rank for rank, piece in enumerate(vocabulary)}
        self.vocabulary = list(vocabulary)
        self.end_id = len(ranks)
        self.encoding = tiktoken.Encoding(
            "eagle_min", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={END: self.end_id}
        )

    @property
    def vocab_size(self) -> int:
        return self.end_id + 1

    @property
    def sha256(self) -> str:
        """Of the vocabulary in its order: models trained with another one do not fit."""
        return hashlib.sha256(b"".join(len(piece).to_bytes(4, "big") + piece for piece in self.vocabulary)).hexdigest()

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; END spelled out in it is plain text."""
        return self.encoding.encode_ordinary(text)

    def prompt(self, text: str) -> list[int]:
        """The ids a generation starts from: END (a document begins here), then the text."""
        return [self.end_id, *self.encode(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; bytes that are no UTF-8 (a character cut in two) become U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", errors="replace")

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes of `ids`, END left out; KeyError for an id outside the vocabulary."""
        return b"".join(self.encoding.decode_single_token_bytes(i) for i in ids if i != self.end_id)


def save_vocabulary(vocabulary: Sequence[bytes], path: Path) -> None:
    """One line a token: base64 of its bytes and its rank, the format tiktoken's files have. Never half a file."""
    lines = [f"{base64.b64encode(piece).decode()} {rank}" for rank, piece in enumerate(vocabulary)]
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text("\n".join(lines) + "\n", encoding="ascii")
    temporary.replace(path)


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a file of ranks; ValueError naming the file when it is not one."""
    try:
        rows = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
        ranks = {base64.b64decode(piece, validate=True): int(rank) for piece, rank in rows}
    except (UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"{path} is not a file of token ranks") from error
    if sorted(ranks.values()) != list(range(len(rows))) or not all(bytes([b]) in ranks for b in range(256)):
        raise ValueError(f"{path} is not a file of token ranks: a rank or a single byte is missing")
    return Tokenizer(sorted(ranks, key=ranks.__getitem__))


def learn_vocabulary(texts: Iterable[str], vocab_size: int) -> list[bytes]:
    """Learn `vocab_size - 1` byte strings (END takes the last id) from `texts`.

    Byte-pair merging (Sennrich et al. 1508.07909): join the most frequent pair of neighbours,
    ties to the smaller pair of ids, until the vocabulary is full. Pair counts are kept between
    merges and changed only in the words that hold the merged pair.
    """
    counts = Counter(word for text in texts for word in re.findall(PATTERN, text))
    words = [(list(word.encode()), count) for word, count in sorted(counts.items())]
    pairs: Counter = Counter()
    where: defaultdict = defaultdict(set)  # pair -> indices of the words that hold it
    for index, (ids, count) in enumerate(words):
        for pair in zip(ids, ids[1:]):
            pairs[pair] += count
            where[pair].add(index)
    vocabulary = [bytes([byte]) for byte in range(256)]
    while len(vocabulary) < vocab_size - 1 and pairs:
        best = max(pairs, key=lambda pair: (pairs[pair], -pair[0], -pair[1]))
        for index in where.pop(best):
            ids, count = words[index]
            for pair in zip(ids, ids[1:]):
                pairs[pair] -= count
            ids[:] = merge(ids, best, len(vocabulary))
            for pair in zip(ids, ids[1:]):
                pairs[pair] += count
                where[pair].add(index)
        pairs += Counter()  # drop the pairs whose count fell to zero
        vocabulary.append(vocabulary[best[0]] + vocabulary[best[1]])
    return vocabulary


def merge(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Replace each occurrence of `pair` from the left: merge([1, 2, 1, 2], (1, 2), 9) -> [9, 9]."""
    merged: list[int] = []
    for token in ids:
        if merged and (merged[-1], token) == pair:
            merged[-1] = new_id
        else:
            merged.append(token)
    return merged
