"""A drafter whose network passes and seconds are counted; the trees it drafts are the same.

Read next: `timing.py`.
"""

import copy
import time
from collections.abc import Sequence

import numpy as np

from ...config import SamplingConfig
from ...decode import Drafter, DraftSession, Reading
from ...dice import Dice
from ...grow import Expand
from ...head import Grow
from ...tree import DraftTree


class CountedDrafter:
    """Stands for `drafter` and notes what drafting took, over all its sequences."""

    def __init__(self, drafter: Drafter) -> None:
        self.num_nodes, self.layers = drafter.num_nodes, drafter.layers
        self.forget()
        self.drafter = copy.copy(drafter)
        self.has_grower = hasattr(drafter, "grow")
        if self.has_grower:
            self.drafter.grow = self._counting(drafter.grow)
        self.one_pass = hasattr(drafter, "network") and not self.has_grower  # it guesses all levels at once

    def forget(self) -> None:
        """Begin to count and to time anew."""
        self.seconds, self.num_cycles, self.num_passes = 0.0, 0, 0

    def _counting(self, grow: Grow) -> Grow:
        """The same grower; each of its questions is one pass of the network, the first one that over true rows."""

        def counted(root: int, expand: Expand, *limits: object) -> DraftTree:
            def ask(*question: list[int]) -> np.ndarray:
                self.num_passes += 1
                return expand(*question)

            return grow(root, ask, *limits)

        return counted

    def start(self, prompt_ids: Sequence[int]) -> "CountedSession":
        begin = time.perf_counter()
        session = CountedSession(self, self.drafter.start(prompt_ids))
        self.seconds += time.perf_counter() - begin
        return session

    @property
    def per_cycle(self) -> tuple[float, float]:
        """Seconds and network passes of a cycle, means over all of them; none yet: 0."""
        count = max(1, self.num_cycles)
        return self.seconds / count, (self.num_cycles if self.one_pass else self.num_passes) / count


class CountedSession:
    """One sequence of a counted drafter."""

    def __init__(self, counts: CountedDrafter, session: DraftSession) -> None:
        self.counts, self.session = counts, session

    def learn(self, reading: Reading) -> None:
        begin = time.perf_counter()
        self.session.learn(reading)
        self.counts.seconds += time.perf_counter() - begin

    def propose(self, root: int, depth: int, dice: Dice, cycle: int, sampling: SamplingConfig) -> DraftTree:
        begin = time.perf_counter()
        tree = self.session.propose(root, depth, dice, cycle, sampling)
        self.counts.seconds += time.perf_counter() - begin
        self.counts.num_cycles += 1
        return tree
