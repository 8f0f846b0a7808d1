"""The options of experiments: how each is written, read and checked, described once.

    count("prefixes", 500, "held-out prefixes")     --prefixes N, an integer of at least 1
    names("domains", "domain", DOMAINS, "...")      --domains a,b or all: names with commas between them

A value is read by argparse and then checked, before anything is loaded or measured. Read next: `experiment.py`.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..config import SamplingConfig, require, require_seed


@dataclass(frozen=True)
class Option:
    """An option of the command line; `max_new_tokens` is written `--max-new-tokens`, unless `flag` says otherwise."""

    name: str
    default: object = None
    help: str | None = None
    read: Callable[[str], object] = str  # the word on the command line -> a value; `bool`: a switch without a word
    check: Callable[[object], object] = lambda value: value  # -> what the experiment is given; ValueError for a bad one
    flag: str | None = None

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Declare it."""
        how = {"action": "store_true"} if self.read is bool else {"type": self.read, "default": self.default}
        flag = self.flag or "--" + self.name.replace("_", "-")
        parser.add_argument(flag, dest=self.name, help=self.help, **how)


def count(name: str, default: int | None, help: str) -> Option:
    """A number of things, at least 1; None where it was not given and has no default."""

    def check(value: int | None) -> int | None:
        require(value is None or value >= 1, name, value, "at least 1")
        return value

    return Option(name, default, help, int, check)


def seed(help: str | None = None) -> Option:
    """A seed from which others are counted on."""

    def check(value: int) -> int:
        require_seed(value)
        return value

    return Option("seed", 0, help, int, check)


def names(name: str, what: str, known: Sequence[str], help: str) -> Option:
    """Some of the `known` names, which are `what`s: a list."""

    def check(text: str) -> list[str]:
        chosen = split_list(text, known)
        for each in chosen:
            require(each in known, what, each, f"one of {', '.join(known)}")
        return chosen

    return Option(name, "all", help, check=check)


def temperatures(default: str, help: str | None = None) -> Option:
    """A list of temperatures, each finite and at least 0."""

    def number(word: str) -> float:
        try:
            return float(word)
        except ValueError as error:
            raise ValueError(f"temperature must be finite and at least 0, got {word!r}") from error

    def check(text: str) -> list[float]:
        return [SamplingConfig(number(word)).temperature for word in split_list(text)]

    return Option("temperatures", default, help, check=check)


def split_list(text: str, everything: Sequence[str] = ()) -> list[str]:
    """`a,b` -> [a, b], repetitions dropped; `all` stands for everything, if there is such."""
    return list(everything) if text == "all" and everything else list(dict.fromkeys(map(str.strip, text.split(","))))


MODEL = Option("model", "tiny", "shipped set of models, or a folder")
HEAD = Option("head", "eagle", "head of the set")
SEED = seed()
