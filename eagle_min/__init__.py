"""eagle_min: EAGLE speculative decoding, small, complete and exact."""

from .checkpoint import ModelSet, load
from .decode import Cycle, Generation, generate, stream

__all__ = ["Cycle", "Generation", "ModelSet", "generate", "load", "stream"]
