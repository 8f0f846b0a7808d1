"""The elements of a tensor of numbers that nobody has drawn yet, and what functions of torch do with them.

Torch has no tensors of objects. Comparisons give true boolean tensors, arithmetic gives other `Elements`.
Whatever only moves elements about (views, indexing, expanding) is done by torch itself, on the places
where they are stored: so tensors share their elements, and what is written into one shows in the other, as
with true ones. Each function here gets that of torch and then its arguments, under torch's names.
Read next: `sources.py`.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..no_verdict import undecided
from .number import Lazy
from .numpy_arrays import Undrawn, UndrawnArray, keeps_number, opened


class Elements(Undrawn):
    """Stands for a floating tensor. Its elements are `store[places]`: (n,) objects, `Lazy` or numbers, and an integer
    tensor of any shape and strides."""

    def __init__(self, store: np.ndarray, places: Tensor, dtype: torch.dtype) -> None:
        if not keeps_number(name_of(dtype)):
            undecided(f"a random number is put into a tensor of {name_of(dtype)}")
        self.store, self.places, self.dtype = store, places, dtype

    @classmethod
    def of(cls, items: Any, dtype: torch.dtype = torch.float32) -> "Elements":
        """From an array of elements, copied."""
        items = np.array(items, dtype=object)
        return cls(items.reshape(-1), torch.arange(items.size).reshape(items.shape), dtype)

    @property
    def items(self) -> np.ndarray:
        """The elements, an array of dtype object."""
        return self.store[self.places.reshape(-1).numpy()].reshape(self.places.shape)

    def write(self, items: Any) -> "Elements":
        """Put `items`, or broadcast to them, in the place of the elements."""
        if self.places.unique().numel() < self.places.numel():
            undecided("a tensor that has an element in several places is written to")
        self.store[self.places.reshape(-1).numpy()] = np.broadcast_to(items, self.places.shape).reshape(-1)
        return self

    def blank(self) -> Tensor:
        """A true tensor like this one, to ask torch about."""
        return torch.zeros(()).to(self.dtype).expand(self.places.shape)


def name_of(dtype: torch.dtype) -> str:
    """As numpy calls it."""
    return str(dtype).removeprefix("torch.")


def items_of(value: Any) -> Any:
    """The elements of a tensor, lazy or not, as an array of objects; numbers as they are."""
    if isinstance(value, Elements):
        return value.items
    if isinstance(value, Lazy):
        return opened(value)
    return np.array(value.detach().double().tolist(), dtype=object) if isinstance(value, Tensor) else value


def blank_of(value: Any) -> Any:
    """What stands for `value` when torch is asked about types and shapes."""
    if isinstance(value, Elements):
        return value.blank()
    return 0.5 if isinstance(value, Lazy) else value


def by_items(operation: Callable, *values: Any) -> np.ndarray:
    """Element by element, with torch's broadcasting (numpy's)."""
    return np.array(np.frompyfunc(operation, len(values), 1)(*map(items_of, values)), dtype=object)


def tensor_of(items: np.ndarray, dtype: torch.dtype) -> "Tensor | Elements":
    """A true tensor where no element depends on a draw."""
    if any(isinstance(item, Lazy) for item in items.flat):
        return Elements.of(items, dtype)
    return torch.tensor(items.astype(np.float64)).to(dtype)


def result_type(left: Any, right: Any) -> torch.dtype:
    """Of an operation; undecided for one that rounds random numbers to half precision."""
    left, right = (torch.from_numpy(v) if type(v) is np.ndarray and v.dtype != object else v for v in (left, right))
    if isinstance(left, UndrawnArray) or isinstance(right, UndrawnArray):
        undecided("an array of numpy is combined with a tensor")
    dtype = torch.result_type(blank_of(left), blank_of(right))
    keeps_number(name_of(dtype))
    return dtype


def compared(operation: Callable, func: Any, input: Any, other: Any) -> Tensor:
    """A true tensor of answers."""
    result_type(input, other)
    return torch.tensor(by_items(operation, input, other).astype(bool))


def computed(operation: Callable, func: Any, input: Any, other: Any, *, alpha: float = 1) -> "Tensor | Elements":
    """`alpha`: what addition and subtraction multiply `other` by."""
    if alpha != 1:
        operation = {operator.add: lambda a, b: a + alpha * b, operator.sub: lambda a, b: a - alpha * b}[operation]
    return tensor_of(by_items(operation, input, other), result_type(input, other))


def all_equal(func: Any, input: Any, other: Any) -> bool:
    """`torch.equal`."""
    return tuple(input.shape) == tuple(other.shape) and bool(compared(operator.eq, func, input, other).all())


def clamped(func: Any, input: Any, min: Any = None, max: Any = None) -> "Tensor | Elements":
    """Between two bounds, each a number or a tensor."""
    lowest, highest = -np.inf if min is None else min, np.inf if max is None else max
    dtype = result_type(input, highest if min is None else lowest)
    items = by_items(lambda x, low, high: low if x < low else high if x > high else x, input, lowest, highest)
    return tensor_of(items, dtype)


def joined(func: Callable, tensors: Any, dim: int = 0) -> "Tensor | Elements":
    """`torch.cat` and `torch.stack`."""
    like = func(list(map(blank_of, tensors)), dim)
    join = np.stack if func.__name__ == "stack" else np.concatenate
    return tensor_of(join([np.asarray(items_of(tensor), dtype=object) for tensor in tensors], axis=dim), like.dtype)


def mapped(operation: Callable, func: Any, input: Elements) -> "Tensor | Elements":
    """A function of one number."""
    return tensor_of(by_items(operation, input), input.dtype)


def in_place(answer: Callable, func: Any, input: Elements, *others: Any, **more: Any) -> Elements:
    """What `answer` gives, written into the tensor itself."""
    return input.write(items_of(answer(func, input, *others, **more)))


def copied(func: Any, input: Elements, src: Any, non_blocking: bool = False) -> Any:
    """For `copy_`."""
    return src


def moved(func: Callable, input: Elements, *args: Any, **kwargs: Any) -> "Elements | tuple[Elements, ...]":
    """What `func` does with the elements, seen on their places: views see the same ones, the rest copies."""

    def at(places: Tensor) -> Elements:
        shared = places.untyped_storage().data_ptr() == input.places.untyped_storage().data_ptr()
        found = Elements(input.store, places, input.dtype)
        return found if shared else Elements.of(found.items, input.dtype)

    places = func(input.places, *args, **kwargs)
    return at(places) if isinstance(places, Tensor) else tuple(map(at, places))


def cast(func: Callable, input: Elements, *args: Any, **kwargs: Any) -> Any:
    """To another dtype, which torch names; whole numbers are cut towards 0."""
    blank = input.blank()
    like = func(blank, *map(blank_of, args), **kwargs)
    if like is blank or not isinstance(like, Tensor):
        return input if like is blank else like
    if keeps_number(name_of(like.dtype)):
        return Elements.of(input.items, like.dtype)
    return torch.tensor(by_items(int, input).astype(np.int64)).to(like.dtype)


def asked_about(func: Callable, input: Elements, *args: Any, **kwargs: Any) -> Any:
    """Its shape and the like."""
    return func(torch.zeros(input.places.shape, dtype=input.dtype), *args, **kwargs)


def written(func: Callable, input: Elements, index: Any, value: Any) -> None:
    """`input[index] = value`."""
    Elements(input.store, input.places[index], input.dtype).write(items_of(value))


def selected(func: Callable, condition: Tensor, input: Any, other: Any) -> "Tensor | Elements":
    """`torch.where`."""
    return tensor_of(by_items(lambda c, a, b: a if c else b, condition, input, other), result_type(input, other))


def searched(bounds: Tensor, values: Any, right: bool, side: str | None) -> Tensor:
    """Where each random number falls among boundaries: halving what is left, as torch does, for where they do not rise
    it makes a difference."""
    values = Elements.of(opened(values), bounds.dtype) if isinstance(values, Lazy) else values
    if values.dtype != bounds.dtype:
        raise TypeError(f"{values.dtype} among {bounds.dtype}")
    below = operator.lt if right or side == "right" else operator.le
    table = np.broadcast_to(items_of(bounds), (*values.shape[:-1], bounds.shape[-1]))
    found = []
    for place, item in np.ndenumerate(values.items):
        row, low = table[place[:-1]], 0
        high = len(row)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if below(item, row[middle]) else (middle + 1, high)
        found.append(low)
    return torch.tensor(found).reshape(values.shape)


def searchsorted(
    func: Any, sorted_sequence: Tensor, input: Any, *, right: bool = False, side: str | None = None
) -> Any:
    """As torch's."""
    return searched(sorted_sequence, input, right, side)


def bucketize(func: Any, input: Any, boundaries: Any, *, right: bool = False) -> Tensor:
    """As torch's."""
    return searched(boundaries, input, right, None)


def as_array(func: Callable, input: Elements, *, force: bool = False) -> UndrawnArray:
    """An array of the same elements, not of copies."""
    store, step = input.store[input.places.storage_offset() :], input.store.itemsize
    strides = [step * stride for stride in input.places.stride()]
    return np.lib.stride_tricks.as_strided(store, input.places.shape, strides).view(UndrawnArray)
