"""Training the rivals' networks with the target frozen: one loop, and what differs in a row each.

All see the same windows as EAGLE heads do, and learn from the same laws of the target.
Read next: `eagle3.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn

from ..model import GPT
from ..models import ModelSet
from . import eagle3, medusa, mtp, small_model
from .batches import Batches, training_streams
from .loop import Run, TrainConfig
from .teacher import Teacher, Teaching

NUM_AFTERWARDS = 50  # batches of training text that `Rival.finish` is shown, those after the last step


@dataclass(frozen=True)
class Rival:
    """How a network is trained."""

    new: Callable[[GPT, int], nn.Module]  # from the target and a seed
    loss: Callable[[GPT, nn.Module, Teaching, int], Tensor]  # a mean over windows; the seed is for noise, if any
    layers: Callable[[GPT], Sequence[int]] = lambda target: ()  # the residual streams that the loss needs
    finish: Callable[[GPT, nn.Module, Iterator[Teaching]], dict] = lambda target, network, text: {}
    # after training: what is chosen on training text, for the card


RIVALS = {  # by the kind of network, which is also the name of the command and of the file
    "eagle3": Rival(eagle3.new_eagle3, eagle3.eagle3_loss, eagle3.layers_of, eagle3.chosen),
    "small_model": Rival(small_model.new_small_model, small_model.small_model_loss),
    "medusa": Rival(medusa.new_medusa, medusa.medusa_loss, finish=medusa.choose_paths),
    "mtp": Rival(mtp.new_mtp, mtp.mtp_loss, finish=mtp.chosen),
}


def train_rival(
    models: ModelSet, rival: Rival, identity: dict, train: TrainConfig, folder: Path
) -> tuple[nn.Module, dict, Run]:
    """Train for the target of `models` in `folder`, going on where a run there stopped: the network, what was
    chosen on training text, and the run. The target is never changed; `identity` tells runs apart."""
    target, tokenizer = models.target.requires_grad_(False), models.tokenizer
    network = rival.new(target, train.seed)
    run = Run(network, train, folder, {**identity, "target": models.target_sha256})
    mixture = train.batch_tokens, train.sums_share, tokenizer.end_id
    batches = Batches(training_streams(tokenizer, folder.parent), 2 * train.seq_len, *mixture, train.seed + 2)
    teacher = Teacher(target, models.target_sha256, folder.parent, rival.layers(target))
    run.train(
        lambda step: batches[step][:, :-1], lambda windows, seed: rival.loss(target, network, teacher(windows), seed)
    )
    later = range(train.num_steps, train.num_steps + NUM_AFTERWARDS)
    text = (teacher(piece) for step in later for piece in run.pieces(batches[step][:, :-1]))
    return network, rival.finish(target, network, text), run
