"""What stands for the functions of torch that draw, while a program is watched.

Torch asks a mode about each of its functions. What is drawn into a tensor in place belongs to its storage,
so that all its views see it. Read next: `watch.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..no_verdict import undecided
from .numpy_arrays import Undrawn, UndrawnArray
from .stand_ins import CURRENT, Impossible, answered, even, filled, refuse, several
from .torch_functions import WRITING, LazyTensor, torch_name
from .torch_tensor import items_of

RACE, NORMAL = "a race of exponential numbers", "a normal number"
REFUSED = {
    **dict.fromkeys(("exponential_",), RACE),
    **dict.fromkeys(("randn", "randn_like", "normal", "normal_", "log_normal_"), NORMAL),
    **{
        name: f"torch.{name}"
        for name in "poisson binomial cauchy_ geometric_ random_ _standard_gamma _sample_dirichlet rrelu_with_noise "
        "gumbel_softmax fractional_max_pool2d fractional_max_pool3d native_dropout".split()
    },
}
# these draw only when they are told to, as in training
SOMETIMES = set(
    "dropout dropout_ dropout1d dropout2d dropout3d alpha_dropout alpha_dropout_ feature_alpha_dropout "
    "feature_alpha_dropout_ feature_dropout feature_dropout_ rrelu rrelu_ scaled_dot_product_attention "
    "lstm gru rnn_tanh rnn_relu multi_head_attention_forward".split()
)
FROM_ARRAYS = {"tensor", "as_tensor", "from_numpy", "asarray"}


class TorchSource(TorchFunctionMode):
    """Torch asks this mode about each of its functions; those that draw are answered here."""

    def __init__(self) -> None:
        super().__init__()
        # storage -> a tensor that keeps it, and the elements of the whole of it
        self.drawn_into: dict[int, tuple[Tensor, LazyTensor]] = {}

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name, kwargs = torch_name(func), kwargs or {}
        if name in REFUSED:
            refuse(REFUSED[name])()
        if self.drawn_into:
            args, kwargs = self.seen(args), self.seen(kwargs)
        if name in DRAWS:
            return answered(f"torch.{name}", DRAWS[name], (self, *args), kwargs, RuntimeError)
        if not holds_undrawn((args, kwargs)):
            return sometimes(name, func, args, kwargs) if name in SOMETIMES else func(*args, **kwargs)
        if name in FROM_ARRAYS:
            return answered(f"torch.{name}", from_array, args, kwargs, RuntimeError)
        if name in WRITING and isinstance(args[0], Tensor):
            written, args = args[0], (self.taken(args[0]), *args[1:])
            LazyTensor.__torch_function__(func, types, args, kwargs)
            return written
        return LazyTensor.__torch_function__(func, types, args, kwargs)

    def seen(self, value: Any) -> Any:
        """The same with the elements of tensors that were drawn into."""
        if isinstance(value, Tensor):
            _, whole = self.drawn_into.get(storage_of(value), (None, None))
            return value if whole is None else view(whole, value)
        if isinstance(value, dict):
            return {key: self.seen(item) for key, item in value.items()}
        return type(value)(map(self.seen, value)) if type(value) in (list, tuple) else value

    def taken(self, tensor: Tensor | LazyTensor) -> LazyTensor:
        """The elements of a tensor that is about to be drawn into."""
        if isinstance(tensor, LazyTensor):
            return tensor
        if tensor.numel() == 0:
            return LazyTensor.of(np.empty(tensor.shape, dtype=object), tensor.dtype)
        whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
        lazy = LazyTensor.of(np.array(whole.double().tolist(), dtype=object), tensor.dtype)
        self.drawn_into[storage_of(tensor)] = tensor, lazy
        return view(lazy, tensor)


def storage_of(tensor: Tensor) -> int:
    """What tensors that share memory have in common; 0 where there is none."""
    return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided and tensor.device.type == "cpu" else 0


def view(whole: LazyTensor, like: Tensor) -> LazyTensor:
    """The elements of a storage where `like` has them."""
    if like.dtype != whole.dtype:
        undecided(f"a tensor of {whole.dtype} with random numbers is read as {like.dtype}")
    places = whole.places.as_strided(like.shape, like.stride(), like.storage_offset())
    return LazyTensor(whole.store, places, whole.dtype)


def holds_undrawn(value: Any) -> bool:
    """Is there a number in it that nobody has drawn?"""
    if isinstance(value, dict):
        return any(map(holds_undrawn, value.values()))
    return any(map(holds_undrawn, value)) if type(value) in (list, tuple) else isinstance(value, Undrawn)


def sometimes(name: str, func: Callable, args: tuple, kwargs: dict) -> Any:
    """The function itself, unless it draws."""
    before = torch.default_generator.get_state()
    result = func(*args, **kwargs)
    if not torch.equal(before, torch.default_generator.get_state()):
        refuse(f"torch.{name}")()
    return result


def from_array(data: Any, *, dtype: torch.dtype | None = None) -> LazyTensor:
    """`torch.tensor` and its like, of numbers that nobody has drawn: those of an array are shared where torch does."""
    usual = torch.float64 if isinstance(data, UndrawnArray) else torch.get_default_dtype()
    return LazyTensor.of(data, dtype or usual)


def like_of(*args: Any, **kwargs: Any) -> Tensor:
    """A tensor without memory; torch itself finds its shape and dtype."""
    return torch.empty(*args, **kwargs, device="meta")


def only_floating(name: str, dtype: torch.dtype) -> None:
    """As torch, which draws no whole numbers in this way."""
    if not dtype.is_floating_point:
        raise Impossible(f'"{name}" not implemented for {dtype}', NotImplementedError)


def coins(shape: Any, dtype: torch.dtype) -> LazyTensor:
    """Uniform numbers in [0, 1)."""
    only_floating("check_uniform_bounds", dtype)
    return LazyTensor.of(filled(tuple(shape)), dtype)


def rand(mode: TorchSource, *size: Any, **kwargs: Any) -> LazyTensor:
    """Coins in the shape that torch itself finds."""
    like = like_of(*size, **kwargs)
    return coins(like.shape, like.dtype)


def rand_like(mode: TorchSource, input: Any, *, dtype: torch.dtype | None = None) -> LazyTensor:
    """Coins in the shape of another tensor."""
    return coins(input.shape, dtype or input.dtype)


def uniform_(mode: TorchSource, input: Any, low: float = 0.0, high: float = 1.0, **names: float) -> Any:
    """Coins between `low` and `high` (torch's `from` and `to`), written into the tensor."""
    low, high = names.pop("from", low), names.pop("to", high)
    if names:
        raise TypeError(f"{names}")
    drawn = coins(input.shape, input.dtype) * (high - low) + low
    mode.taken(input).write(items_of(drawn))
    return input


def bernoulli(mode: TorchSource, input: Tensor, p: float | None = None) -> Tensor:
    """1 with the probabilities of `input`, or with `p`; in the dtype of `input`."""
    if p is None:
        only_floating("bernoulli_tensor_cpu_p_", input.dtype)
    chances = input.double() if p is None else torch.full(input.shape, float(p))
    drawn = [float(CURRENT.accept(x)) for x in chances.flatten().tolist()]
    return torch.tensor(drawn, dtype=input.dtype).reshape(input.shape)


def bernoulli_(mode: TorchSource, input: Tensor, p: Any = 0.5) -> Tensor:
    """The same, written into the tensor."""
    chances = torch.as_tensor(p, dtype=torch.float64).expand(input.shape)
    return input.copy_(bernoulli(mode, chances))


def multinomial(mode: TorchSource, input: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
    """Indices drawn by the weights of each row: (..., num_samples)."""
    if not input.is_floating_point():
        raise Impossible(f"multinomial only supports floating-point dtypes for input, got: {input.dtype}")
    rows = input.reshape(-1, input.shape[-1]).double().numpy()
    drawn = torch.tensor([several(row, num_samples, replacement) for row in rows])
    return drawn.reshape(*input.shape[:-1], num_samples)


def integers(low: int, high: int, like: Tensor) -> Tensor:
    """Integers from `low` to `high` - 1, in the shape and dtype of `like`."""
    if high <= low:
        raise Impossible(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    drawn = [low + CURRENT.pick(even(high - low)) for _ in range(like.numel())]
    return torch.tensor(drawn, dtype=torch.int64).reshape(like.shape).to(like.dtype)


def randint(mode: TorchSource, *args: Any, low: int = 0, dtype: torch.dtype = torch.int64, **names: Any) -> Tensor:
    """Integers from `low` to `high` - 1; torch takes `low`, `high` and `size` by place or by name."""
    keys = ["low", "high", "size"][-(len(args) + len(names)) :]
    given = {"low": low, **dict(zip([key for key in keys if key not in names], args, strict=True)), **names}
    return integers(given.pop("low"), given.pop("high"), like_of(given.pop("size"), **given, dtype=dtype))


def randint_like(
    mode: TorchSource, input: Tensor, low: int, high: int | None = None, *, dtype: torch.dtype | None = None
) -> Tensor:
    """The same in the shape and dtype of another tensor."""
    low, high = (0, low) if high is None else (low, high)
    return integers(low, high, like_of(input.shape, dtype=dtype or input.dtype))


def randperm(mode: TorchSource, n: int, *, dtype: torch.dtype = torch.int64) -> Tensor:
    """The numbers below `n` in an order that is drawn."""
    return torch.tensor(several([1] * n, n, replace=False), dtype=dtype)


DRAWS: dict[str, Callable] = {
    draw.__name__: draw
    for draw in (rand, rand_like, uniform_, bernoulli, bernoulli_, multinomial, randint, randint_like, randperm)
}
