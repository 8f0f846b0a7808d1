"""Tensors of numbers that nobody has drawn yet.

`LazyTensor` stands in for a floating tensor: torch hands it every function it is an argument of. What such a
function does is looked up by its name; what is not in the table is undecided, and so is an argument that the
table's functions do not know. Read next: `tensors.py`.
"""

import math
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..no_verdict import undecided
from . import torch_tensor as elements
from .numpy_arrays import Undrawn
from .stand_ins import answered
from .torch_tensor import Elements


def swapped(operation: Callable) -> Callable:
    """With its operands the other way round."""
    return lambda a, b: operation(b, a)


COMPARISONS = {
    "lt less __lt__": operator.lt,
    "le less_equal __le__": operator.le,
    "gt greater __gt__": operator.gt,
    "ge greater_equal __ge__": operator.ge,
    "eq __eq__": operator.eq,
    "ne not_equal __ne__": operator.ne,
}
ARITHMETIC = {
    "mul multiply __mul__ __rmul__": operator.mul,
    "add __add__ __radd__": operator.add,
    "sub subtract __sub__": operator.sub,
    "div divide true_divide __truediv__": operator.truediv,
    "rsub __rsub__": swapped(operator.sub),
    "__rtruediv__ __rdiv__": swapped(operator.truediv),
}
UNARY = {
    "neg negative __neg__": operator.neg,
    "positive __pos__": operator.pos,
    "abs absolute __abs__": abs,
    "reciprocal": lambda x: 1 / x,
    "log": np.log,
    "log1p": lambda x: np.log(x + 1),
    "exp": np.exp,
    "floor": math.floor,
}
UFUNCS = {"equal": "eq"}  # of numpy, where torch has another name
IN_PLACE = {
    "mul_ multiply_ __imul__": partial(elements.computed, operator.mul),
    "add_ __iadd__": partial(elements.computed, operator.add),
    "sub_ subtract_ __isub__": partial(elements.computed, operator.sub),
    "div_ divide_ true_divide_ __itruediv__ __idiv__": partial(elements.computed, operator.truediv),
    "neg_ negative_": partial(elements.mapped, operator.neg),
    "abs_ absolute_": partial(elements.mapped, abs),
    "log_": partial(elements.mapped, np.log),
    "exp_": partial(elements.mapped, np.exp),
    "copy_": elements.copied,
}
OTHERS = {
    "__getitem__ view view_as reshape reshape_as flatten unflatten squeeze unsqueeze expand expand_as broadcast_to "
    "permute transpose t T mT movedim index_select gather narrow select repeat flip roll unbind split chunk diagonal "
    "take masked_select detach data clone contiguous": elements.moved,
    "to type type_as float double half bfloat16 int long short char byte bool cpu": elements.cast,
    "shape ndim size dim numel nelement stride device layout requires_grad is_contiguous is_floating_point "
    "is_cuda element_size": elements.asked_about,
    "zeros_like ones_like empty_like full_like": elements.asked_about,
    "where": elements.selected,
    "equal": elements.all_equal,
    "clamp clip": elements.clamped,
    "clamp_min": lambda func, input, min: elements.clamped(func, input, min),
    "clamp_max": lambda func, input, max: elements.clamped(func, input, None, max),
    "cat concat concatenate stack": elements.joined,
    "searchsorted": elements.searchsorted,
    "bucketize": elements.bucketize,
    "__setitem__": elements.written,
    "numpy": elements.as_array,
    "item": lambda func, input: input.items.item(),
    "tolist": lambda func, input: input.items.tolist(),
}
ANSWERS: dict[str, Callable] = {  # of (function of torch, *its arguments)
    name: answer
    for answers in (
        {names: partial(elements.compared, operation) for names, operation in COMPARISONS.items()},
        {names: partial(elements.computed, operation) for names, operation in ARITHMETIC.items()},
        {names: partial(elements.mapped, operation) for names, operation in UNARY.items()},
        {names: partial(elements.in_place, answer) for names, answer in IN_PLACE.items()},
        OTHERS,
    )
    for names, answer in answers.items()
    for name in names.split()
}
WRITING = {name for names in IN_PLACE for name in names.split()} | {"__setitem__"}


def torch_name(func: Callable) -> str:
    """Of a function of torch, or of the attribute that it gets."""
    return getattr(func.__self__, "__name__", "attribute") if func.__name__ == "__get__" else func.__name__


class LazyTensor(Elements):
    """`Elements` where torch code expects a tensor."""

    @classmethod
    def __torch_function__(cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = torch_name(func)
        if name not in ANSWERS:
            undecided(f"torch.{name} of a random number is not understood")
        return cls.around(answered(f"torch.{name}", partial(ANSWERS[name], func), args, kwargs or {}, RuntimeError))

    @classmethod
    def around(cls, value: Any) -> Any:
        """The same with a tensor where there are bare elements."""
        if isinstance(value, tuple):
            return tuple(map(cls.around, value))
        return cls(value.store, value.places, value.dtype) if type(value) is Elements else value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = UFUNCS.get(ufunc.__name__, ufunc.__name__)
        if method != "__call__" or name not in ANSWERS or kwargs:
            undecided(f"numpy.{ufunc.__name__} of a random number is not understood")
        return self.__torch_function__(getattr(torch, name), (), inputs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        attribute = getattr(Tensor, name)
        if not callable(attribute):
            return self.__torch_function__(attribute.__get__, (), (self,))
        return _method(attribute, self)

    def __len__(self) -> int:
        return len(self.places)

    def __int__(self) -> int:
        return int(self.item())

    def __iter__(self) -> Iterator["LazyTensor"]:
        return iter(self.unbind())

    __hash__ = object.__hash__
    __array__ = Undrawn._looked_at


def _method(func: Callable, *first: Any) -> Callable:
    return lambda *args, **kwargs: LazyTensor.__torch_function__(func, (), (*first, *args), kwargs)


for _name in ANSWERS:
    if _name.startswith("__"):
        setattr(LazyTensor, _name, (lambda method: lambda *args: method(*args))(_method(getattr(Tensor, _name))))
