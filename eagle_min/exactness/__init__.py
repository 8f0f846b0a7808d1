"""Is it exact? The law of a program in fractions, and what can be built on it.

`law.py` runs a program once for every sequence of dice answers and returns the exact law of its
outcome: a table instead of a histogram, so that two laws are compared with `==` and a
bias of any size shows. Start there. `certify` judges anyone's sampler with it.
"""

from .judge.bet import certify_by_samples
from .judge.search import assert_lossless, certify
from .law import BranchLimit, EnumeratingDice, total_variation

__all__ = ["BranchLimit", "EnumeratingDice", "assert_lossless", "certify", "certify_by_samples", "total_variation"]
