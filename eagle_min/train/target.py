"""Training the target: next-token cross-entropy on the mixture of domains.

The last part of the run uses windows of the whole context, twice as long as before: short
windows are cheaper, and little is lost. Read next: `head.py`.
"""

import math
from dataclasses import asdict, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..checkpoint import ModelSet
from ..config import ModelConfig, require
from ..head import EagleHead
from ..model import GPT
from ..tokenizer import Tokenizer
from .batches import Batches, training_streams
from .head import louder, loudness, new_head, unroll
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
    return missed(logits, windows)


def missed(logits: Tensor, windows: Tensor) -> Tensor:
    """Mean cross-entropy of logits (rows, T, V) with the tokens that follow."""
    return F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())


def joint_loss(target: GPT, head: EagleHead, weight: float, factor: float, windows: Tensor) -> Tensor:
    """Next-token loss plus `weight` times the draft's: its cross-entropy with the target's own laws.

    Row t of the draft is (feature t, embedding of token t + 1). Its gradient goes on into the features,
    so that they come to hold what the head needs; the laws that it imitates are taken as given.
    Embeddings reach the head multiplied by `factor`.
    """
    features, logits = target(windows[:, :-1], torch.arange(windows.shape[1] - 1))
    embedded = factor * target.embed(windows[:, 1:-1])
    [guesses] = unroll(head, features[:, :-1], embedded, num_steps=1)
    wanted = logits[:, 1:].detach().softmax(dim=-1)
    draft_loss = F.cross_entropy(target.lm_head(guesses).flatten(0, 1), wanted.flatten(0, 1))
    return missed(logits, windows) + weight * draft_loss


def weights_for(config: ModelConfig, tokenizer: Tokenizer, first: ModelSet) -> dict[str, Tensor]:
    """The weights of the target of `first`, for a tokenizer whose merges are the first ones of that set's:
    what is kept of its vocabulary keeps its rows, and END its own, the last."""
    same_shape = replace(first.target.config, vocab_size=config.vocab_size)
    require(same_shape == config, "shape of the set to start from", first.target.config, f"{config}")
    begins = first.tokenizer.vocabulary[: tokenizer.end_id] == tokenizer.vocabulary
    require(begins, "vocabulary of that set", first.folder, "that of --models, or one that begins like it")
    rows = [*range(tokenizer.end_id), first.tokenizer.end_id]
    state = first.target.state_dict()
    return state | {name: state[name][rows] for name in ("embed.weight", "lm_head.weight")}


def train_target(
    model: ModelConfig,
    train: TrainConfig,
    tokenizer: Tokenizer,
    folder: Path,
    first: ModelSet | None = None,
    draft_weight: float = 0.0,
) -> tuple[GPT, Run]:
    """Train in `folder`, going on where a run there stopped; returns the model and its run. The weights
    start from those of the set `first`, if there is one. With a `draft_weight` a head is trained beside
    the target, as in DeepSeek-V3's multi-token prediction (2412.19437, section 2.2), and thrown away."""
    require(0 <= draft_weight < math.inf, "draft_weight", draft_weight, "at least 0 and finite")
    target = new_target(model, train.seed)
    if first is not None:
        target.load_state_dict(weights_for(model, tokenizer, first))
    trained = nn.ModuleDict({"target": target})
    if draft_weight > 0:
        trained["head"] = new_head(target, train.seed + 2)
        loud = loudness(target)  # the head reads embeddings as loud as features; see `train_head`
        louder(trained["head"], 1 / loud)
    identity = {"model": asdict(model), "tokenizer": tokenizer.sha256, "first": first and first.target_sha256}
    run = Run(trained, train, folder, {**identity, "draft_weight": draft_weight})
    streams = training_streams(tokenizer, folder.parent)
    mixture = train.batch_tokens, train.sums_share, tokenizer.end_id
    short = Batches(streams, train.seq_len, *mixture, train.seed)
    long = Batches(streams, 2 * train.seq_len, *mixture, train.seed + 1)
    first_long = round((1 - train.long_share) * train.num_steps)

    def loss(windows: Tensor, seed: int) -> Tensor:
        if draft_weight > 0:
            return joint_loss(target, trained["head"], draft_weight, loud, windows)
        return next_token_loss(target, windows)

    run.train(lambda step: (long if step >= first_long else short)[step], loss)
    return target, run
