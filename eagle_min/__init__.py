"""eagle_min: EAGLE speculative decoding, small, complete and exact.

`load` needs torch and is imported when it is first asked for (PEP 562); the loop itself knows no network.
"""

from importlib import import_module

from .decode import Cycle, Generation, generate, stream

__all__ = ["Cycle", "Generation", "ModelSet", "generate", "load", "stream"]
LATER = {"ModelSet": ".drafters.model_set", "load": ".drafters.model_set"}


def __getattr__(name: str) -> object:
    """A name of LATER, from its module."""
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATER[name], __name__), name)
