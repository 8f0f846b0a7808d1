"""What the frozen target says about windows of text: the most expensive part of every step here.

All networks that draft are trained on the same windows, so what the target says is computed once and kept
on disk, named by the windows themselves: another run, recipe or learning rate finds it there. It is
kept in half precision, and what is read for the first time is rounded like what is found.
Shapes: B windows, L tokens, D width, V vocabulary. Read next: `network.py`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..files import write_atomically
from ..model import GPT


@dataclass(frozen=True)
class Teaching:
    """Windows of tokens, and the target's view of each token in them."""

    windows: Tensor  # (B, L) token ids
    features: Tensor  # (B, L, D)
    laws: Tensor  # (B, L, V), of the token after each
    streams: Tensor  # (B, L, number of layers x D), residual streams side by side; (B, L, 0) when none were asked for


@torch.no_grad()
def features_and_streams(target: GPT, windows: Tensor, layers: Sequence[int]) -> tuple[Tensor, Tensor]:
    """One pass over (B, L) windows: features (B, L, D), and the streams of these layers side by side."""
    streams = target.residual_streams(windows, torch.arange(windows.shape[1]))
    features = target.norm(streams[-1])
    return features, torch.cat([features[..., :0], *(streams[layer] for layer in layers)], dim=-1)


@torch.no_grad()
def teaching(target: GPT, windows: Tensor, features: Tensor, streams: Tensor) -> Teaching:
    """The laws that go with the features, and all together."""
    return Teaching(windows, features, target.lm_head(features).softmax(dim=-1), streams)


def teach(target: GPT, windows: Tensor, layers: Sequence[int] = ()) -> Teaching:
    """The target's view of (B, L) windows, computed now and kept nowhere."""
    return teaching(target, windows, *features_and_streams(target, windows, layers))


class Teacher:
    """A target whose view of windows is kept in a folder of its own below `folder`."""

    def __init__(self, target: GPT, target_sha256: str, folder: Path, layers: Sequence[int] = ()) -> None:
        """layers: the residual streams that are wanted beside the features."""
        self.target, self.layers = target, tuple(layers)
        self.folder = folder / f"teacher-{target_sha256[:16]}"

    def __call__(self, windows: Tensor) -> Teaching:
        """The target's view of (B, L) windows."""
        name = hashlib.sha256(windows.numpy().tobytes()).hexdigest()[:32]
        paths = [self.folder / part / f"{name}.npy" for part in ("features", *(f"stream-{i}" for i in self.layers))]
        if not all(path.exists() for path in paths):
            both = torch.cat(features_and_streams(self.target, windows, self.layers), dim=-1)
            for path, part in zip(paths, both.half().split(self.target.config.width, dim=-1)):
                write_atomically(path, partial(np.save, arr=part.numpy()))
        features, *streams = (torch.from_numpy(np.load(path)).to(self.target.lm_head.weight.dtype) for path in paths)
        return teaching(self.target, windows, features, torch.cat([features[..., :0], *streams], dim=-1))
