"""Training a network that drafts, with the target frozen: one loop for EAGLE's heads and for their rivals.

All of them see the same windows and learn from the same readings of the target; what differs is a `Training` each.
Read next: `head.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn

from ..drafters.model_set import ModelSet
from ..model import GPT
from .batches import Batches, training_streams
from .loop import Run, TrainConfig
from .teacher import Teacher, Teaching

NUM_AFTERWARDS = 50  # batches of training text that `Training.card_fields` is shown, those after the last step


@dataclass(frozen=True)
class Training:
    """How a network is trained."""

    new: Callable[[GPT, int], nn.Module]  # from the target and a seed
    loss: Callable[[GPT, nn.Module, Teaching, int], Tensor]  # a mean over windows; the seed is for noise, if any
    layers: Callable[[GPT], Sequence[int]] = lambda target: ()  # the residual streams that the loss needs
    card_fields: Callable[[GPT, nn.Module, Iterator[Teaching]], dict] = lambda target, network, text: {}
    # after training: what the card says beyond the shape, some of it chosen on training text


def train_network(
    models: ModelSet, training: Training, identity: dict, train: TrainConfig, folder: Path
) -> tuple[nn.Module, dict, Run]:
    """Train for the target of `models` in `folder`, going on where a run there stopped: the network, the fields of
    its card, and the run. The target is never changed; `identity` tells runs apart."""
    target, tokenizer = models.target.requires_grad_(False), models.tokenizer
    network = training.new(target, train.seed)
    run = Run(network, train, folder, {**identity, "target": models.target_sha256})
    mixture = train.batch_tokens, train.sums_share, tokenizer.end_id
    batches = Batches(training_streams(tokenizer, folder.parent), 2 * train.seq_len, *mixture, train.seed + 2)
    teacher = Teacher(target, models.target_sha256, folder.parent, training.layers(target))
    # without the last token of a window, which is there for losses that predict tokens: laws are learned here
    run.train(
        lambda step: batches[step][:, :-1], lambda windows, seed: training.loss(target, network, teacher(windows), seed)
    )
    later = range(train.num_steps, train.num_steps + NUM_AFTERWARDS)
    text = (teacher(piece) for step in later for piece in run.pieces(batches[step][:, :-1]))
    return network, training.card_fields(target, network, text), run
