"""Training the target: next-token cross-entropy on the mixture of domains, and perhaps a draft's beside it.

The last part of the run uses windows of the whole context, twice as long as before: short
windows are cheaper, and little is lost. Read next: `teacher.py`.
"""

import math
from dataclasses import asdict, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..checkpoint import load_head, read_card
from ..config import ModelConfig, require
from ..drafters.model_set import ModelSet
from ..head import EagleHead
from ..model import GPT
from ..tokenizer import Tokenizer
from .batches import Batches, training_streams
from .head import embedding_gain, louder, new_head, unroll
from .loop import Run, TrainConfig, begin_weights


def new_target(config: ModelConfig, seed: int) -> GPT:
    """A target that knows nothing yet (see `begin_weights`)."""
    model = GPT(config)
    begin_weights(model, torch.Generator().manual_seed(seed))
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
    """The weights of the target of `first`, under the names they have in a target of shape `config`.

    The vocabulary may be smaller: a tokenizer whose merges are the first ones of that set's keeps its rows,
    and END its own, the last. And there may be more layers: those of `first` are spread evenly among
    them. A new block adds nothing at first (see `new_target`), so the deeper target begins as the same function
    (the growing of Chen et al. 1511.05641, in depth).
    """
    old = first.target.config
    same_shape = replace(old, vocab_size=config.vocab_size, num_layers=config.num_layers)
    fits = same_shape == config and old.num_layers <= config.num_layers
    require(fits, "shape of the set to start from", old, f"{config}, or that with fewer layers")
    begins = first.tokenizer.vocabulary[: tokenizer.end_id] == tokenizer.vocabulary
    require(begins, "vocabulary of that set", first.folder, "that of --models, or one that begins like it")
    rows = [*range(tokenizer.end_id), first.tokenizer.end_id]
    weights = {}
    for name, value in first.target.state_dict().items():
        kind, *rest = name.split(".", 2)
        if kind == "blocks":
            place = int(rest[0]) * config.num_layers // old.num_layers
            name = f"blocks.{place}.{rest[1]}"
        weights[name] = value[rows] if kind in ("embed", "lm_head") else value
    return weights


def check_beside(draft_weight: float, head_from: str | None, first: ModelSet | None) -> None:
    """ValueError for what a head beside a target cannot be trained with or begin as."""
    require(0 <= draft_weight < math.inf, "draft_weight", draft_weight, "at least 0 and finite")
    known = head_from is None or (first is not None and draft_weight > 0)
    require(known, "head to start from", head_from, "one of a set to start from, and draft_weight above 0")


def head_beside(target: GPT, seed: int, first: ModelSet | None, head_from: str | None) -> EagleHead:
    """The head `head_from` of the set `first`, for a target whose vocabulary may be smaller; or a new one."""
    if head_from is None:
        return new_head(target, seed)
    given = load_head(first.folder, head_from)
    head = EagleHead(replace(given.config, vocab_size=target.vocab_size))
    head.load_state_dict(given.state_dict())
    return head


def train_target(
    model: ModelConfig,
    train: TrainConfig,
    tokenizer: Tokenizer,
    folder: Path,
    first: ModelSet | None = None,
    draft_weight: float = 0.0,
    head_from: str | None = None,
) -> tuple[GPT, EagleHead | None, Run]:
    """Train in `folder`, going on where a run there stopped; returns the target, the head beside it, if any,
    and the run. The weights start from those of the set `first`, if there is one. With a `draft_weight` a
    head is trained beside the target, as in DeepSeek-V3's multi-token prediction (2412.19437, section
    2.2): it starts as the head `head_from` of that set, or anew."""
    check_beside(draft_weight, head_from, first)
    target, head = new_target(model, train.seed), None
    if first is not None:
        target.load_state_dict(target.state_dict() | weights_for(model, tokenizer, first))
    trained = nn.ModuleDict({"target": target})
    if draft_weight > 0:
        trained["head"] = head = head_beside(target, train.seed + 2, first, head_from)
        gain = embedding_gain(target)  # the head reads embeddings as loud as features; see `train_louder`
        louder(head, 1 / gain)
    identity = {"model": asdict(model), "tokenizer": tokenizer.sha256, "first": first and first.target_sha256}
    identity |= {"draft_weight": draft_weight, "head_from": head_from and read_card(first.folder, head_from)["sha256"]}
    run = Run(trained, train, folder, identity)
    streams = training_streams(tokenizer, folder.parent)
    mixture = train.batch_tokens, train.sums_share, tokenizer.end_id
    short = Batches(streams, train.seq_len, *mixture, train.seed)
    long = Batches(streams, 2 * train.seq_len, *mixture, train.seed + 1)
    first_long = round((1 - train.long_share) * train.num_steps)

    def loss(windows: Tensor, seed: int) -> Tensor:
        if head is not None:
            return joint_loss(target, head, draft_weight, gain, windows)
        return next_token_loss(target, windows)

    run.train(lambda step: (long if step >= first_long else short)[step], loss)
    if head is not None:
        louder(head, gain)
    return target, head, run
