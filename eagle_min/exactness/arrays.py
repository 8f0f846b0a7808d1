"""Tensors of numbers that nobody has drawn yet.

Numpy needs no help: an array of dtype object calls the operators of what it holds. Torch has no such
tensors. `LazyTensor` stands in for one: torch hands it every function it is an argument of. Comparisons
give true boolean tensors, arithmetic gives another `LazyTensor`, and whatever only moves elements
about (views, indexing, expanding) is done by torch itself, on their numbers, and then repeated here.
Read next: `sources.py`.
"""

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from .uniform import Lazy, undecided

COMPARISONS: dict[str, Callable] = {
    **dict.fromkeys(("lt", "less", "__lt__"), operator.lt),
    **dict.fromkeys(("le", "less_equal", "__le__"), operator.le),
    **dict.fromkeys(("gt", "greater", "__gt__"), operator.gt),
    **dict.fromkeys(("ge", "greater_equal", "__ge__"), operator.ge),
}
ARITHMETIC: dict[str, Callable] = {
    **dict.fromkeys(("mul", "multiply", "__mul__", "__rmul__", "mul_", "__imul__"), operator.mul),
    **dict.fromkeys(("add", "__add__", "__radd__", "add_", "__iadd__"), operator.add),
    **dict.fromkeys(("sub", "subtract", "__sub__", "sub_", "__isub__"), operator.sub),
    **dict.fromkeys(("div", "divide", "true_divide", "__truediv__", "div_", "__itruediv__"), operator.truediv),
    **dict.fromkeys(("rsub", "__rsub__"), lambda a, b: b - a),
    **dict.fromkeys(("__rtruediv__", "__rdiv__"), lambda a, b: b / a),
}
UNARY: dict[str, Callable] = {
    **dict.fromkeys(("neg", "negative", "__neg__"), operator.neg),
    **dict.fromkeys(("log", "log_"), lambda x: x.log()),
    **dict.fromkeys(("exp", "exp_"), lambda x: x.exp()),
}
SAME = {"to", "float", "double", "half", "bfloat16", "type", "type_as", "cpu", "cuda", "detach", "clone", "contiguous"}
MOVES = set(
    "__getitem__ view view_as reshape reshape_as flatten unflatten squeeze unsqueeze expand expand_as "
    "broadcast_to permute transpose t movedim index_select gather narrow select repeat flip roll".split()
)


class LazyTensor:
    """Elements `items` (object array of Lazy) where torch code expects a floating tensor."""

    def __init__(self, items: np.ndarray, dtype: torch.dtype = torch.float32) -> None:
        self.items, self.dtype, self.device = items, dtype, torch.device("cpu")

    @classmethod
    def __torch_function__(cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = func.__name__
        if name in COMPARISONS or name in ARITHMETIC:
            return binary(name, *args[:2])
        if name in UNARY:
            return LazyTensor(np.frompyfunc(UNARY[name], 1, 1)(args[0].items), args[0].dtype)
        if name in MOVES:
            return args[0].moved(func, args[1:], kwargs or {})
        if name in ("searchsorted", "bucketize"):
            return searched(name, *args, **(kwargs or {}))
        undecided(f"torch.{name} of a random number is not understood")

    def moved(self, func: Callable, args: tuple, kwargs: dict) -> "LazyTensor":
        """What `func` does with the elements, seen on their numbers."""
        numbers = torch.arange(self.items.size).reshape(self.items.shape)
        places = func(numbers, *args, **kwargs)
        return LazyTensor(np.asarray(self.items.reshape(-1)[places.numpy()], dtype=object), self.dtype)

    def __getattr__(self, name: str) -> Any:
        if name in SAME:
            return lambda *_, **__: self
        if name in MOVES or name in UNARY:
            method = getattr(Tensor, name)
            return lambda *args, **kwargs: LazyTensor.__torch_function__(method, (), (self, *args), kwargs)
        if name in COMPARISONS or name in ARITHMETIC:
            return lambda other, **_: binary(name, self, other)
        undecided(f"Tensor.{name} of a random number is not understood")

    @property
    def shape(self) -> torch.Size:
        return torch.Size(self.items.shape)

    @property
    def ndim(self) -> int:
        return self.items.ndim

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return self.items.ndim

    def numel(self) -> int:
        return self.items.size

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> "LazyTensor":
        return self.moved(Tensor.__getitem__, (index,), {})

    def _looked_at(self, *_: Any, **__: Any) -> NoReturn:
        undecided("the code looks at the random number itself")

    item = tolist = numpy = __float__ = __int__ = __bool__ = __index__ = __str__ = __format__ = _looked_at


def _operator(name: str) -> Callable:
    return lambda self, other: binary(name, self, other)


for _name in ("lt", "le", "gt", "ge", "mul", "rmul", "add", "radd", "sub", "rsub", "truediv", "rtruediv"):
    setattr(LazyTensor, f"__{_name}__", _operator(f"__{_name}__"))
LazyTensor.__neg__ = lambda self: LazyTensor(-self.items, self.dtype)


def items_of(value: Any) -> Any:
    """The elements of a tensor, lazy or not, as an array of objects; numbers as they are."""
    if isinstance(value, LazyTensor):
        return value.items
    return np.asarray(value.detach().cpu().numpy(), dtype=object) if isinstance(value, Tensor) else value


def binary(name: str, left: Any, right: Any) -> "Tensor | LazyTensor":
    """A comparison or an arithmetic operation, element by element, with torch's broadcasting (numpy's)."""
    operation = COMPARISONS.get(name) or ARITHMETIC[name]
    result = np.frompyfunc(operation, 2, 1)(items_of(left), items_of(right))
    result = np.asarray(result, dtype=object)
    if name in COMPARISONS:
        return torch.from_numpy(np.asarray(result, dtype=bool))
    if not any(isinstance(item, Lazy) for item in result.flat):
        return torch.from_numpy(np.asarray(result, dtype=np.float64)).to(torch.float32)
    return LazyTensor(result)


def searched(name: str, first: Any, second: Any, right: bool = False, side: str = "left", **_: Any) -> Tensor:
    """Where each random number falls among sorted boundaries: one question a boundary."""
    bounds, values = (second, first) if name == "bucketize" else (first, second)
    closed = not (right or side == "right")
    table = np.broadcast_to(items_of(bounds), (*values.shape[:-1], bounds.shape[-1]))
    reached = operator.le if closed else operator.lt
    found = []
    for place, item in np.ndenumerate(values.items):
        row = table[place[:-1]]
        found.append(next((i for i, bound in enumerate(row) if reached(item, bound)), len(row)))
    return torch.tensor(found).reshape(values.shape)
