"""What torch's functions do with numbers that nobody has drawn.

Comparisons give real boolean tensors: each asks dice. Arithmetic gives other undrawn tensors. What only moves
elements about is done by torch on their places. A function here says by `@answers("...")` under which names of torch
it answers; it takes torch's arguments under torch's names. Names by which torch writes into its first argument
(`mul_`, `+=`) share the answer of the name without: it is computed and then written there.
Read next: `torch_draws.py`.
"""

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..no_verdict import undecided
from .numpy_arrays import UndrawnArray, keeps_number
from .torch_tensor import UndrawnTensor, dtype_name, dummy_of, elements_of, register, tensor_of

COMPARISONS = {
    "lt less __lt__": operator.lt,
    "le less_equal __le__": operator.le,
    "gt greater __gt__": operator.gt,
    "ge greater_equal __ge__": operator.ge,
    "eq __eq__": operator.eq,
    "ne not_equal __ne__": operator.ne,
}
ARITHMETIC = {
    "mul multiply __mul__ __rmul__ mul_ multiply_ __imul__": operator.mul,
    "add __add__ __radd__ add_ __iadd__": operator.add,
    "sub subtract __sub__ sub_ subtract_ __isub__": operator.sub,
    "div divide true_divide __truediv__ div_ divide_ true_divide_ __itruediv__ __idiv__": operator.truediv,
    "rsub __rsub__": lambda a, b: b - a,
    "__rtruediv__ __rdiv__": lambda a, b: b / a,
}
ONE_NUMBER = {
    "neg negative __neg__ neg_ negative_": operator.neg,
    "positive __pos__": operator.pos,
    "abs absolute __abs__ abs_ absolute_": abs,
    "reciprocal": lambda x: 1 / x,
    "log log_": np.log,
    "log1p": lambda x: np.log(x + 1),
    "exp exp_": np.exp,
    "floor": math.floor,
}


def is_in_place(name: str) -> bool:
    """Does this function of torch write into its first argument? `mul_` and `__imul__` do."""
    return name.startswith("__i") or (name.endswith("_") and not name.endswith("__"))


def answers(names: str) -> Callable[[Callable], Callable]:
    """For a function: it answers in the place of those functions and methods of torch, and gets their arguments."""

    def decorate(answer: Callable) -> Callable:
        for name in names.split():
            whole = partial(written_back, answer) if is_in_place(name) else answer
            register(name, lambda func, whole=whole: whole)
        return answer

    return decorate


def answers_by_torch(names: str) -> Callable[[Callable], Callable]:
    """The same for a function that gets torch's own before its arguments, to ask it."""

    def decorate(answer: Callable) -> Callable:
        for name in names.split():
            register(name, lambda func: partial(answer, func))
        return answer

    return decorate


def written_back(answer: Callable, input: UndrawnTensor, *others: Any, **more: Any) -> UndrawnTensor:
    """What `answer` gives, written into the tensor itself."""
    return input.write(elements_of(answer(input, *others, **more)))


def elementwise(operation: Callable, *values: Any) -> np.ndarray:
    """Element by element, with torch's broadcasting (numpy's); an array of dtype object."""
    return np.array(np.frompyfunc(operation, len(values), 1)(*map(elements_of, values)), dtype=object)


def result_type(left: Any, right: Any) -> torch.dtype:
    """Of an operation; undecided for one that rounds random numbers to half precision."""
    left, right = (torch.from_numpy(v) if type(v) is np.ndarray and v.dtype != object else v for v in (left, right))
    if isinstance(left, UndrawnArray) or isinstance(right, UndrawnArray):
        undecided("an array of numpy is combined with a tensor")
    dtype = torch.result_type(dummy_of(left), dummy_of(right))
    keeps_number(dtype_name(dtype))
    return dtype


def compared(operation: Callable, input: Any, other: Any) -> Tensor:
    """A real tensor of answers."""
    result_type(input, other)
    return torch.tensor(elementwise(operation, input, other).astype(bool))


def computed(operation: Callable, input: Any, other: Any, *, alpha: float = 1) -> Tensor | UndrawnTensor:
    """`alpha`: what addition and subtraction multiply `other` by."""
    if alpha != 1:
        operation = {operator.add: lambda a, b: a + alpha * b, operator.sub: lambda a, b: a - alpha * b}[operation]
    return tensor_of(elementwise(operation, input, other), result_type(input, other))


def mapped(operation: Callable, input: UndrawnTensor) -> Tensor | UndrawnTensor:
    """A function of one number."""
    return tensor_of(elementwise(operation, input), input.dtype)


for _kind, _operations in ((compared, COMPARISONS), (computed, ARITHMETIC), (mapped, ONE_NUMBER)):
    for _names, _operation in _operations.items():
        answers(_names)(partial(_kind, _operation))


@answers("equal")
def all_equal(input: Any, other: Any) -> bool:
    """One answer for the whole tensor."""
    return tuple(input.shape) == tuple(other.shape) and bool(compared(operator.eq, input, other).all())


@answers("clamp clip")
def clamped(input: Any, min: Any = None, max: Any = None) -> Tensor | UndrawnTensor:
    """Between two bounds, each a number or a tensor."""
    lowest, highest = -np.inf if min is None else min, np.inf if max is None else max
    dtype = result_type(input, highest if min is None else lowest)
    within = lambda x, low, high: low if x < low else high if x > high else x  # noqa: E731
    return tensor_of(elementwise(within, input, lowest, highest), dtype)


answers("clamp_min")(lambda input, min: clamped(input, min))
answers("clamp_max")(lambda input, max: clamped(input, None, max))


@answers("where")
def selected(condition: Tensor, input: Any, other: Any) -> Tensor | UndrawnTensor:
    """Elements of `input` where the condition holds, else of `other`; the three are broadcast."""
    return tensor_of(elementwise(lambda c, a, b: a if c else b, condition, input, other), result_type(input, other))


@answers_by_torch("cat concat concatenate stack")
def joined(func: Callable, tensors: Any, dim: int = 0) -> Tensor | UndrawnTensor:
    """Tensors, undrawn or real, behind one another along an old dimension or a new one."""
    like = func(list(map(dummy_of, tensors)), dim)
    join = np.stack if func.__name__ == "stack" else np.concatenate
    return tensor_of(join([np.asarray(elements_of(tensor), dtype=object) for tensor in tensors], axis=dim), like.dtype)


@answers_by_torch(
    "__getitem__ view view_as reshape reshape_as flatten unflatten squeeze unsqueeze expand expand_as broadcast_to "
    "permute transpose t T mT movedim index_select gather narrow select repeat flip roll unbind split chunk diagonal "
    "take masked_select detach data clone contiguous"
)
def moved(func: Callable, input: UndrawnTensor, *args: Any, **kwargs: Any) -> UndrawnTensor | tuple:
    """What `func` does with the elements, done with their places: views share the elements, the rest copies them."""

    def at(places: Tensor) -> UndrawnTensor:
        shared = places.untyped_storage().data_ptr() == input.places.untyped_storage().data_ptr()
        found = UndrawnTensor(input.store, places, input.dtype)
        return found if shared else UndrawnTensor.of(found.elements, input.dtype)

    places = func(input.places, *args, **kwargs)
    return at(places) if isinstance(places, Tensor) else tuple(map(at, places))


@answers_by_torch("to type type_as float double half bfloat16 int long short char byte bool cpu")
def cast(func: Callable, input: UndrawnTensor, *args: Any, **kwargs: Any) -> Any:
    """To another dtype, which torch names; whole numbers are cut towards 0."""
    dummy = input.dummy()
    like = func(dummy, *map(dummy_of, args), **kwargs)
    if like is dummy or not isinstance(like, Tensor):
        return input if like is dummy else like
    if keeps_number(dtype_name(like.dtype)):
        return UndrawnTensor.of(input.elements, like.dtype)
    return torch.tensor(elementwise(int, input).astype(np.int64)).to(like.dtype)


@answers_by_torch(
    "shape ndim size dim numel nelement stride device layout requires_grad is_contiguous is_floating_point is_cuda "
    "element_size zeros_like ones_like empty_like full_like"
)
def asked_about(func: Callable, input: UndrawnTensor, *args: Any, **kwargs: Any) -> Any:
    """Its shape and the like, of which the elements are no part."""
    return func(torch.zeros(input.places.shape, dtype=input.dtype), *args, **kwargs)


@answers("__setitem__")
def written(input: UndrawnTensor, index: Any, value: Any) -> None:
    """`input[index] = value`."""
    UndrawnTensor(input.store, input.places[index], input.dtype).write(elements_of(value))


answers("copy_")(lambda input, src, non_blocking=False: src)


@answers("searchsorted")
def searchsorted(
    sorted_sequence: Tensor, input: UndrawnTensor, *, right: bool = False, side: str | None = None
) -> Tensor:
    """Where each random number falls among boundaries: halving what is left, as torch does, because where they do not
    rise it makes a difference."""
    if input.dtype != sorted_sequence.dtype:
        raise TypeError(f"{input.dtype} among {sorted_sequence.dtype}")
    below = operator.lt if right or side == "right" else operator.le
    table = np.broadcast_to(elements_of(sorted_sequence), (*input.shape[:-1], sorted_sequence.shape[-1]))
    found = []
    for place, number in np.ndenumerate(input.elements):
        row, low = table[place[:-1]], 0
        high = len(row)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if below(number, row[middle]) else (middle + 1, high)
        found.append(low)
    return torch.tensor(found).reshape(input.shape)


@answers("bucketize")
def bucketize(input: UndrawnTensor, boundaries: Tensor, *, right: bool = False) -> Tensor:
    """The same with torch's other order of arguments."""
    return searchsorted(boundaries, input, right=right)


@answers("numpy")
def as_array(input: UndrawnTensor, *, force: bool = False) -> UndrawnArray:
    """An array of the same elements, not of copies."""
    store, step = input.store[input.places.storage_offset() :], input.store.itemsize
    strides = [step * stride for stride in input.places.stride()]
    return np.lib.stride_tricks.as_strided(store, input.places.shape, strides).view(UndrawnArray)


answers("item")(lambda input: input.elements.item())
answers("tolist")(lambda input: input.elements.tolist())
