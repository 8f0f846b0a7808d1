"""One training loop for every model here: resumable, seeded, safe to kill at any moment.

What is trained is a loss, a function of a batch of token windows; gradients are taken on
small pieces of the batch by two threads, which on a CPU is faster than splitting each operator
over the cores and shares the cores fairly with whatever else runs. Everything a run needs to go
on lies in one file, which is replaced, never rewritten. Read next: `target.py`.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from ..config import require, require_seed
from ..files import write_atomically
from .muon import Muon


@dataclass(frozen=True)
class TrainConfig:
    """How long and how fast. The learning rates rise for `warmup` steps, stay, and fall in a
    straight line to zero over the last `decay` of all tokens."""

    tokens: int = 20_000_000
    batch_tokens: int = 8192  # in a step
    seq_len: int = 256
    sums_share: float = 0.2  # of the tokens; code and prose share the rest
    matrix_lr: float = 0.015  # Muon, matrices inside the blocks
    other_lr: float = 0.003  # AdamW, embedding, LM head, norms
    warmup: int = 50
    decay: float = 0.5
    long_share: float = 0.15  # this last share of the tokens comes in windows twice as long
    micro_tokens: int = 1024  # what a thread takes at a time
    num_threads: int = 2
    seed: int = 0
    save_seconds: int = 120

    def __post_init__(self) -> None:
        least = 2 * self.seq_len  # one of the longer windows
        fits = self.batch_tokens > 0 and self.batch_tokens % least == 0
        require(fits, "batch_tokens", self.batch_tokens, f"a multiple of {least}, above 0")
        for name in ("matrix_lr", "other_lr"):
            require(0 <= getattr(self, name) <= LARGEST_RATE, name, getattr(self, name), f"0 to {LARGEST_RATE:g}")
        require_seed(self.seed)
        allowed = f"at least one batch ({self.batch_tokens}) and below 2**60"
        require(self.batch_tokens <= self.tokens < 2**60, "tokens", self.tokens, allowed)
        require(0 < self.decay <= 1, "decay", self.decay, "above 0 and at most 1")
        require(0 < self.sums_share < 1, "sums_share", self.sums_share, "between 0 and 1")
        require(self.num_threads >= 1, "num_threads", self.num_threads, "at least 1")

    @property
    def num_steps(self) -> int:
        return self.tokens // self.batch_tokens

    def rate(self, step: int) -> float:
        """The factor on both learning rates at `step`."""
        rising = (step + 1) / self.warmup
        falling = (self.num_steps - step) / (self.decay * self.num_steps)
        return min(1.0, rising, falling)


LARGEST_RATE = 1e3  # any that learns is far smaller
REPORT = 10  # steps between two lines of progress
RECENT = 50  # steps that a loss is the mean of

MAY_CHANGE = {"tokens", "decay", "long_share", "num_threads", "save_seconds", "micro_tokens"}  # when a run goes on


def make_optimizers(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """Muon for the matrices between embedding and LM head, AdamW for all else that trains."""
    named = [(name, param) for name, param in model.named_parameters() if param.requires_grad]
    outer = {"embed", "lm_head"}
    inner = [param for name, param in named if param.ndim == 2 and outer.isdisjoint(name.split("."))]
    other = [param for _, param in named if all(param is not matrix for matrix in inner)]
    adam = torch.optim.AdamW(other, lr=config.other_lr, betas=(0.9, 0.95), weight_decay=0.0)
    return [Muon(inner, lr=config.matrix_lr), adam]


def begin_weights(model: nn.Module, generator: torch.Generator, fuse_gain: float = 1.0) -> None:
    """Matrices at variance 1 / inputs, embedding and LM head small, what a block adds at zero (as in Muon's own
    recipe); a layer called `fuse` at `fuse_gain` of its size. Vectors stay as they are."""
    for name, param in model.named_parameters():
        if name.endswith(("attention.out.weight", "mlp.down.weight")):
            torch.nn.init.zeros_(param)
        elif param.ndim == 2:
            gain = fuse_gain if name == "fuse.weight" else 1.0
            std = 0.02 if name.startswith(("embed", "lm_head")) else gain * param.shape[1] ** -0.5
            torch.nn.init.normal_(param, std=std, generator=generator)


@contextmanager
def one_thread_an_operator() -> Iterator[Callable[[], None]]:
    """No operator is split over cores here; yields what a new thread has to call. Operators that
    share one step among two threads wait for each other, and on a busy machine they wait long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield lambda: torch.set_num_threads(1)
    finally:
        torch.set_num_threads(before)


class Run:
    """A training run in a folder: `state.pt` is all there is to it."""

    def __init__(self, model: nn.Module, config: TrainConfig, folder: Path, identity: dict) -> None:
        """`identity` says in plain values what else the run depends on: shape, recipe, target, vocabulary.
        ValueError when the folder holds a run that differs in it, or in what may not change."""
        self.model, self.config, self.path = model, config, folder / "state.pt"
        self.fixed = {**{k: v for k, v in asdict(config).items() if k not in MAY_CHANGE}, **identity}
        self.optimizers = make_optimizers(model, config)
        self.step, self.seconds = 0, 0.0
        self.losses: list[tuple[int, float]] = []  # (step, mean over the last RECENT steps)
        folder.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            self._resume()

    def _resume(self) -> None:
        try:
            state = torch.load(self.path, weights_only=True)
            begun = dict(state["fixed"])
        except Exception as error:  # a file of another kind makes torch raise almost anything
            raise ValueError(f"{self.path} is not the state of a run: use another folder") from error
        changed = [key for key in {**begun, **self.fixed} if begun.get(key) != self.fixed.get(key)]
        if changed:
            raise ValueError(f"{self.path} was begun with other values of {', '.join(changed)}: use another folder")
        try:
            self.model.load_state_dict(state["model"])
            for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
                optimizer.load_state_dict(saved)
            self.step, self.seconds, self.losses = state["step"], state["seconds"], list(state["losses"])
        except Exception as error:
            raise ValueError(f"{self.path} is the state of a run, but not whole: use another folder") from error

    def save(self) -> None:
        state = {
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "step": self.step,
            "seconds": self.seconds,
            "losses": self.losses,
            "fixed": self.fixed,
        }
        write_atomically(self.path, lambda file: torch.save(state, file))

    def train(self, batch: Callable[[int], Tensor], loss: Callable[[Tensor, int], Tensor]) -> None:
        """Run to the end of `config.tokens`. `batch(step)` is (rows, tokens) token ids;
        `loss(windows, seed)` is a mean over windows; `seed` is for whatever noise it wants, the
        same when a step is run again."""
        config, start = self.config, time.monotonic() - self.seconds
        params = [p for optimizer in self.optimizers for group in optimizer.param_groups for p in group["params"]]
        saved, recent = time.monotonic(), []
        with one_thread_an_operator() as single, ThreadPoolExecutor(config.num_threads, initializer=single) as pool:
            while self.step < config.num_steps:
                recent = [*recent[1 - RECENT :], self._one_step(batch(self.step), loss, params, pool)]
                self.step, self.seconds = self.step + 1, time.monotonic() - start
                if self.step % REPORT == 0 or self.step == config.num_steps:
                    self._report(recent)
                if self.step % (10 * REPORT) == 0:
                    self.losses.append((self.step, round(sum(recent) / len(recent), 4)))
                if time.monotonic() - saved > config.save_seconds:
                    self.save()
                    saved = time.monotonic()
        self.save()

    def pieces(self, windows: Tensor) -> tuple[Tensor, ...]:
        """A batch in parts of about `micro_tokens`, whole windows each."""
        return windows.split(max(1, self.config.micro_tokens // (windows.shape[1] - 1)))

    def _one_step(self, windows: Tensor, loss: Callable, params: list, pool: ThreadPoolExecutor) -> float:
        pieces = self.pieces(windows)

        def gradients(number: int) -> tuple[float, tuple[Tensor, ...]]:
            share = len(pieces[number]) / len(windows)
            value = loss(pieces[number], self.step * len(pieces) + number) * share
            return value.item(), torch.autograd.grad(value, params)

        for param in params:
            param.grad = torch.zeros_like(param)
        total = 0.0
        for value, grads in pool.map(gradients, range(len(pieces))):
            total += value
            torch._foreach_add_([param.grad for param in params], list(grads))
        require(math.isfinite(total), f"loss at step {self.step}", total, "finite: lower the learning rates")
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group.setdefault("base_lr", group["lr"]) * self.config.rate(self.step)
            optimizer.step()
        return total

    def _report(self, recent: list[float]) -> None:
        num_steps = self.config.num_steps
        left = self.seconds / self.step * (num_steps - self.step) / 60
        line = f"step {self.step}/{num_steps}  loss {sum(recent) / len(recent):.4f}  {left:.0f} min left"
        end = "\r" if sys.stderr.isatty() and self.step < num_steps else "\n"
        print(line, end=end, file=sys.stderr, flush=True)
