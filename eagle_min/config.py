"""Every decision that shapes a model, a tree or a sampler, one frozen field each.

A config checks itself when it is made, so that a bad value is refused where it enters
and nowhere else. Read next: `sampling.py`.
"""

import math
from dataclasses import dataclass
from numbers import Integral


def require(condition: bool, what: str, value: object, allowed: str) -> None:
    """Raise ValueError `what must be allowed, got value` unless `condition` holds."""
    if not condition:
        raise ValueError(f"{what} must be {allowed}, got {value!r}")


def is_count(value: object) -> bool:
    """True for an integer of at least 1, numpy's too; True itself is none."""
    return isinstance(value, Integral) and not isinstance(value, bool) and value >= 1


def require_seed(seed: int) -> None:
    """A seed from which others are counted on: it leaves room for them below 2**64."""
    require(0 <= seed < 2**63, "seed", seed, "between 0 and 2**63 - 1")


LARGEST = 10**9  # parameters: a model of this package fits into memory
LONGEST = 2**20  # tokens of a context: so do its tables and its cache


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a Llama-like model; an EAGLE head is one layer of the same `width`."""

    vocab_size: int = 512
    width: int = 128  # D, the residual stream
    num_layers: int = 24
    num_heads: int = 2  # H, each width / num_heads wide
    hidden: int = 352  # inner width of the SwiGLU
    context: int = 512  # the most tokens a sequence may have, prompt included
    rope_base: float = 10000.0
    norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        for name in ("vocab_size", "width", "num_layers", "num_heads", "hidden", "context"):
            value = getattr(self, name)
            require(is_count(value), name, value, "an integer of at least 1")
        for name in ("rope_base", "norm_eps"):
            value = getattr(self, name)
            good = type(value) in (int, float) and 0 < value <= LARGEST
            require(good, name, value, f"above 0 and at most {LARGEST}")
        size = 2 * self.vocab_size * self.width + self.num_layers * self.width * (4 * self.width + 3 * self.hidden)
        for what, value, most in (("parameters", size, LARGEST), ("context", self.context, LONGEST)):
            require(value <= most, what, value, f"at most {most}")
        even = self.width % (2 * self.num_heads) == 0
        require(even, "width", self.width, f"a multiple of 2 x num_heads ({2 * self.num_heads})")

    @property
    def head_dim(self) -> int:
        return self.width // self.num_heads


# EAGLE-1's tree (2401.15077 appendix A.1, "picked by intuition"), one for all models: each
# string is a path of child ranks. 25 draft nodes in level order, five head passes.
EAGLE1_PATHS = "0 1 2 3 00 01 02 10 11 20 21 30 000 001 002 010 011 020 021 100 0000 0001 0002 00000 00001"


@dataclass(frozen=True)
class TreeConfig:
    """How a draft tree is grown. `num_nodes` counts the root (EAGLE-2's `total_token`)."""

    num_nodes: int = 24
    depth: int = 7  # longest draft, in tokens below the root
    top_k: int = 8  # children scored per node, and nodes expanded per level
    min_confidence: float = 0.0  # confidence: nodes below it are left out; 0 is EAGLE-2's tree
    ratio_threshold: float = 3.0  # ratio rule: p1 / p2 above it makes a chain
    paths: tuple[str, ...] = tuple(EAGLE1_PATHS.split())  # static: the shape, in level order

    def __post_init__(self) -> None:
        for name in ("num_nodes", "depth", "top_k"):
            require(is_count(getattr(self, name)), name, getattr(self, name), "at least 1")
        require(0 <= self.min_confidence <= 1, "min_confidence", self.min_confidence, "between 0 and 1")
        ok = math.isfinite(self.ratio_threshold) and self.ratio_threshold >= 1
        require(ok, "ratio_threshold", self.ratio_threshold, "finite and at least 1")
        before = {"": -1} | {path: place for place, path in enumerate(self.paths)}
        for place, path in enumerate(self.paths):
            good = (
                path.isascii() and path.isdecimal() and before[path] == place and before.get(path[:-1], place) < place
            )
            require(good, "path of a static tree", path, "digits, each once, and behind the path of its parent")
        require(sorted(map(len, self.paths)) == list(map(len, self.paths)), "paths", self.paths, "in level order")


@dataclass(frozen=True)
class SamplingConfig:
    """From logits to the law of the next token. Temperature 0 is greedy decoding."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float = 1.0

    def __post_init__(self) -> None:
        ok = math.isfinite(self.temperature) and self.temperature >= 0
        require(ok, "temperature", self.temperature, "finite and at least 0")
        require(self.top_k is None or is_count(self.top_k), "top_k", self.top_k, "at least 1")
        require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and at most 1")
