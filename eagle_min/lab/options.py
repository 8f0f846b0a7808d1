"""Lists on the command line: names and numbers with commas between them.

Read next: `compare.py`.
"""

from collections.abc import Sequence

from ..config import require


def split_list(text: str, everything: Sequence[str] = ()) -> list[str]:
    """`a,b` -> [a, b], repetitions dropped; `all` stands for everything, if there is such."""
    return list(everything) if text == "all" and everything else list(dict.fromkeys(map(str.strip, text.split(","))))


def split_names(text: str, what: str, known: Sequence[str]) -> list[str]:
    """As `split_list`. ValueError for a name that is none of the `known` ones, which are `what`s."""
    names = split_list(text, known)
    for name in names:
        require(name in known, what, name, f"one of {', '.join(known)}")
    return names


def split_temperatures(text: str) -> list[float]:
    """Numbers, their range not yet checked (`SamplingConfig` does). ValueError for a word that is no number."""
    return [to_number(word) for word in split_list(text)]


def to_number(word: str) -> float:
    """A temperature written as text."""
    try:
        return float(word)
    except ValueError as error:
        raise ValueError(f"temperature must be finite and at least 0, got {word!r}") from error
