"""Where a law cannot be enumerated: real random numbers, and a test whose error rates are stated.

The evidence against a sampler is a bet. A gambler knows the target's law p. Before each text he stakes on it with q:
what he has counted so far, smoothed towards p. His capital is then multiplied by q(text) / p(text). If texts do
come from p he gains nothing on average, so his capital ever reaches 1 / a with probability at most a, however
long he plays and whenever he stops (Ville's inequality; Waudby-Smith and Ramdas 2010.09686). A sampler is
refuted when it does, and at once by a text that p forbids.

A sampler that is not refuted is not proved right. What is stated then is a bound: with so many samples of k possible
texts, the law is within the distance of Weissman et al. ("Inequalities for the L1 deviation of the empirical
distribution", 2003) of what was counted. Read next: `report.py`.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import Phase, given, settings

from ...config import require, require_seed
from ...dice import Dice, Name
from ..law import Limits, Number, total_variation
from ..worlds.decodings import AnyWorld
from ..worlds.tables import Text, TextLaw
from .call import BrokenContract
from .kinds import KINDS
from .sampler import Sampler
from .search import SEARCH
from .verdict import FALSE_ALARM, MISSED, Counterexample, Verdict


class DrawnDice:
    """Dice that are really thrown; names are not looked at.

    The function under test may draw from a generator that starts from the same seed. Were this another one of the
    same kind, a draft and the coin that accepts it would be one number. So numbers come from Philox (see
    `dice.uniform`) under a key that nobody else has: the seed, and these letters.
    """

    def __init__(self, seed: int) -> None:
        key = seed << 64 | int.from_bytes(b"drafted", "big")
        self.generator = np.random.Generator(np.random.Philox(key=key))

    def accept(self, probability: Number, name: Name) -> bool:
        return bool(self.generator.random() < probability)

    def categorical(self, weights: np.ndarray, name: Name) -> int:
        shares = np.asarray(weights, dtype=np.float64)
        return int(self.generator.choice(len(shares), p=shares / shares.sum()))


class UnwatchedSampler(Sampler):
    """The function under test with the random sources it was written for."""

    def invoke(self, dice: Dice, arguments: Sequence, more: dict) -> object:
        return self.function(*arguments, **more)


class Evidence:
    """What has been seen in one world, and the capital of who bets against the target's law."""

    def __init__(self, wanted: TextLaw) -> None:
        self.wanted = {text: float(chance) for text, chance in wanted.items() if chance}
        self.seen: Counter[Text] = Counter()
        self.total, self.log_capital = 0, 0.0

    def add(self, text: Text) -> None:
        """One more text."""
        chance, cells = self.wanted.get(text, 0.0), len(self.wanted)
        if chance == 0:
            self.log_capital = math.inf
        else:
            stake = (self.seen[text] + cells * chance) / (self.total + cells)
            self.log_capital += math.log(stake / chance)
        self.seen[text] += 1
        self.total += 1

    def law(self) -> TextLaw:
        """Shares of the texts."""
        return {text: count / self.total for text, count in self.seen.items()}

    def distance(self, risk: float) -> float:
        """Total variation to the target's law that is exceeded with probability at most `risk`. Whatever the target
        forbids counts as one text more: the sampler's law may have some of it, though none has come."""
        spread = math.sqrt(2 / self.total * ((len(self.wanted) + 1) * math.log(2) - math.log(risk)))
        return min(1.0, total_variation(self.law(), self.wanted) + spread / 2)


def drawn_worlds(strategy: object, count: int) -> list[AnyWorld]:
    """The first worlds that Hypothesis draws, the same ones each time."""
    found: list[AnyWorld] = []

    def keep(world: AnyWorld) -> None:
        found.append(world)

    settings(SEARCH, max_examples=count, phases=[Phase.generate])(given(strategy)(keep))()
    return found


def gather(sampler: Sampler, world: AnyWorld, dice: Dice, num_samples: int, enough: float) -> Evidence:
    """Texts, until there are `num_samples` of them or the logarithm of the capital is `enough`."""
    evidence = Evidence(sampler.kind.laws.wanted(world))
    while evidence.total < num_samples and evidence.log_capital < enough:
        evidence.add(sampler.kind.laws.one_text(sampler, world, dice))
    return evidence


def certify_by_samples(
    function: Callable, kind: str, num_samples: int, *, num_worlds: int = 10, seed: int = 0
) -> Verdict:
    """Judge `function` by `num_samples` texts in each world. The verdict is "refuted" or "undecided", never
    "exact"; error rates as this module says. `seed` is that of the drafts; the function draws from its own
    generators. ValueError for an unknown kind or a number out of range."""
    require(kind in KINDS, "kind", kind, f"one of {', '.join(KINDS)}")
    require(num_worlds >= 1, "worlds", num_worlds, "at least 1")
    require(num_samples >= 1, "sample", num_samples, "at least 1")
    require_seed(seed)
    sampler, dice = UnwatchedSampler(function, KINDS[kind], exact=False, limits=Limits()), DrawnDice(seed)
    verdict = Verdict(kind, fractions=False, num_samples=num_samples)
    worlds, furthest = drawn_worlds(KINDS[kind].drawn, num_worlds), 0.0
    enough = math.log(len(worlds) / FALSE_ALARM)
    for world in worlds:
        try:
            evidence = gather(sampler, world, dice, num_samples, enough)
        except BrokenContract as error:
            verdict.status, verdict.counterexample = "refuted", Counterexample(world, {}, {}, str(error))
            return verdict
        if evidence.log_capital >= enough:
            verdict.status, verdict.num_samples = "refuted", evidence.total
            verdict.counterexample = Counterexample(world, evidence.law(), evidence.wanted)
            return verdict
        verdict.num_worlds += 1
        furthest = max(furthest, evidence.distance(MISSED / len(worlds)))
    verdict.status = "undecided"
    verdict.reason = (
        f"not refuted by {num_samples} samples in each of {len(worlds)} worlds; with probability {1 - MISSED:g} "
        f"no law there is further than {furthest:.3f} from the target's (total variation). Samples prove nothing"
    )
    return verdict
