"""Training a target with a head beside it, and starting from weights with a larger vocabulary.

The oracle runs `networks.slow_target` and `slow_head`: numpy, one text at a time.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import CONFIG, random_head, random_target, slow_head, slow_target, weights
from test_train import CONFIG as TRAIN

import eagle_min.train.target
from eagle_min.checkpoint import load_head, load_target, save_model
from eagle_min.drafters.model_set import ModelSet
from eagle_min.model import GPT
from eagle_min.tokenizer import Tokenizer
from eagle_min.train.head import embedding_gain, new_head
from eagle_min.train.target import joint_loss, new_target, next_token_loss, train_target, weights_for

tokens = st.integers(0, CONFIG.vocab_size - 1)
windows = st.lists(st.lists(tokens, min_size=6, max_size=6), min_size=1, max_size=2)


def log_softmax(row: np.ndarray) -> np.ndarray:
    return row - row.max() - math.log(np.exp(row - row.max()).sum())


@given(st.integers(0, 2), windows, st.sampled_from([0.25, 2.0]), st.sampled_from([1.0, 3.0]))
def test_the_joint_loss_adds_what_the_head_misses_of_the_targets_laws(seed, texts, weight, loud):
    table, lm_head = (weights(random_target(seed))[f"{name}.weight"] for name in ("embed", "lm_head"))
    next_token, draft = [], []
    for text in texts:
        features, logits = slow_target(random_target(seed), text[:-1])
        next_token += [-log_softmax(row)[token] for row, token in zip(logits, text[1:])]
        guesses = slow_head(random_head(seed), features[:-1], loud * table[text[1:-1]])
        for guess, wanted in zip(guesses, logits[1:]):
            draft.append(-np.exp(log_softmax(wanted)) @ log_softmax(lm_head @ guess))
    value = joint_loss(random_target(seed), random_head(seed), weight, loud, torch.tensor(texts))
    assert value.item() == pytest.approx(np.mean(next_token) + weight * np.mean(draft), rel=1e-9)


def test_the_laws_the_head_imitates_are_taken_as_given():
    """The gradient is that of a cross-entropy with constants: moved by hand, the wanted laws stay."""
    target, head, text = random_target(0).requires_grad_(True), random_head(0), torch.tensor([[1, 2, 0, 3, 1]])
    joint_loss(target, head, 1.0, 1.0, text).backward()
    param, place, step = target.lm_head.weight, (2, 1), 1e-6
    slope = param.grad[place].item()

    def value(laws: torch.Tensor) -> float:
        features, logits = target(text[:, :-1], torch.arange(4))
        guesses = head(features[:, :-1], target.embed(text[:, 1:-1]), torch.arange(3))
        draft = -(laws * target.lm_head(guesses).log_softmax(-1)).sum(-1).mean()
        return (torch.nn.functional.cross_entropy(logits[0], text[0, 1:]) + draft).item()

    with torch.no_grad():
        laws = target(text[:, :-1], torch.arange(4))[1][:, 1:].softmax(-1)
        param[place] += step
        above = value(laws)
        param[place] -= 2 * step
        below = value(laws)
        param[place] += step
    target.requires_grad_(False).zero_grad()
    assert slope == pytest.approx((above - below) / (2 * step), rel=1e-4)


def tokenizer_of(size: int) -> Tokenizer:
    """Single bytes and some pairs of letters; END comes last."""
    return Tokenizer([*(bytes([b]) for b in range(256)), *(b"a" + bytes([97 + n]) for n in range(size - 257))])


SMALL = replace(CONFIG, vocab_size=260)


def big_set(extra: int = 5) -> ModelSet:
    config = replace(SMALL, vocab_size=SMALL.vocab_size + extra)
    return ModelSet(GPT(config), tokenizer_of(config.vocab_size), Path("big"))


@given(st.lists(st.integers(0, 259), min_size=1, max_size=8))
def test_a_smaller_vocabulary_keeps_the_rows_of_its_tokens(ids):
    big, small = big_set(), GPT(SMALL)
    small.load_state_dict(weights_for(SMALL, tokenizer_of(260), big))
    there = [token if token < 259 else 264 for token in ids]  # END is the last token of either
    with torch.inference_mode():
        _, wanted = big.target(torch.tensor([there]), torch.arange(len(ids)))
        _, got = small(torch.tensor([ids]), torch.arange(len(ids)))
    torch.testing.assert_close(got, wanted[..., [*range(259), 264]])


@given(st.integers(2, 7), st.lists(st.integers(0, 259), min_size=1, max_size=8))
def test_a_deeper_target_begins_as_the_function_it_grew_from(num_layers, ids):
    first, config = big_set(extra=0), replace(SMALL, num_layers=num_layers)
    deeper = new_target(config, seed=1)
    deeper.load_state_dict(deeper.state_dict() | weights_for(config, tokenizer_of(260), first))
    text, places = torch.tensor([ids]), torch.arange(len(ids))
    with torch.inference_mode():
        torch.testing.assert_close(deeper(text, places), first.target(text, places))


def test_the_layers_of_a_grown_target_are_spread_evenly():
    grown = weights_for(replace(SMALL, num_layers=5), tokenizer_of(260), big_set())
    assert {int(name.split(".")[1]) for name in grown if name.startswith("blocks")} == {0, 2}  # 0 and 1 of two


def test_weights_of_another_shape_or_with_other_merges_are_refused():
    for other in ({"num_layers": 1}, {"width": 32}, {"hidden": 8}, {"num_heads": 1}):
        with pytest.raises(ValueError, match="shape of the set to start from must be"):
            weights_for(replace(SMALL, **other), tokenizer_of(260), big_set())
    other = big_set()
    other.tokenizer = Tokenizer([*tokenizer_of(262).vocabulary[256:], *(bytes([b]) for b in range(256))])
    with pytest.raises(ValueError, match="vocabulary of that set must be that of --models, or one that begins like"):
        weights_for(SMALL, tokenizer_of(260), other)


@pytest.fixture
def small_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    streams = {domain: rng.integers(0, 260, 3000).astype(np.uint16) for domain in ("code", "prose", "sums")}
    monkeypatch.setattr(eagle_min.train.target, "training_streams", lambda *_: streams)


def test_a_run_with_a_head_beside_it_learns_and_goes_on_as_what_it_was_begun(small_streams, tmp_path):
    tokenizer = tokenizer_of(260)
    target, _, run = train_target(SMALL, TRAIN, tokenizer, tmp_path / "a", draft_weight=0.5)
    assert {name.split(".")[0] for name, _ in run.model.named_parameters()} == {"target", "head"}
    alone, _, _ = train_target(SMALL, TRAIN, tokenizer, tmp_path / "b")
    pairs = list(zip(target.parameters(), alone.parameters()))
    assert any(not torch.equal(a, b) for a, b in pairs), "the head's loss reaches the target"
    with pytest.raises(ValueError, match="begun with other values of draft_weight"):
        train_target(SMALL, TRAIN, tokenizer, tmp_path / "a")
    again, _, _ = train_target(SMALL, TRAIN, tokenizer, tmp_path / "a", draft_weight=0.5)  # it is done
    assert all(torch.equal(a, b) for a, b in zip(target.parameters(), again.parameters()))


STILL = replace(TRAIN, matrix_lr=0.0, other_lr=0.0)


def stored(folder: Path, extra: int = 3) -> ModelSet:
    """A set with a larger vocabulary and a head, in files."""
    first = big_set(extra)
    sha = save_model(first.target, folder, "target", {"kind": "target"})
    for seed, name in enumerate(("one", "two")):
        save_model(new_head(first.target, seed), folder, name, {"kind": "head", "target_sha256": sha})
    return ModelSet(load_target(folder), first.tokenizer, folder)


def test_a_run_starts_from_the_weights_of_set_and_head_and_changes_them(small_streams, tmp_path):
    """With rates of zero all weights are those given, the louder embedding of the run undone."""
    first, tokenizer = stored(tmp_path / "set"), tokenizer_of(260)
    wanted = load_head(first.folder, "two").state_dict()
    given = (tokenizer, tmp_path / "still", first, 0.5, "two")
    target, head, _ = train_target(SMALL, STILL, *given)
    for name, value in weights_for(SMALL, tokenizer, first).items():
        assert torch.equal(target.state_dict()[name], value), name
    assert head.config.vocab_size == SMALL.vocab_size, "it fits its target"
    assert all(torch.allclose(value, wanted[name], rtol=1e-6) for name, value in head.state_dict().items())
    _, moved, _ = train_target(SMALL, TRAIN, tokenizer, tmp_path / "moved", first, 0.5, "two")
    assert not any(torch.allclose(value, wanted[name], rtol=1e-6) for name, value in moved.state_dict().items())
    with pytest.raises(ValueError, match="begun with other values of head_from"):
        train_target(SMALL, STILL, *given[:-1], "one")
    with pytest.raises(ValueError, match="begun with other values of first"):
        train_target(SMALL, STILL, tokenizer, tmp_path / "still", stored(tmp_path / "other"), 0.5, "two")


def test_the_last_share_of_a_run_reads_windows_twice_as_long(small_streams, tmp_path, monkeypatch):
    widths, train = [], replace(TRAIN, tokens=10 * TRAIN.batch_tokens, long_share=0.3)

    def noted(target: GPT, windows: torch.Tensor) -> torch.Tensor:
        widths.append(windows.shape[1] - 1)
        return next_token_loss(target, windows)

    monkeypatch.setattr(eagle_min.train.target, "next_token_loss", noted)
    train_target(SMALL, replace(train, micro_tokens=train.batch_tokens), tokenizer_of(260), tmp_path)
    assert widths == 7 * [train.seq_len] + 3 * [2 * train.seq_len]


def test_the_head_beside_reads_embeddings_as_loud_as_features(small_streams, tmp_path, monkeypatch):
    first, factors = stored(tmp_path / "set"), []

    def noted(target, head, weight, factor, windows):
        factors.append(factor)
        return joint_loss(target, head, weight, factor, windows)

    monkeypatch.setattr(eagle_min.train.target, "joint_loss", noted)
    train_target(SMALL, STILL, tokenizer_of(260), tmp_path / "run", first, 0.5, "one")
    smaller = GPT(SMALL)
    smaller.load_state_dict(weights_for(SMALL, tokenizer_of(260), first))
    assert factors == pytest.approx([embedding_gain(smaller)] * len(factors)) and factors[0] != pytest.approx(1)


def test_a_run_of_another_vocabulary_is_not_gone_on_with(small_streams, tmp_path):
    train_target(SMALL, STILL, tokenizer_of(260), tmp_path)
    other = Tokenizer([*(bytes([b]) for b in range(256)), *(b"b" + bytes([97 + n]) for n in range(3))])
    with pytest.raises(ValueError, match="begun with other values of tokenizer"):
        train_target(SMALL, STILL, other, tmp_path)


@pytest.mark.parametrize("weight", [-0.5, math.inf, math.nan])
def test_a_weight_that_is_none_is_refused(weight, tmp_path):
    with pytest.raises(ValueError, match="draft_weight must be at least 0 and finite"):
        train_target(SMALL, TRAIN, tokenizer_of(260), tmp_path, draft_weight=weight)
