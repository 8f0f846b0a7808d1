"""What is said about a sampler in the end: exact, refuted or undecided, and what that rests on.

"exact" stands for all worlds that were tried, and the verdict counts what they contained. "refuted" comes with a
`Counterexample`: a world and the two laws there, what came out and what had to. "undecided" comes with the reason:
a verdict is never a guess. Read next: `call.py`.
"""

from collections import Counter
from dataclasses import dataclass, field

from ..law import Number
from ..worlds.decodings import AnyWorld, Decoding, in_words, world_of
from ..worlds.tables import TextLaw, hard_cases

# Where laws are enumerated with floats: total variation that roundings of float32 stay below, and faults far above.
TOLERANCE = 1e-6
# Where they are not enumerated but sampled, in all worlds together:
FALSE_ALARM = 1e-6  # a right sampler is refuted with at most this probability
MISSED = 1e-3  # the stated distance is exceeded somewhere with at most this probability


@dataclass(frozen=True)
class Counterexample:
    """A world in which the law is wrong: the two laws, or what the function did that none of its kind may."""

    world: AnyWorld
    got: TextLaw
    wanted: TextLaw
    broken: str | None = None
    known: str | None = None  # known faults with the same law, if there are any


@dataclass
class Verdict:
    """What was found, and what it rests on."""

    kind: str
    fractions: bool  # True: Fractions were compared with ==; else floats
    bits: int | None = None  # of the uniform numbers, where only the support was judged
    num_samples: int | None = None  # drawn in a world, where nothing was enumerated (`bet.py`)
    status: str = "exact"  # or "refuted", "undecided"
    reason: str = ""  # why undecided
    counterexample: Counterexample | None = None
    num_worlds: int = 0  # that passed
    num_branches: int = 0
    largest_distance: Number = 0  # total variation, over the worlds that passed
    most_tokens: int = 0  # of a vocabulary, in the worlds that passed
    most_drafted: int = 0  # drafts in one call
    most_levels: int = 0  # drafts one behind the other
    hard: Counter = field(default_factory=Counter)  # hard case -> worlds that had it
    samplings: Counter = field(default_factory=Counter)  # what whole decoders were told -> worlds
    corners: list[str] = field(default_factory=list)  # what only rounding, a number of 0 or p = q brings about
    committed: Number = 0  # tokens of a first cycle, expected, summed over worlds
    committed_at_most: Number = 0  # an upper bound of the same for every exact rule
    hangs: AnyWorld | None = None  # where a call did not return

    def add_passed(self, any_world: AnyWorld, distance: Number) -> None:
        """One more world, in which the two laws are so far apart."""
        world = world_of(any_world)
        self.num_worlds += 1
        self.largest_distance = max(self.largest_distance, distance)
        self.most_tokens = max(self.most_tokens, world.vocab_size)
        self.most_drafted = max(self.most_drafted, world.num_drafted)
        self.most_levels = max(self.most_levels, world.num_levels)
        self.hard.update(hard_cases(world))
        if isinstance(any_world, Decoding):
            self.samplings[in_words(any_world.sampling)] += 1
