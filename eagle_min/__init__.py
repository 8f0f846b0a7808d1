"""eagle_min: EAGLE speculative decoding, small, complete and exact."""

from .decode import Cycle, Generation, generate, stream
from .models import ModelSet, load

__all__ = ["Cycle", "Generation", "ModelSet", "generate", "load", "stream"]
