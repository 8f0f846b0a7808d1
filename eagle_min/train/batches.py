"""Windows of tokens in a fixed mixture of domains, all of a domain visited once an epoch.

Encoding the text takes a minute, so the arrays are kept beside the folders of the runs.
Which windows a step gets is a function of (seed, step) alone: a run that was stopped goes on
with the windows it would have had. Read next: `muon.py`.
"""

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..files import write_atomically
from ..tokenizer import Tokenizer
from . import corpus
from .corpus import Document

DOMAINS = ("code", "prose", "sums")
PROSE_SHARE = 0.21  # of what is no sums


def token_stream(documents: Sequence[Document], tokenizer: Tokenizer) -> np.ndarray:
    """All documents as one uint16 array, END before each and after the last."""
    encoded = tokenizer.encoding.encode_ordinary_batch([text for _, text in documents], num_threads=2)
    pieces = [np.array([tokenizer.end_id, *ids], dtype=np.uint16) for ids in encoded]
    return np.concatenate([*pieces, np.array([tokenizer.end_id], dtype=np.uint16)])


def versions() -> dict[str, str]:
    """Of Python and of the packages whose source is the text."""
    packages = ("torch", "numpy", "hypothesis", "pytest", "tiktoken")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def training_streams(tokenizer: Tokenizer, folder: Path) -> dict[str, np.ndarray]:
    """The training text of each domain as tokens, read from `folder` if it was encoded before
    with this vocabulary, from these versions of the packages and by these rules."""
    rules = Path(corpus.__file__).read_text(encoding="utf-8")
    key = hashlib.sha256(repr((tokenizer.vocabulary, versions(), rules)).encode()).hexdigest()[:16]
    paths = {domain: folder / f"{domain}-{key}.npy" for domain in DOMAINS}
    if not all(path.exists() for path in paths.values()):
        text = corpus.load_corpus().train
        for domain, path in paths.items():
            stream = token_stream(text[domain], tokenizer)
            write_atomically(path, partial(np.save, arr=stream))
    return {domain: np.load(path) for domain, path in paths.items()}


@dataclass(frozen=True)
class Batches:
    """`batches[step]` is (rows, seq_len + 1) token ids: inputs and, one on, their successors."""

    streams: dict[str, np.ndarray]
    seq_len: int
    batch_tokens: int
    sums_share: float
    end_id: int
    seed: int = 0

    def rows(self, num_steps: int) -> dict[str, int]:
        """Windows of each domain in so many steps together: whole numbers that keep the shares, however
        small a batch is; code takes what is left."""
        total = num_steps * (self.batch_tokens // self.seq_len)
        sums = int(self.sums_share * total)
        prose = int(PROSE_SHARE * (1 - self.sums_share) * total)
        return {"code": total - sums - prose, "prose": prose, "sums": sums}

    def __getitem__(self, step: int) -> Tensor:
        before, after = self.rows(step), self.rows(step + 1)
        windows = [self.window(domain, i) for domain in DOMAINS for i in range(before[domain], after[domain])]
        return torch.from_numpy(np.stack(windows).astype(np.int64))

    def window(self, domain: str, number: int) -> np.ndarray:
        """The `number`-th window of a domain: each epoch visits all of them in its own order,
        cut at an offset of its own.

        A window that would begin less than a window behind the beginning of a document begins there
        instead: a prompt, too, is a document from its END on, with nothing before it.
        """
        stream, size = self.streams[domain], self.seq_len
        per_epoch = (len(stream) - 1) // size - 1
        if per_epoch < 1:
            raise ValueError(f"the {domain} text has {len(stream)} tokens: too few for windows of {size}")
        epoch, place = divmod(number, per_epoch)
        offset, order = cuts(size, per_epoch, self.seed, DOMAINS.index(domain), epoch)
        start = offset + int(order[place]) * size
        behind = max(0, start - size + 1)
        begins = np.flatnonzero(stream[behind : start + 1] == self.end_id)
        start = behind + int(begins[-1]) if len(begins) else start
        return stream[start : start + size + 1]


@lru_cache(maxsize=8)
def cuts(size: int, per_epoch: int, *seed: int) -> tuple[int, np.ndarray]:
    """Where an epoch begins to cut, and the order of its windows."""
    rng = np.random.default_rng(seed)
    return int(rng.integers(size)), rng.permutation(per_epoch)
