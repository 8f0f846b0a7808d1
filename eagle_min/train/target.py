"""Training the target: next-token cross-entropy on the mixture of domains.

The last part of the run uses windows of the whole context, twice as long as before: short
windows are cheaper, and little is lost. Read next: `head.py`.
"""

from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from ..checkpoint import ModelSet
from ..config import ModelConfig, require
from ..model import GPT
from ..tokenizer import Tokenizer
from .batches import Batches, training_streams
from .loop import Run, TrainConfig


def new_target(config: ModelConfig, seed: int) -> GPT:
    """Weights of variance 1 / inputs; what a block adds starts at zero (as in Muon's own recipe)."""
    generator = torch.Generator().manual_seed(seed)
    model = GPT(config)
    for name, param in model.named_parameters():
        if name.endswith(("attention.out.weight", "mlp.down.weight")):
            torch.nn.init.zeros_(param)
        elif param.ndim == 2:
            std = 0.02 if name.startswith(("embed", "lm_head")) else param.shape[1] ** -0.5
            torch.nn.init.normal_(param, std=std, generator=generator)
    return model


def next_token_loss(target: GPT, windows: Tensor) -> Tensor:
    """Mean cross-entropy in nats of (rows, T + 1) windows."""
    _, logits = target(windows[:, :-1], torch.arange(windows.shape[1] - 1))
    return F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())


def train_target(
    model: ModelConfig, train: TrainConfig, tokenizer: Tokenizer, folder: Path, first: ModelSet | None = None
) -> tuple[GPT, Run]:
    """Train in `folder`, going on where a run there stopped; returns the model and its run. The weights
    start from those of the set `first`, if there is one."""
    target = new_target(model, train.seed)
    if first is not None:
        require(first.target.config == model, "shape of the set to start from", first.target.config, f"{model}")
        require(first.tokenizer.sha256 == tokenizer.sha256, "vocabulary of that set", first.folder, "that of --models")
        target.load_state_dict(first.target.state_dict())
    identity = {"model": asdict(model), "tokenizer": tokenizer.sha256, "first": first and first.target_sha256}
    run = Run(target, train, folder, identity)
    streams = training_streams(tokenizer, folder.parent)
    mixture = train.batch_tokens, train.sums_share, tokenizer.end_id
    short = Batches(streams, train.seq_len, *mixture, train.seed)
    long = Batches(streams, 2 * train.seq_len, *mixture, train.seed + 1)
    first_long = round((1 - train.long_share) * train.num_steps)
    run.train(lambda step: (long if step >= first_long else short)[step], lambda w, seed: next_token_loss(target, w))
    return target, run
