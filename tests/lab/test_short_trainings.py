"""Short trainings: what each variant is told, in training and in drafting, and that runs can be resumed.

The oracle runs the slow networks row by row, from the definition of each variant.
"""

from argparse import Namespace
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import CONFIG, random_head, random_target, slow_head, slow_target, weights
from strategies import fewer

import eagle_min.train.network
from eagle_min import generate, grow, stream
from eagle_min.config import TreeConfig
from eagle_min.head import EagleDrafter, EagleHead
from eagle_min.lab.experiment import Setting
from eagle_min.lab.experiments.claims import short_trainings
from eagle_min.lab.experiments.claims.short_trainings import INPUT_VARIANTS, LOSS_VARIANTS, folder_of
from eagle_min.lab.instruments.prefixes import Prefix
from eagle_min.tokenizer import Tokenizer
from eagle_min.train import variants
from eagle_min.train.batches import DOMAINS
from eagle_min.train.head import RECIPES, Recipe, head_loss
from eagle_min.train.loop import Run, TrainConfig
from eagle_min.train.target import new_target
from eagle_min.train.teacher import teach
from eagle_min.train.variants import Variant, VariantDrafter, on_true_features, short_loss, trained

TOLERANCE = 1e-9
ALL = {**INPUT_VARIANTS, **LOSS_VARIANTS}
tokens = st.integers(0, CONFIG.vocab_size - 1)
texts = st.lists(tokens, min_size=2, max_size=6)
windows = st.lists(st.lists(tokens, min_size=6, max_size=6), min_size=1, max_size=2)
seeds = st.integers(0, 2)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """The textbook formula for a row (V,)."""
    return logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())


def slow_guess(seed: int, variant: str, text: list[int], features: np.ndarray) -> np.ndarray:
    """The guess (D,) behind features (T, D) of the first tokens of a text of T + 1 or more."""
    embed, count = weights(random_target(seed))["embed.weight"], len(features)
    told = {
        "feature and shifted token": (features, embed[text[1 : count + 1]]),
        "feature and token": (features, embed[text[:count]]),
        "feature alone": (features, 0 * features),
        "shifted token alone": (0 * features, embed[text[1 : count + 1]]),
    }
    return slow_head(random_head(seed), *told[variant])[-1]


def slow_drafts(seed: int, variant: str, text: list[int], count: int) -> list[int]:
    """The tokens of a greedy chain behind a text whose last token is the root."""
    lm_head, text = weights(random_target(seed))["lm_head.weight"], list(text)
    features, first = slow_target(random_target(seed), text[:-1])[0], len(text)
    for _ in range(count):
        features = np.concatenate([features, slow_guess(seed, variant, text, features)[None]])
        text.append(int(np.argmax(lm_head @ features[-1])))
    return text[first:]


@pytest.mark.parametrize("variant", INPUT_VARIANTS)
def test_a_variant_drafts_from_what_it_is_told_in_every_cycle(variant):
    @fewer(3)
    @given(seeds, texts)
    def check(seed, prompt):
        drafter = VariantDrafter(
            random_target(seed), random_head(seed), INPUT_VARIANTS[variant], grow.chain, TreeConfig(depth=3)
        )
        text = list(prompt)
        for cycle in stream(random_target(seed), prompt, drafter, max_new_tokens=7):
            if cycle.tree is not None and cycle.tree.num_drafted:
                assert list(cycle.tree.tokens[1:]) == slow_drafts(seed, variant, text, cycle.tree.num_drafted)
            text += cycle.tokens

    check()


@fewer(3)
@given(seeds, texts)
def test_told_everything_it_drafts_as_an_eagle_head_does(seed, prompt):
    config = TreeConfig(num_nodes=9, depth=4, top_k=3)
    target, head = random_target(seed), random_head(seed)
    ours = VariantDrafter(target, head, Variant(), grow.confidence, config)
    cycles = generate(target, prompt, ours, max_new_tokens=8).cycles
    assert (
        cycles == generate(target, prompt, EagleDrafter(target, head, grow.confidence, config), max_new_tokens=8).cycles
    )


def slow_loss(seed: int, variant: str, ids: list[list[int]]) -> float:
    """One step, from the definition, without noise: a mean over rows."""
    lm_head, rows = weights(random_target(seed))["lm_head.weight"], []
    distance = ALL[variant].distance
    name = variant if variant in INPUT_VARIANTS else "feature and shifted token"
    for text in ids:
        features, logits = slow_target(random_target(seed), text)
        for place in range(len(text) - 1):
            guess = slow_guess(seed, name, text, features[: place + 1])
            token_loss = -(np.exp(log_softmax(logits[place + 1])) * log_softmax(lm_head @ guess)).sum()
            error = np.abs(guess - features[place + 1])
            large = error**2 / 2 if distance == "squared error" else error - 0.5
            rows.append(0.1 * token_loss + np.where(error < 1, error**2 / 2, large).mean())
    return float(np.mean(rows))


@pytest.mark.parametrize("variant", [name for name, each in ALL.items() if each.num_steps == 1])
def test_the_loss_is_that_of_what_the_variant_is_told(variant, monkeypatch):
    monkeypatch.setattr(variants, "PAPER", replace(RECIPES["paper"], noise=0.0))

    @fewer(5)
    @given(seeds, windows)
    def check(seed, ids):
        target = random_target(seed)
        found = short_loss(target, random_head(seed), ALL[variant], teach(target, torch.tensor(ids)), 0)
        assert abs(float(found) - slow_loss(seed, variant, ids)) < TOLERANCE

    check()


@given(seeds, windows, st.sampled_from([1, 3]), st.sampled_from([1.0, 2.5]))
def test_where_nothing_differs_the_loss_is_the_papers_noise_included(seed, ids, num_steps, gain):
    target, head = random_target(seed), random_head(seed)
    taught = teach(target, torch.tensor(ids))
    wanted = head_loss(target, head, Recipe(1.0, 0.1, num_steps), taught, 5, gain)
    assert float(short_loss(target, head, Variant(num_steps=num_steps), taught, 5, gain)) == float(wanted)


def test_variants_differ_from_the_papers_in_one_thing_and_loss_weights_are_the_papers():
    plain = Variant()
    for name, variant in ALL.items():
        different = [key for key in vars(plain) if getattr(variant, key) != getattr(plain, key)]
        assert len(different) == (variant != plain), name
    assert variants.PAPER == RECIPES["paper"] and RECIPES["paper"].num_steps == 1


@pytest.mark.parametrize("variant", INPUT_VARIANTS)
def test_agreement_and_errors_are_those_of_the_slow_networks(variant):
    @fewer(3)
    @given(seeds, texts)
    def check(seed, ids):
        features, logits = slow_target(random_target(seed), ids)
        lm_head = weights(random_target(seed))["lm_head.weight"]
        same, beyond = on_true_features(random_target(seed), random_head(seed), INPUT_VARIANTS[variant], ids)
        assert len(same) == len(beyond) == len(ids) - 1
        for place in range(len(ids) - 1):
            guess = slow_guess(seed, variant, ids, features[: place + 1])
            assert bool(same[place]) == (np.argmax(lm_head @ guess) == np.argmax(logits[place + 1]))
            assert float(beyond[place]) == pytest.approx((np.abs(guess - features[place + 1]) > 1).mean())

    check()


# ---- runs ----


@pytest.fixture
def small(monkeypatch, tmp_path) -> Setting:
    """Two steps of training on random text for a small target."""
    rng = np.random.default_rng(0)
    streams = {name: rng.integers(0, CONFIG.vocab_size, 50_000).astype(np.uint16) for name in DOMAINS}
    monkeypatch.setattr(eagle_min.train.network, "training_streams", lambda *_: streams)
    tokenizer = Tokenizer([bytes([byte]) for byte in range(256)])
    models = SimpleNamespace(target=new_target(CONFIG, seed=1), tokenizer=tokenizer, target_sha256="0" * 64)
    setting = Setting(models, Namespace(seed=0, tokens=1024, folder=tmp_path / "runs" / "short"))
    vars(setting)["prefixes"] = [Prefix(f"{i}", [i, 2, 3, 4]) for i in range(3)]
    return setting


TRAIN = TrainConfig(tokens=1024, batch_tokens=512, seq_len=16)


def of(setting: Setting, name: str, variant: Variant) -> EagleHead:
    """A head of the variant, trained in a folder of that name."""
    return trained(setting.models, folder_of(setting.options.folder, name), variant, TRAIN)


def test_variants_begin_alike_differ_after_a_step_and_share_what_the_target_says(small):
    heads = [of(small, name, variant) for name, variant in ALL.items() if name != "smooth L1"]
    matrices = [head.fuse.weight for head in heads]
    assert not any(torch.equal(a, b) for i, a in enumerate(matrices) for b in matrices[:i])
    assert all(not param.requires_grad for head in heads for param in head.parameters())
    folders = {path.name for path in small.options.folder.parent.iterdir()}
    runs = {"short-" + name.replace(" ", "-") for name in ALL if name != "smooth L1"}
    assert folders == runs | {"teacher-" + "0" * 16}


def test_what_a_head_is_not_told_moves_none_of_its_weights(small):
    """The half of the fusion layer that reads it stays as it was made."""
    for name, half in (("feature alone", 0), ("shifted token alone", 1)):
        head = of(small, name, INPUT_VARIANTS[name])
        new = variants.new_head(small.models.target, 0, **variants.HEAD_SHAPE)
        parts, before = (each.fuse.weight.chunk(2, dim=1) for each in (head, new))
        assert torch.allclose(parts[half], before[half], atol=1e-6)
        assert not torch.allclose(parts[1 - half], before[1 - half], atol=1e-4)


def test_a_finished_run_is_read_and_not_trained_again(small, monkeypatch):
    variant = INPUT_VARIANTS["feature alone"]
    first = of(small, "x", variant)
    monkeypatch.setattr(Run, "_one_step", None)
    again = of(small, "x", variant)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters()))
    with pytest.raises(ValueError, match="was begun with other values of feature"):
        of(small, "x", replace(variant, feature=False))


def test_a_row_says_what_was_trained_and_how_far_it_is_behind_the_one_before(small, monkeypatch):
    monkeypatch.setattr(short_trainings, "TrainConfig", lambda **given: replace(TRAIN, tokens=given["tokens"]))
    rows = list(short_trainings.measured({"a": Variant(), "b": Variant(token="none")}, small))
    assert "behind" not in rows[0] and rows[1]["behind"] == "a"
    assert rows[1]["gap"] == pytest.approx(rows[0]["tau"] - rows[1]["tau"])
    assert [row["token"] for row in rows] == ["shifted", "none"] and rows[0]["training"]["tokens"] == 1024
    assert all(0 <= row[key] <= 1 for row in rows for key in ("agreement", "beyond"))
