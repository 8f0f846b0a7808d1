"""A tensor of numbers that nobody has drawn.

Torch has no tensors of objects. So `UndrawnTensor` is no `torch.Tensor` but stands in for one: torch hands it each of
its functions that it is an argument of, and what such a function does with it is looked up under the function's
name in `ANSWERS`, a table that `torch_functions.py` fills. A name that is not there is undecided, and so is an
argument that the answer does not take.

The elements lie in a flat numpy array, the tensor has their places in it. Whatever only moves elements about
(views, indexing, expanding) torch itself does to the places: so a view shares its elements with what it is a view of,
and what is written into one shows in the other, as with real tensors.
Read next: `torch_functions.py`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..no_verdict import undecided
from .number import UndrawnNumber
from .numpy_arrays import Undrawn, keeps_number, to_objects
from .stand_ins import call_stand_in

ANSWERS: dict[str, Callable[[Callable], Callable]] = {}  # name in torch -> (torch's function -> what is called instead)
OTHER_NAMES = {"equal": "eq"}  # numpy's, where torch has another


class UndrawnTensor(Undrawn):
    """Stands for a floating tensor. Its elements are `store[places]`."""

    def __init__(self, store: np.ndarray, places: Tensor, dtype: torch.dtype) -> None:
        """`store`: (n,) objects, undrawn or plain numbers; `places`: integers, of any shape and strides."""
        if not keeps_number(dtype_name(dtype)):
            undecided(f"a random number is put into a tensor of {dtype_name(dtype)}")
        self.store, self.places, self.dtype = store, places, dtype

    @classmethod
    def of(cls, elements: Any, dtype: torch.dtype = torch.float32) -> "UndrawnTensor":
        """From an array of elements, copied."""
        elements = np.array(elements, dtype=object)
        return cls(elements.reshape(-1), torch.arange(elements.size).reshape(elements.shape), dtype)

    @property
    def elements(self) -> np.ndarray:
        """An array of dtype object, in the shape of the tensor."""
        return self.store[self.places.reshape(-1).numpy()].reshape(self.places.shape)

    def write(self, elements: Any) -> "UndrawnTensor":
        """Put `elements`, broadcast to the tensor's shape, in the place of its own."""
        if self.places.unique().numel() < self.places.numel():
            undecided("a tensor that has an element in several places is written to")
        self.store[self.places.reshape(-1).numpy()] = np.broadcast_to(elements, self.places.shape).reshape(-1)
        return self

    def dummy(self) -> Tensor:
        """A real tensor of this shape and dtype, to ask torch about."""
        return torch.zeros(()).to(self.dtype).expand(self.places.shape)

    @classmethod
    def __torch_function__(cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = torch_name(func)
        if name not in ANSWERS:
            undecided(f"torch.{name} of a random number is not understood")
        return call_stand_in(f"torch.{name}", ANSWERS[name](func), args, kwargs or {}, RuntimeError)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = OTHER_NAMES.get(ufunc.__name__, ufunc.__name__)
        if method != "__call__" or name not in ANSWERS or kwargs:
            undecided(f"numpy.{ufunc.__name__} of a random number is not understood")
        return self.__torch_function__(getattr(torch, name), (), inputs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        attribute = getattr(Tensor, name)
        if not callable(attribute):
            return self.__torch_function__(attribute.__get__, (), (self,))
        return partial(method_like(attribute), self)

    def __len__(self) -> int:
        return len(self.places)

    def __int__(self) -> int:
        return int(self.item())

    def __iter__(self) -> Iterator["UndrawnTensor"]:
        return iter(self.unbind())

    __hash__ = object.__hash__
    __array__ = Undrawn._looked_at


def method_like(func: Callable) -> Callable:
    """What stands for a method `func` of tensors."""
    return lambda *args, **kwargs: UndrawnTensor.__torch_function__(func, (), args, kwargs)


def register(name: str, answer_for: Callable[[Callable], Callable]) -> None:
    """Enter what makes the answer of the function `name` of torch. An operator becomes a method of the class too,
    because Python looks for it there."""
    ANSWERS[name] = answer_for
    if name.startswith("__"):
        setattr(UndrawnTensor, name, method_like(getattr(Tensor, name)))


def torch_name(func: Callable) -> str:
    """The name of a function of torch, or of the attribute that it reads."""
    return getattr(func.__self__, "__name__", "attribute") if func.__name__ == "__get__" else func.__name__


def dtype_name(dtype: torch.dtype) -> str:
    """As numpy calls it."""
    return str(dtype).removeprefix("torch.")


def elements_of(value: Any) -> Any:
    """The elements of a tensor, undrawn or real, as an array of dtype object; numbers as they are."""
    if isinstance(value, UndrawnTensor):
        return value.elements
    if isinstance(value, UndrawnNumber):
        return to_objects(value)
    return np.array(value.detach().double().tolist(), dtype=object) if isinstance(value, Tensor) else value


def dummy_of(value: Any) -> Any:
    """What torch can be asked about, types and shapes, in the place of `value`."""
    if isinstance(value, UndrawnTensor):
        return value.dummy()
    return 0.5 if isinstance(value, UndrawnNumber) else value


def tensor_of(elements: np.ndarray, dtype: torch.dtype) -> "Tensor | UndrawnTensor":
    """A real tensor where no element depends on a draw."""
    if any(isinstance(element, UndrawnNumber) for element in elements.flat):
        return UndrawnTensor.of(elements, dtype)
    return torch.tensor(elements.astype(np.float64)).to(dtype)
