"""Every door through which a Python program gets its random numbers, and dice behind each.

Inside `watched()` the functions of `random`, `numpy.random` and torch that draw are others. Outside, all
is as before, whatever happened in between. Read next: `worlds.py`.
"""

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .arrays import LazyTensor
from .sources import CURRENT, NumpySource, PythonSource, even, filled, refuse, several


class TorchSource(TorchFunctionMode):
    """Torch asks this mode about each of its functions; those that draw are answered here."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn_into: dict[int, tuple[Tensor, LazyTensor]] = {}  # a tensor filled in place, by its id

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        answer = getattr(self, f"_{getattr(func, '__name__', '')}", None)
        if answer is not None:
            return answer(*args, **kwargs)
        if self.drawn_into:
            args = tuple(self.drawn_into[id(a)][1] if id(a) in self.drawn_into else a for a in args)
        if any(isinstance(a, LazyTensor) for a in args):
            return LazyTensor.__torch_function__(func, types, args, kwargs)
        return func(*args, **kwargs)

    def _rand(self, *size: Any, **_: Any) -> LazyTensor:
        shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
        return LazyTensor(np.asarray(filled(shape, CURRENT.uniform), dtype=object))

    def _rand_like(self, tensor: Tensor, **_: Any) -> LazyTensor:
        return self._rand(*tensor.shape)

    def _uniform_(self, tensor: Tensor, low: float = 0.0, high: float = 1.0, **_: Any) -> LazyTensor:
        lazy = self._rand(*tensor.shape)
        lazy = lazy if (low, high) == (0, 1) else lazy * (high - low) + low
        self.drawn_into[id(tensor)] = tensor, lazy
        return lazy

    def _bernoulli(self, p: Tensor, **_: Any) -> Tensor:
        drawn = [float(CURRENT.accept(x)) for x in p.flatten().tolist()]
        return torch.tensor(drawn, dtype=p.dtype).reshape(p.shape)

    def _multinomial(self, weights: Tensor, num_samples: int, replacement: bool = False, **_: Any) -> Tensor:
        rows = weights.reshape(-1, weights.shape[-1]).double().numpy()
        drawn = torch.tensor([several(row, num_samples, replacement) for row in rows])
        return drawn.reshape(*weights.shape[:-1], num_samples)

    def _randint(self, low: int, *rest: Any, **_: Any) -> Tensor:
        high, size = (low, rest[0]) if len(rest) == 1 else rest
        low = 0 if len(rest) == 1 else low
        return torch.tensor(filled(size, lambda: low + CURRENT.pick(even(high - low))).tolist())

    def _randperm(self, n: int, **_: Any) -> Tensor:
        return torch.tensor(several(even(n), n, replace=False))

    _exponential_ = staticmethod(refuse("a race of exponential numbers"))
    _randn = _randn_like = _normal_ = _normal = staticmethod(refuse("a normal number"))


STATES = ("manual_seed", "seed", "get_rng_state", "set_rng_state", "initial_seed")


def replacements() -> Iterator[tuple[Any, str, Any]]:
    """(module, name, what stands there inside `watched`)."""
    for module, source, classes in (
        (random, PythonSource(), ("Random", "SystemRandom")),
        (np.random, NumpySource(), ("Generator", "RandomState", "default_rng")),
    ):
        for name in dir(type(source)):
            if not name.startswith("_") and hasattr(module, name):
                yield module, name, getattr(source, name)
        yield from ((module, name, type(source)) for name in classes)
    for name in STATES:
        yield torch, name, refuse("a seed or a saved state of the generator")


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Random sources ask dice inside; everything is put back at the end, whatever happens."""
    with contextlib.ExitStack() as stack:
        for module, name, stand_in in replacements():
            stack.enter_context(mock.patch.object(module, name, stand_in))
        stack.enter_context(TorchSource())
        yield
