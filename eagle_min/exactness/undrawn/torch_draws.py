"""What stands for the functions of torch that draw, while a program is watched.

Torch asks a mode (`TorchSource`) about each of its functions. Those that draw choices ask dice, those that draw uniform
numbers give an `UndrawnTensor`. What is drawn into a real tensor in place is kept for the whole of its memory,
so that all its views see it.
Read next: `generators.py`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..no_verdict import undecided
from .numpy_arrays import Undrawn, UndrawnArray
from .stand_ins import THIS_RUN, Impossible, array_of, call_stand_in, refusing, refusing_in_run
from .torch_functions import is_in_place
from .torch_tensor import ANSWERS, UndrawnTensor, elements_of, torch_name

REFUSED = {  # name in torch -> what it is called where it cannot be enumerated
    "exponential_": "a race of exponential numbers",
    **dict.fromkeys(("randn", "randn_like", "normal", "normal_", "log_normal_"), "a normal number"),
    **{
        name: f"torch.{name}"
        for name in "poisson binomial cauchy_ geometric_ random_ _standard_gamma _sample_dirichlet rrelu_with_noise "
        "gumbel_softmax fractional_max_pool2d fractional_max_pool3d native_dropout".split()
    },
}
MAY_DRAW = set(  # when they are told to, as in training
    "dropout dropout_ dropout1d dropout2d dropout3d alpha_dropout alpha_dropout_ feature_alpha_dropout "
    "feature_alpha_dropout_ feature_dropout feature_dropout_ rrelu rrelu_ scaled_dot_product_attention "
    "lstm gru rnn_tanh rnn_relu multi_head_attention_forward".split()
)
# methods of torch.Generator
SEEDING = "manual_seed seed set_state get_state clone_state set_offset graphsafe_set_state graphsafe_get_state".split()
FROM_ARRAYS = {"tensor", "as_tensor", "from_numpy", "asarray"}


class TorchSource(TorchFunctionMode):
    """Torch asks this mode about each of its functions; those that draw are answered here."""

    def __init__(self) -> None:
        super().__init__()
        # address of a tensor's memory -> the tensor, which keeps it from being freed, and the elements of the whole
        self.drawn_into: dict[int, tuple[Tensor, UndrawnTensor]] = {}
        draws = (rand, rand_like, bernoulli, bernoulli_, multinomial, randint, randint_like, randperm)
        self.draws: dict[str, Callable] = {draw.__name__: draw for draw in (*draws, self.uniform_)}

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name, kwargs = torch_name(func), kwargs or {}
        if name in REFUSED:
            refusing(REFUSED[name])()
        if self.drawn_into:
            args, kwargs = self.as_drawn(args), self.as_drawn(kwargs)
        if name in self.draws:
            return call_stand_in(f"torch.{name}", self.draws[name], args, kwargs, RuntimeError)
        if not holds_undrawn((args, kwargs)):
            return unless_it_draws(name, func, args, kwargs) if name in MAY_DRAW else func(*args, **kwargs)
        if name in FROM_ARRAYS:
            return call_stand_in(f"torch.{name}", from_array, args, kwargs, RuntimeError)
        written = args[0] if writes(name) and isinstance(args[0], Tensor) else None
        if written is not None:
            args = (self.writable(written), *args[1:])
        result = UndrawnTensor.__torch_function__(func, types, args, kwargs)
        return result if written is None else written

    def as_drawn(self, value: Any) -> Any:
        """The same with undrawn tensors in the place of real ones that were drawn into."""
        if isinstance(value, Tensor):
            _, whole = self.drawn_into.get(memory_of(value), (None, None))
            return value if whole is None else view(whole, value)
        if isinstance(value, dict):
            return {key: self.as_drawn(item) for key, item in value.items()}
        return type(value)(map(self.as_drawn, value)) if type(value) in (list, tuple) else value

    def writable(self, tensor: Tensor | UndrawnTensor) -> UndrawnTensor:
        """An undrawn tensor in the place of a real one that is about to be drawn into."""
        if isinstance(tensor, UndrawnTensor):
            return tensor
        if tensor.numel() == 0:
            return UndrawnTensor.of(np.empty(tensor.shape, dtype=object), tensor.dtype)
        memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
        whole = UndrawnTensor.of(elements_of(memory), tensor.dtype)
        self.drawn_into[memory_of(tensor)] = tensor, whole
        return view(whole, tensor)

    def uniform_(self, input: Any, low: float = 0.0, high: float = 1.0, **names: float) -> Any:
        """Numbers between `low` and `high` (torch's `from` and `to`), written into the tensor."""
        low, high = names.pop("from", low), names.pop("to", high)
        if names:
            raise TypeError(f"{names}")
        drawn = uniform_tensor(input.shape, input.dtype) * (high - low) + low
        self.writable(input).write(elements_of(drawn))
        return input


def writes(name: str) -> bool:
    """Does this function write into its first argument, and is it understood?"""
    return name in ANSWERS and (is_in_place(name) or name == "__setitem__")


def memory_of(tensor: Tensor) -> int:
    """What tensors that share memory have in common; 0 where there is none."""
    return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided and tensor.device.type == "cpu" else 0


def view(whole: UndrawnTensor, like: Tensor) -> UndrawnTensor:
    """The elements of a tensor's memory where `like` has them."""
    if like.dtype != whole.dtype:
        undecided(f"a tensor of {whole.dtype} with random numbers is read as {like.dtype}")
    places = whole.places.as_strided(like.shape, like.stride(), like.storage_offset())
    return UndrawnTensor(whole.store, places, whole.dtype)


def holds_undrawn(value: Any) -> bool:
    """Is there a number in it that nobody has drawn?"""
    if isinstance(value, dict):
        return any(map(holds_undrawn, value.values()))
    return any(map(holds_undrawn, value)) if type(value) in (list, tuple) else isinstance(value, Undrawn)


def unless_it_draws(name: str, func: Callable, args: tuple, kwargs: dict) -> Any:
    """What a function in `MAY_DRAW` returns; refused where it drew."""
    before = torch.default_generator.get_state()
    result = func(*args, **kwargs)
    if not torch.equal(before, torch.default_generator.get_state()):
        refusing(f"torch.{name}")()
    return result


def from_array(data: Any, *, dtype: torch.dtype | None = None) -> UndrawnTensor:
    """`torch.tensor` and its like, of numbers that nobody has drawn; always a copy."""
    usual = torch.float64 if isinstance(data, UndrawnArray) else torch.get_default_dtype()
    return UndrawnTensor.of(data, dtype or usual)


def without_memory(*args: Any, **kwargs: Any) -> Tensor:
    """A tensor of shape and dtype only, as torch reads them from the arguments."""
    return torch.empty(*args, **kwargs, device="meta")


def only_floating(name: str, dtype: torch.dtype) -> None:
    """As torch, which draws no whole numbers in this way."""
    if not dtype.is_floating_point:
        raise Impossible(f'"{name}" not implemented for {dtype}', NotImplementedError)


def uniform_tensor(shape: Any, dtype: torch.dtype) -> UndrawnTensor:
    """Uniform numbers in [0, 1)."""
    only_floating("check_uniform_bounds", dtype)
    return UndrawnTensor.of(array_of(tuple(shape)), dtype)


def rand(*size: Any, **kwargs: Any) -> UndrawnTensor:
    """Uniform numbers in the shape that torch reads from the arguments."""
    like = without_memory(*size, **kwargs)
    return uniform_tensor(like.shape, like.dtype)


def rand_like(input: Any, *, dtype: torch.dtype | None = None) -> UndrawnTensor:
    """Uniform numbers in the shape of another tensor."""
    return uniform_tensor(input.shape, dtype or input.dtype)


def bernoulli(input: Tensor, p: float | None = None) -> Tensor:
    """1 with the probabilities of `input`, or with `p`; in the dtype of `input`."""
    if p is None:
        only_floating("bernoulli_tensor_cpu_p_", input.dtype)
    chances = input.double() if p is None else torch.full(input.shape, float(p))
    drawn = [float(THIS_RUN.accept(x)) for x in chances.flatten().tolist()]
    return torch.tensor(drawn, dtype=input.dtype).reshape(input.shape)


def bernoulli_(input: Tensor, p: Any = 0.5) -> Tensor:
    """The same, written into the tensor."""
    chances = torch.as_tensor(p, dtype=torch.float64).expand(input.shape)
    return input.copy_(bernoulli(chances))


def multinomial(input: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
    """Indices drawn by the weights of each row: (..., num_samples)."""
    if not input.is_floating_point():
        raise Impossible(f"multinomial only supports floating-point dtypes for input, got: {input.dtype}")
    rows = input.reshape(-1, input.shape[-1]).double().numpy()
    drawn = torch.tensor([THIS_RUN.indices(row, num_samples, replacement) for row in rows])
    return drawn.reshape(*input.shape[:-1], num_samples)


def integers(low: int, high: int, like: Tensor) -> Tensor:
    """Integers from `low` to `high` - 1, in the shape and dtype of `like`."""
    if high <= low:
        raise Impossible(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    drawn = [low + THIS_RUN.below(high - low) for _ in range(like.numel())]
    return torch.tensor(drawn, dtype=torch.int64).reshape(like.shape).to(like.dtype)


def randint(*args: Any, low: int = 0, dtype: torch.dtype = torch.int64, **names: Any) -> Tensor:
    """Integers from `low` to `high` - 1; torch takes `low`, `high` and `size` by place or by name."""
    keys = ["low", "high", "size"][-(len(args) + len(names)) :]
    given = {"low": low, **dict(zip([key for key in keys if key not in names], args, strict=True)), **names}
    return integers(given.pop("low"), given.pop("high"), without_memory(given.pop("size"), **given, dtype=dtype))


def randint_like(input: Tensor, low: int, high: int | None = None, *, dtype: torch.dtype | None = None) -> Tensor:
    """The same in the shape and dtype of another tensor."""
    low, high = (0, low) if high is None else (low, high)
    return integers(low, high, without_memory(input.shape, dtype=dtype or input.dtype))


def randperm(n: int, *, dtype: torch.dtype = torch.int64) -> Tensor:
    """The numbers below `n` in an order that is drawn."""
    return torch.tensor(THIS_RUN.order(n), dtype=dtype)


class TorchGenerator(torch.Generator):
    """Stands for the class; refused where it is made or seeded in a run."""

    def __new__(cls, *args: Any, **kwargs: Any) -> torch.Generator:
        if THIS_RUN.dice is not None:
            undecided("a torch.Generator is made in the call, so it draws the same numbers each time")
        return super().__new__(cls, *args, **kwargs)


for _name in filter(partial(hasattr, torch.Generator), SEEDING):
    setattr(TorchGenerator, _name, refusing_in_run(f"torch.Generator.{_name}", getattr(torch.Generator, _name)))
