"""What the target says about windows: the slow network says the same, and what is kept is found again."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import CONFIG, random_target, slow_target

from eagle_min.train.teacher import Teacher, teach

tokens = st.integers(0, CONFIG.vocab_size - 1)
windows = st.lists(st.lists(tokens, min_size=5, max_size=5), min_size=1, max_size=3)


@given(st.integers(0, 2), windows)
def test_features_and_laws_are_those_of_the_slow_network(seed, texts):
    taught = teach(random_target(seed), torch.tensor(texts))
    assert taught.streams.shape == (len(texts), 5, 0)
    for text, features, laws in zip(texts, taught.features, taught.laws):
        wanted, logits = slow_target(random_target(seed), text)
        assert np.abs(features.numpy() - wanted).max() < 1e-9
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        assert np.abs(laws.numpy() - shares / shares.sum(-1, keepdims=True)).max() < 1e-9


def test_streams_are_what_a_block_reads_and_what_it_makes_of_it():
    target, ids = random_target(0), torch.tensor([[1, 2, 3]])
    width = CONFIG.width
    taught = teach(target, ids, (0, 2, 1))
    first, last, middle = taught.streams.split(width, dim=-1)
    assert torch.equal(first, target.embed(ids))
    rotation = target.rotary(torch.arange(3))
    assert torch.allclose(middle, target.blocks[0](first, rotation))
    assert torch.allclose(last, target.blocks[1](middle, rotation))
    assert torch.allclose(target.norm(last), taught.features)


def test_a_view_is_computed_once_and_is_the_same_when_it_is_found(tmp_path, monkeypatch):
    target, ids = random_target(0), torch.tensor([[1, 2, 3], [3, 2, 1]])
    first = Teacher(target, "a" * 64, tmp_path, (1,))(ids)
    direct = teach(target, ids, (1,))
    for name in ("features", "laws", "streams"):
        assert torch.allclose(getattr(first, name), getattr(direct, name), atol=2e-2)
    monkeypatch.setattr("eagle_min.train.teacher.features_and_streams", None)
    again = Teacher(target, "a" * 64, tmp_path, (1,))(ids)
    assert all(torch.equal(getattr(first, name), getattr(again, name)) for name in ("features", "laws", "streams"))
    assert torch.equal(again.windows, ids)


@pytest.mark.parametrize(
    ("digest", "ids", "layers"), [("b" * 64, [[1, 2]], (1,)), ("a" * 64, [[2, 1]], (1,)), ("a" * 64, [[1, 2]], (0,))]
)
def test_another_target_text_or_layer_is_not_taken_for_it(tmp_path, digest, ids, layers):
    target = random_target(0)
    Teacher(target, "a" * 64, tmp_path, (1,))(torch.tensor([[1, 2]]))
    kept = {path for path in tmp_path.rglob("*.npy")}
    Teacher(target, digest, tmp_path, layers)(torch.tensor(ids))
    new = {path.parent.name for path in tmp_path.rglob("*.npy") if path not in kept}
    assert new == {f"stream-{layers[0]}"} | (set() if layers == (0,) else {"features"})
