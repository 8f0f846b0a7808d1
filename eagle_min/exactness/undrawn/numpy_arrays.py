"""Arrays of numbers that nobody has drawn, and what numpy's functions do with them.

Arrays of dtype object call the operators of the objects in them, so comparisons and arithmetic are right by
themselves (`number.py`). Here is what else is needed: casts look at the dtype asked for, results become
ordinary float arrays where nothing undrawn is left, and a function of numpy that fails on such an array is named as not
understood, because the code under test is not to blame for that.
Read next: `stand_ins.py`.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from ..no_verdict import undecided

NAN_IS_SPECIAL = (np.minimum, np.maximum, np.fmin, np.fmax, np.clip)  # they treat it otherwise than comparisons do
KEPT_DTYPES = ("float32", "float64")  # roundings that the tolerance of a verdict allows for


def not_understood(operation: str) -> Callable[..., NoReturn]:
    """A method in the place of an operator whose effect on such numbers is not known here."""
    return lambda *_, **__: undecided(f"{operation} of a random number is not understood")


class Undrawn:
    """Base of the number, the array and the tensor: what none of them can answer, and the methods by which numpy and
    torch hand them each of their functions that they are an argument of."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__":
            return call_numpy(f"numpy.{ufunc.__name__}", ufunc, inputs, kwargs)
        return call_numpy(f"numpy.{ufunc.__name__}.{method}", getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, func: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        answer = searchsorted_one_by_one if func is np.searchsorted else func
        return call_numpy(f"numpy.{func.__name__}", answer, args, kwargs)

    @classmethod
    def __torch_function__(cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> NoReturn:
        undecided(f"torch.{func.__name__} of a random number is not understood")

    def _looked_at(self, *_: Any, **__: Any) -> NoReturn:
        undecided("the code looks at the random number itself")

    def __float__(self) -> NoReturn:
        undecided("the code looks at the random number itself, as a float, which leaves nothing open")

    __complex__ = __bool__ = __index__ = __str__ = __format__ = _looked_at
    __mod__ = __rmod__ = not_understood("%")
    __floordiv__ = __rfloordiv__ = not_understood("//")
    __divmod__ = __rdivmod__ = not_understood("divmod")
    __pow__ = __rpow__ = not_understood("**")
    __round__ = not_understood("round")


class UndrawnArray(Undrawn, np.ndarray):
    """Array of dtype object, whose elements are undrawn or plain numbers; stands for one of float64."""

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """A copy, or integers; see `keeps_number`."""
        if keeps_number(np.dtype(dtype).name):
            return self.copy() if copy else self
        return np.array([int(item) for item in self.flat], dtype=dtype).reshape(self.shape)

    tobytes = Undrawn._looked_at


def keeps_number(dtype: str) -> bool:
    """Does a cast to the dtype of that name leave the number as it is? False: it is cut to an integer. Undecided
    for what rounds it otherwise."""
    if dtype in KEPT_DTYPES:
        return True
    if not dtype.startswith(("int", "uint")):
        undecided(f"the code rounds the random number to {dtype}")
    return False


def call_numpy(name: str, function: Callable, args: tuple, kwargs: dict) -> Any:
    """The function `name` of numpy, called with arrays of dtype object. Undecided when it cannot deal with them."""
    if kwargs.get("where", True) is not True and kwargs.get("out") is None:
        undecided(f"{name}(where=...) is not understood without out=")
    known = (x for x in args if isinstance(x, float | np.ndarray | np.floating))
    if function in NAN_IS_SPECIAL and any(np.any(x != x) for x in known):
        undecided(f"{name} of a random number and NaN is not understood")
    try:
        result = function(*to_objects(args), **to_objects(kwargs))
    except Exception as error:
        undecided(f"{name} of a random number is not understood: {error}")
    out = kwargs.get("out")
    if out is not None:
        return out[0] if isinstance(out, tuple) and len(out) == 1 else out
    return tuple(map(from_objects, result)) if isinstance(result, tuple) else from_objects(result)


def to_objects(value: Any) -> Any:
    """The same with ordinary arrays of dtype object in the place of what is undrawn, also inside lists and dicts."""
    if isinstance(value, UndrawnArray):
        return value.view(np.ndarray)
    if isinstance(value, Undrawn):
        array = np.empty((), dtype=object)
        array[()] = value
        return array
    if isinstance(value, list | tuple):
        return type(value)(map(to_objects, value))
    return {key: to_objects(item) for key, item in value.items()} if isinstance(value, dict) else value


def from_objects(result: Any) -> Any:
    """A result as numpy would return it: of dtype object only where numbers are still undrawn, or are Fractions."""
    if type(result) is int:
        return np.float64(result)  # from rounding: numpy rounds to a float
    if not isinstance(result, np.ndarray) or result.dtype != object:
        return result
    if result.ndim == 0:
        return from_objects(result[()])
    if any(isinstance(item, Undrawn) for item in result.flat):
        return result.view(UndrawnArray)
    return result if any(isinstance(item, Fraction) for item in result.flat) else result.astype(np.float64)


def searchsorted_one_by_one(a: np.ndarray, v: np.ndarray, side: str = "left", sorter: Any = None) -> Any:
    """`numpy.searchsorted` one number at a time: of several it compares one with another, only to be faster."""
    found = [np.searchsorted(a, to_objects(item), side, sorter) for item in v.flat]
    return found[0] if v.ndim == 0 else np.array(found).reshape(v.shape)
