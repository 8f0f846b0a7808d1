"""Is it exact? The law of a program in fractions, and a judge of anyone's sampler that is built on it.

`law.py` runs a program once for every sequence of dice answers and returns the exact law of its outcome: a table
instead of a histogram, so that two laws are compared with `==` and a bias of any size shows. `certify` judges a
sampler with it. What judges needs torch and Hypothesis, and is imported when it is first asked for (PEP 562): who
wants the law of a program alone needs neither. Read the README of this folder first.
"""

from importlib import import_module

from .law import BranchLimit, EnumeratingDice, total_variation

__all__ = ["BranchLimit", "EnumeratingDice", "assert_lossless", "certify", "certify_by_samples", "total_variation"]
LATER = {"assert_lossless": ".judge.search", "certify": ".judge.search", "certify_by_samples": ".judge.bet"}


def __getattr__(name: str) -> object:
    """A name of LATER, from its module."""
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATER[name], __name__), name)
