"""eagle_min: EAGLE speculative decoding, small, complete and exact."""

from .decode import Cycle, Generation, generate, stream
from .drafters.model_set import ModelSet, load

__all__ = ["Cycle", "Generation", "ModelSet", "generate", "load", "stream"]
