"""Where measuring starts: random places in held-out text, and the shipped prompts.

Long greedy runs of a small model fall into loops, and a loop flatters every drafter. So tau is
measured where no loop has begun: a random stretch of held-out text is the prompt, and only the
first cycles behind it count. Each file is as likely as any other, whatever its length: one long
file has no more weight than a short one, and resampling files (`measures.bootstrap`) is resampling
what was drawn. The stretch is cut out of the tokens of the whole document, so that it looks
like the windows the target was trained on.

Held-out sums are single lines; a document of sums is a dozen of them, as in training.
Read next: `measures.py`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...config import require
from ...drafters.model_set import shipped_prompts
from ...tokenizer import Tokenizer
from ...train.corpus import Document

DOMAINS = ("code", "prose", "sums")
SHORTEST, LONGEST_PREFIX = 32, 384  # tokens
LINES_OF_SUMS = 12


class Prefix(NamedTuple):
    """Token ids that decoding starts from, and the held-out file they were cut from."""

    file: str
    ids: list[int]


def held_out_prefixes(
    domain: str,
    documents: Sequence[Document],
    tokenizer: Tokenizer,
    count: int,
    seed: int,
    longest: int = LONGEST_PREFIX,
) -> list[Prefix]:
    """`count` prefixes of SHORTEST to `longest` tokens, a function of the arguments alone.

    Each draws a file, a length and a place, all evenly. Files that are too short are left out;
    ValueError when none is long enough.
    """
    require(count >= 1, "number of prefixes", count, "at least 1")
    require(longest >= SHORTEST, "longest prefix", longest, f"at least {SHORTEST} tokens")
    rng = np.random.default_rng([seed, *domain.encode()])
    if domain == "sums":
        documents = sheets(documents, rng)
    encoded = [(name, tokenizer.prompt(text)) for name, text in documents]
    files = [(name, ids) for name, ids in encoded if len(ids) >= SHORTEST]
    require(len(files) > 0, f"held-out {domain} files of {SHORTEST} tokens or more", 0, "at least 1")
    prefixes = []
    for _ in range(count):
        name, ids = files[rng.integers(len(files))]
        length = int(rng.integers(SHORTEST, min(longest, len(ids)) + 1))
        end = int(rng.integers(length, len(ids) + 1))
        prefixes.append(Prefix(name, ids[end - length : end]))
    return prefixes


def with_room(context: int) -> int:
    """The longest prefix behind which a window of `context` tokens has room for some cycles."""
    return min(LONGEST_PREFIX, 3 * context // 4)


def sheets(lines: Sequence[Document], rng: np.random.Generator) -> list[Document]:
    """Lines of sums in random order, LINES_OF_SUMS to a document, each line used once."""
    texts = [lines[i][1] for i in rng.permutation(len(lines))]
    starts = range(0, len(texts), LINES_OF_SUMS)
    return [(f"sums/sheet {i}", "\n".join(texts[start : start + LINES_OF_SUMS])) for i, start in enumerate(starts)]


def prompt_ids(domain: str, tokenizer: Tokenizer, count: int) -> list[list[int]]:
    """The first `count` shipped prompts of a domain as token ids, all when there are fewer."""
    require(domain in DOMAINS, "domain", domain, f"one of {', '.join(DOMAINS)}")
    require(count >= 1, "number of prompts", count, "at least 1")
    return [tokenizer.prompt(text) for text in shipped_prompts()[domain][:count]]
