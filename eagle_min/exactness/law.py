"""The exact law of a program that asks dice: run it once for every sequence of answers.

A program here is a function of a `Dice`. Its first run gets the first possible answer to every
question; each later run repeats an earlier one up to some question and answers that one
differently. The probability of a run is the product of the probabilities of its answers, and that
of an outcome is the sum over the runs that end in it. With Fraction weights all of this is exact,
and a bias of any size shows, where a histogram of a hundred thousand runs misses small ones.

Cost: one run per sequence of answers, so a few tokens of a vocabulary of 3 or 4. Programs must be
functions of their dice: state that is kept between runs shows up as a changed question and raises.
Read next: `no_verdict.py`.
"""

import math
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from ..config import require
from ..dice import Dice, Name, check_probability, check_weights
from .no_verdict import NoVerdict

Outcome = TypeVar("Outcome", bound=Hashable)
Number = Fraction | float  # a Fraction where arithmetic is exact

MAX_QUESTIONS = 1000  # of one run: a loop that always goes on would never come to its end


class HiddenState(NoVerdict):
    """The program did something else after the same answers: it depends on more than its dice."""


class BranchLimit(NoVerdict):
    """The program has more sequences of answers than allowed."""


@dataclass
class Question:
    """One question of a run, with the answers of probability above 0 and which is being given."""

    name: Name
    answers: list[int | bool]
    probabilities: list[Number]
    given: int = 0

    def __str__(self) -> str:
        return f"{self.name!r} with {len(self.answers)} answers"


class EnumeratingDice:
    """Dice that follow a script of questions and append to it; see `Dice` for the protocol.

    RuntimeError when a name comes twice in a run; `HiddenState` when the program asks something else
    than it asked after the same answers before.
    """

    def __init__(self, script: list[Question]) -> None:
        self.script = script
        self.asked: set[Name] = set()

    def accept(self, probability: Number, name: Name) -> bool:
        check_probability(probability)
        [probability] = _exact(np.array([probability]))
        return bool(self._answer(name, [True, False], [probability, 1 - probability]))

    def categorical(self, weights: np.ndarray, name: Name) -> int:
        weights = np.asarray(weights)
        check_weights(weights)
        values = _exact(weights)
        total = sum(values)
        probabilities = values if total == 1 else [value / total for value in values]
        return int(self._answer(name, list(range(len(values))), probabilities))

    def _answer(self, name: Name, answers: list, probabilities: list[Number]) -> int | bool:
        if name in self.asked:
            raise RuntimeError(f"draw {name!r} was already used in this run")
        possible = [(a, p) for a, p in zip(answers, probabilities) if p > 0]
        fresh = Question(name, [a for a, _ in possible], [p for _, p in possible])
        turn = len(self.asked)
        self.asked.add(name)
        if turn == len(self.script):
            if turn == MAX_QUESTIONS:
                raise BranchLimit(f"a run of the program asks more than {MAX_QUESTIONS} questions")
            self.script.append(fresh)
        question = self.script[turn]
        asked_before = (question.name, question.answers, question.probabilities)
        if asked_before != (fresh.name, fresh.answers, fresh.probabilities):
            raise HiddenState(f"hidden state: asked {fresh} where an earlier run asked {question}")
        return question.answers[question.given]


@dataclass(frozen=True)
class Limits:
    """How much may be spent on one law."""

    max_branches: int = 200_000  # sequences of answers
    max_seconds: float = math.inf
    call_seconds: float = 10.0  # of one call of a function under test (see `judge/call.py`)

    def __post_init__(self) -> None:
        require(self.max_branches >= 1, "max_branches", self.max_branches, "at least 1")
        for name in ("max_seconds", "call_seconds"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")


def branches(
    program: Callable[[Dice], Outcome], limits: Limits | None = None, num_runs: int = 1
) -> Iterator[tuple[Outcome, Number]]:
    """Outcome and probability of each sequence of answers, depth first.

    `num_runs` above 1 runs each sequence so often; `HiddenState` when the runs differ. `BranchLimit` when
    one of the limits is reached.
    """
    limits, script = limits or Limits(), []
    num_branches, start = 0, time.monotonic()
    while True:
        num_branches += 1
        if num_branches > limits.max_branches:
            raise BranchLimit(f"the program has more than {limits.max_branches} sequences of answers")
        if time.monotonic() - start > limits.max_seconds:
            raise BranchLimit(f"{num_branches} sequences of answers took more than {limits.max_seconds:g} seconds")
        outcomes = [_follow(program, script) for _ in range(num_runs)]
        if any(outcome != outcomes[0] for outcome in outcomes):
            raise HiddenState(f"hidden state: the same answers gave {outcomes[0]!r} and then {outcomes[-1]!r}")
        probability: Number = Fraction(1)
        for question in script:
            probability *= question.probabilities[question.given]
        yield outcomes[0], probability
        # Depth first: give the next answer to the last question that has one left.
        while script and script[-1].given == len(script[-1].answers) - 1:
            script.pop()
        if not script:
            return
        script[-1].given += 1


def _follow(program: Callable[[Dice], Outcome], script: list[Question]) -> Outcome:
    """One run, which appends to the script what it asks beyond it."""
    dice = EnumeratingDice(script)
    outcome = program(dice)
    if len(dice.asked) < len(script):
        raise HiddenState(f"hidden state: an earlier run went on to ask {script[len(dice.asked)]}")
    return outcome


def law(program: Callable[[Dice], Outcome], max_branches: int = 200_000) -> dict[Outcome, Number]:
    """The law of `program`'s outcome, which must be hashable.

    Probabilities are Fractions when all weights are integers or Fractions. BranchLimit when there
    are more than `max_branches` sequences of answers.

    >>> law(lambda dice: dice.accept(Fraction(1, 3), ("coin",)))
    {True: Fraction(1, 3), False: Fraction(2, 3)}
    """
    result: dict[Outcome, Number] = {}
    for outcome, probability in branches(program, Limits(max_branches)):
        result[outcome] = result.get(outcome, 0) + probability
    return result


def total_variation(a: dict[Outcome, Number], b: dict[Outcome, Number]) -> Number:
    """Half the sum of |a - b|: the largest difference the two laws give to any event."""
    return sum(abs(a.get(key, 0) - b.get(key, 0)) for key in {**a, **b}) / 2


def _exact(values: np.ndarray) -> list[Number]:
    """Python numbers; integers become Fractions, so that their quotients stay exact."""
    return [Fraction(value) if isinstance(value, int) else value for value in values.tolist()]
