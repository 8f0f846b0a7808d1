"""What numpy does with numbers that nobody has drawn yet.

Arrays of dtype object call the operators of what they hold, which is nearly all that is needed. The
rest is here: casts look at the dtype, and where numpy does not know what to do with such an array, the code
under test is not to blame: the function is named and nothing is decided.
Read next: `uniform.py`.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from ..no_verdict import undecided

Number = Fraction | float
ORDERED = (np.minimum, np.maximum, np.fmin, np.fmax, np.clip)  # they treat NaN otherwise than comparisons do
SAME = ("float32", "float64")  # roundings that the tolerance of a verdict allows for


def not_understood(operation: str) -> Callable[..., NoReturn]:
    """A method in the place of an operator whose effect on such numbers is not known here."""
    return lambda *_, **__: undecided(f"{operation} of a random number is not understood")


class Undrawn:
    """Base of a number, an array and a tensor of such numbers: numpy and torch hand it each of their functions
    that it is an argument of."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__":
            return by_elements(f"numpy.{ufunc.__name__}", ufunc, inputs, kwargs)
        return by_elements(f"numpy.{ufunc.__name__}.{method}", getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, func: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        return by_elements(f"numpy.{func.__name__}", searched if func is np.searchsorted else func, args, kwargs)

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
    """Array of dtype object whose elements are `Lazy` or numbers; stands for one of float64."""

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """A copy, or integers; see `keeps_number`."""
        if keeps_number(np.dtype(dtype).name):
            return self.copy() if copy else self
        return np.array([int(item) for item in self.flat], dtype=dtype).reshape(self.shape)

    tobytes = Undrawn._looked_at


def plain(value: Any) -> Number:
    """A Python number from a scalar of Python or numpy; Fractions and integers stay exact. NotImplemented for
    anything else: arrays and tensors deal with their elements themselves."""
    if isinstance(value, Fraction | float):
        return value
    if isinstance(value, int | np.integer | np.bool_):
        return Fraction(int(value))
    return float(value) if isinstance(value, np.floating) else NotImplemented


def reciprocal(x: Number) -> Number:
    """1 / x on the numbers from 0 on; a threshold below them is passed by all."""
    return 1 / x if x > 0 else math.inf


def keeps_number(dtype: str) -> bool:
    """Does a cast to the dtype of that name leave the number as it is? False: it is cut to an integer. Undecided
    for what rounds it otherwise."""
    if dtype in SAME:
        return True
    if not dtype.startswith(("int", "uint")):
        undecided(f"the code rounds the random number to {dtype}")
    return False


def by_elements(name: str, function: Callable, args: tuple, kwargs: dict) -> Any:
    """`function` of arrays of dtype object; undecided when it cannot deal with them."""
    if kwargs.get("where", True) is not True and kwargs.get("out") is None:
        undecided(f"{name}(where=...) is not understood without out=")
    if function in ORDERED and any(np.any(x != x) for x in args if isinstance(x, float | np.ndarray | np.floating)):
        undecided(f"{name} of a random number and NaN is not understood")
    try:
        result = function(*opened(args), **opened(kwargs))
    except Exception as error:
        undecided(f"{name} of a random number is not understood: {error}")
    out = kwargs.get("out")
    if out is not None:
        return out[0] if isinstance(out, tuple) and len(out) == 1 else out
    return tuple(map(closed, result)) if isinstance(result, tuple) else closed(result)


def opened(value: Any) -> Any:
    """The same with plain arrays of dtype object in it."""
    if isinstance(value, UndrawnArray):
        return value.view(np.ndarray)
    if isinstance(value, Undrawn):
        array = np.empty((), dtype=object)
        array[()] = value
        return array
    if isinstance(value, list | tuple):
        return type(value)(map(opened, value))
    return {key: opened(item) for key, item in value.items()} if isinstance(value, dict) else value


def closed(result: Any) -> Any:
    """What numpy would return: of dtype object only where numbers are still undrawn, or are Fractions."""
    if type(result) is int:
        return np.float64(result)  # from rounding: numpy rounds to a float
    if not isinstance(result, np.ndarray) or result.dtype != object:
        return result
    if result.ndim == 0:
        return closed(result[()])
    if any(isinstance(item, Undrawn) for item in result.flat):
        return result.view(UndrawnArray)
    return result if any(isinstance(item, Fraction) for item in result.flat) else result.astype(np.float64)


def searched(a: np.ndarray, v: np.ndarray, side: str = "left", sorter: Any = None) -> Any:
    """`numpy.searchsorted` one number at a time: it compares several with each other, only to be faster."""
    found = [np.searchsorted(a, opened(item), side, sorter) for item in v.flat]
    return found[0] if v.ndim == 0 else np.array(found).reshape(v.shape)
