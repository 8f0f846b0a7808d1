"""What all rivals' trainings have in common: where networks start, which windows they see, what they are chosen on."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from networks import CONFIG, random_target

import eagle_min.train.network
from eagle_min.tokenizer import Tokenizer
from eagle_min.train.batches import DOMAINS, Batches
from eagle_min.train.loop import TrainConfig
from eagle_min.train.rivals import registry as rivals
from eagle_min.train.rivals.eagle3 import new_eagle3, unroll
from eagle_min.train.rivals.mtp import new_mtp
from eagle_min.train.rivals.small_model import new_small_model
from eagle_min.train.target import new_target
from eagle_min.train.teacher import Teacher, features_and_streams, teach


def target_with_a_norm():
    """A new target whose last norm is not the identity, as those of trained ones are not."""
    target = new_target(CONFIG, seed=2)
    with torch.no_grad():
        target.norm.weight.uniform_(0.5, 2.0, generator=torch.Generator().manual_seed(1))
    return target


def test_an_eagle3_head_begins_with_what_the_target_says_of_its_highest_stream():
    target = target_with_a_norm()
    head = new_eagle3(target, 0)
    with torch.no_grad():
        *others, last = head.fuse.weight.split(CONFIG.width, dim=1)
        for part in others:
            part.zero_()
        last.copy_(torch.eye(CONFIG.width))
        ids = torch.arange(6)[None]
        features, streams = features_and_streams(target, ids, head.layers)
        states = next(unroll(head, streams, target.embed(ids), 1))
        assert torch.allclose(head.logits(states), 0.3 * target.lm_head(features), atol=1e-3)
    again = new_eagle3(target, 0)
    *others, last = again.fuse.weight.split(CONFIG.width, dim=1)
    assert last.diagonal().mean() > 0.7 and all(part.diagonal().mean().abs() < 0.3 for part in others)


@pytest.mark.parametrize("new", [new_small_model, lambda target, seed: new_mtp(target, seed).depths[-1]])
def test_other_networks_begin_with_the_norm_of_the_target(new):
    target = target_with_a_norm()
    assert torch.equal(new(target, 0).norm.weight, target.norm.weight)


def test_a_later_step_of_eagle3_teaches_the_ones_before_it():
    """Its layer adds nothing yet, so all that a state of the third step is made of has come through the first two."""
    head = new_eagle3(target_with_a_norm(), 0)
    streams, embedded = torch.randn(1, 4, 3 * CONFIG.width), torch.randn(1, 6, CONFIG.width)
    *_, last = unroll(head, streams, embedded, 3)
    [gradient] = torch.autograd.grad(last.square().sum(), [head.fuse.weight])
    assert gradient.abs().max() > 0


@pytest.mark.parametrize("layers", [(0, 2, 1), (2, 0), (1,)])
def test_streams_that_were_kept_come_in_the_order_that_is_asked_for(layers, tmp_path):
    target, ids = random_target(0), torch.tensor([[1, 2, 3], [3, 2, 1]])
    for _ in range(2):  # computed, then found
        kept = Teacher(target, "a" * 64, tmp_path, layers)(ids)
        assert torch.allclose(kept.streams, teach(target, ids, layers).streams, atol=2e-2)


def test_a_rival_is_trained_on_whole_windows_and_what_is_chosen_is_chosen_on_later_ones(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    streams = {name: rng.integers(0, CONFIG.vocab_size, 50_000).astype(np.uint16) for name in DOMAINS}
    monkeypatch.setattr(eagle_min.train.network, "training_streams", lambda *_: streams)
    tokenizer = Tokenizer([bytes([byte]) for byte in range(256)])
    target, train = new_target(CONFIG, seed=1), TrainConfig(tokens=1024, batch_tokens=512, seq_len=16)
    learned, shown = [], []

    def loss(target, network, taught, seed):
        learned.append(taught.windows)
        return sum(parameter.square().mean() for parameter in network.parameters())

    rival = replace(
        rivals.RIVALS["small_model"],
        loss=loss,
        card_fields=lambda target, network, text: {"shown": shown.extend(taught.windows for taught in text)},
    )
    models = SimpleNamespace(target=target, tokenizer=tokenizer, target_sha256="0" * 64)
    eagle_min.train.network.train_network(models, rival, {}, train, tmp_path / "runs" / "one")
    batches = Batches(streams, 32, 512, train.sums_share, tokenizer.end_id, train.seed + 2)
    wanted = [batches[step][:, :-1] for step in range(2 + eagle_min.train.network.NUM_AFTERWARDS)]
    assert sorted(torch.cat(learned).tolist()) == sorted(torch.cat(wanted[:2]).tolist())  # pieces come in any order
    assert torch.equal(torch.cat(shown), torch.cat(wanted[2:]))
