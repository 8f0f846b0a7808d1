"""Small random networks for tests, and the same architecture a second time, slowly, in numpy.

The slow forward pass is the oracle of the fast one: it is written from the formulas (RMSNorm,
rotary positions, attention, SwiGLU), reads nothing but the weights, and knows neither masks nor
caches: it is given one sequence and computes each position from all before it.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import eagle_min
import eagle_min.train.network
from eagle_min.checkpoint import save_model
from eagle_min.config import ModelConfig, TreeConfig
from eagle_min.decode import Drafter
from eagle_min.drafters.eagle3 import Eagle3Head
from eagle_min.drafters.medusa import MedusaHeads
from eagle_min.drafters.mtp import MTPModules
from eagle_min.drafters.registry import REGISTRY
from eagle_min.grow import chain, confidence, ratio, static, static_sampled
from eagle_min.head import EagleDrafter, EagleHead
from eagle_min.model import GPT
from eagle_min.tokenizer import Tokenizer, save_vocabulary
from eagle_min.train.batches import DOMAINS
from eagle_min.train.loop import TrainConfig
from eagle_min.train.rivals import registry as rivals
from eagle_min.train.target import new_target

CONFIG = ModelConfig(vocab_size=6, width=16, num_layers=2, num_heads=2, hidden=20, context=40)
TREES = {"chain": chain, "static": static, "ratio": ratio, "confidence": confidence}


def randomize(model: nn.Module, seed: int) -> nn.Module:
    """Weights large enough for every part to matter; float64, frozen. Norm weights vary too."""
    rng = np.random.default_rng(seed)
    model = model.double().eval().requires_grad_(False)
    for name, param in model.named_parameters():
        if param.ndim == 1:
            value = rng.uniform(0.5, 1.5, param.shape)
        else:
            scale = 1.0 if name.startswith("embed") else 1.5 * param.shape[1] ** -0.5
            value = rng.normal(0, scale, param.shape)
        param.copy_(torch.from_numpy(value))
    return model


@functools.cache
@torch.inference_mode(False)  # whoever asks first: what is made may be trained
def random_target(seed: int = 0, config: ModelConfig = CONFIG) -> GPT:
    """A random target in float64."""
    return randomize(GPT(config), seed)


@functools.cache
@torch.inference_mode(False)  # whoever asks first: what is made may be trained
def random_head(seed: int = 0, config: ModelConfig = CONFIG) -> EagleHead:
    """A random head in float64: a useless one."""
    return randomize(EagleHead(config), 1000 + seed)


def random_drafter(kind: str = "confidence", seed: int = 0, tree: TreeConfig | None = None) -> EagleDrafter:
    """A drafter with a random head, for `random_target(seed)`; `kind` as in TREES, or `static_sampled`."""
    tree = tree or TreeConfig(num_nodes=9, depth=4, top_k=3)
    grower = static_sampled if kind == "static_sampled" else TREES[kind]
    return EagleDrafter(random_target(seed), random_head(seed), grower, tree, kind == "static_sampled")


@functools.cache
@torch.inference_mode(False)  # whoever asks first: what is made may be trained
def random_eagle3(seed: int = 0) -> Eagle3Head:
    """A random EAGLE-3 head in float64, for `random_target`."""
    return randomize(Eagle3Head(replace(CONFIG, num_layers=1), (0, 1, 2)), 2000 + seed)


@functools.cache
@torch.inference_mode(False)  # whoever asks first: what is made may be trained
def random_small_model(seed: int = 0) -> GPT:
    """A random small model in float64, of another shape than the target's."""
    return randomize(GPT(replace(CONFIG, num_heads=1, hidden=12)), 3000 + seed)


@functools.cache
@torch.inference_mode(False)  # whoever asks first: what is made may be trained
def random_medusa(seed: int = 0) -> MedusaHeads:
    """Three random Medusa heads in float64, and a shape of a tree."""
    paths = "0 1 2 00 01 10 20 000 001 100".split()
    return randomize(MedusaHeads(CONFIG, 3, paths), 4000 + seed)


@functools.cache
@torch.inference_mode(False)  # whoever asks first: what is made may be trained
def random_mtp(seed: int = 0, num_depths: int = 2) -> MTPModules:
    """Random multi-token prediction modules in float64, for `random_target`."""
    return randomize(MTPModules(replace(CONFIG, num_layers=1), num_depths), 5000 + seed)


NETWORKS = {
    "eagle": random_head,
    "eagle3": random_eagle3,
    "small_model": random_small_model,
    "medusa": random_medusa,
    "mtp": random_mtp,
}
# what `Kind.weights` names -> such a network with random weights, from a seed


def small_run(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> nn.Module:
    """A rival trained three steps on random text: it alone changes, and a run that was stopped ends the same."""
    rng = np.random.default_rng(0)
    streams = {name: rng.integers(0, CONFIG.vocab_size, 50_000).astype(np.uint16) for name in DOMAINS}
    monkeypatch.setattr(eagle_min.train.network, "training_streams", lambda *_: streams)
    tokenizer = Tokenizer([bytes([byte]) for byte in range(256)])
    target = new_target(CONFIG, seed=1).requires_grad_(True)  # freezing is the training's own business
    models = SimpleNamespace(target=target, tokenizer=tokenizer, target_sha256="0" * 64)
    before = {name: value.clone() for name, value in target.state_dict().items()}
    first = rivals.RIVALS[kind].new(target, 0).state_dict()
    config = TrainConfig(tokens=3 * 512, batch_tokens=512, seq_len=16)

    def train(tokens: int, run: str) -> nn.Module:
        given = replace(config, tokens=tokens)
        return eagle_min.train.network.train_network(
            models, rivals.RIVALS[kind], {"kind": kind}, given, folder / "runs" / run
        )[0]

    network = train(3 * 512, "whole")
    assert all(torch.equal(value, before[name]) for name, value in target.state_dict().items())
    assert all(param.grad is None for param in target.parameters())
    same = {name for name, param in network.named_parameters() if torch.equal(param, first[name])}
    assert not same, same
    monkeypatch.setattr(TrainConfig, "rate", lambda self, step: min(1.0, (step + 1) / 2))  # not of the length
    whole = train(3 * 512, "one").state_dict()
    train(512, "two")
    parts = train(3 * 512, "two").state_dict()
    assert all(torch.equal(value, parts[name]) for name, value in whole.items())
    return network


def drafter_of(name: str, seed: int = 0, tree: TreeConfig | None = None) -> Drafter:
    """A drafter of the registry for `random_target(seed)`, with a random network where it has one."""
    kind = REGISTRY[name]
    network = NETWORKS[kind.weights](seed) if kind.weights is not None else None
    return kind.make(random_target(seed), network, tree or kind.tree)


def small_tree(name: str) -> TreeConfig:
    """The limits of a drafter made small, its shape and rule kept."""
    return replace(REGISTRY[name].tree, num_nodes=9, depth=4, top_k=3)


BYTES = Tokenizer([bytes([byte]) for byte in range(256)])  # token id = byte; 256 is END
SMALL = ModelConfig(vocab_size=257, width=8, num_layers=1, num_heads=2, hidden=8, context=512)


def small_set(folder: Path, heads: Sequence[str] = ("eagle",), config: ModelConfig = SMALL) -> Path:
    """A set of models in a folder: a random target, random heads of these names and a vocabulary of bytes."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        digest = save_model(GPT(config), folder, "target", {"tokenizer_sha256": BYTES.sha256})
        for name in heads:
            save_model(EagleHead(config), folder, name, {"kind": "head", "target_sha256": digest})
    save_vocabulary(BYTES.vocabulary, folder / "tokenizer.ranks")
    return folder


@functools.cache
def shipped(dtype: torch.dtype = torch.float32) -> eagle_min.ModelSet:
    """The shipped models, with weights widened to `dtype`; shared by all tests, so do not train it."""
    models = eagle_min.load("tiny")
    models.target.to(dtype)
    return models


def cache_rows(cache, length: int | None = None) -> np.ndarray:
    """The first rows in use, (2, layers, H, length, D/H), as a copy."""
    length = cache.length if length is None else length
    return cache.rows[:, :, :, :length].numpy().copy()


def weights(model: nn.Module) -> dict[str, np.ndarray]:
    """All parameters by name, as numpy float64."""
    return {name: param.detach().numpy().astype(np.float64) for name, param in model.named_parameters()}


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """Zhang & Sennrich 1910.07467: divide by the root mean square, channel by channel weight."""
    return np.array([row / np.sqrt((row**2).mean() + eps) * weight for row in x])


def rotate(vector: np.ndarray, position: int, base: float) -> np.ndarray:
    """Su et al. 2104.09864: turn the pair (i, i + half) by position * base ** (-i / half).

    Cosine and sine are rounded to float32 first, because models store them so.
    """
    half = len(vector) // 2
    turned = np.empty_like(vector)
    for i in range(half):
        angle = position * base ** (-i / half)
        cos, sin = float(np.float32(np.cos(angle))), float(np.float32(np.sin(angle)))
        turned[i] = vector[i] * cos - vector[i + half] * sin
        turned[i + half] = vector[i + half] * cos + vector[i] * sin
    return turned


def slow_layer(
    x: np.ndarray, w: dict, prefix: str, config: ModelConfig, input_norm: bool, start: int = 0
) -> np.ndarray:
    """One decoder layer over a whole sequence (T, D) that begins at position `start`, position by position."""
    size, num_heads = config.head_dim, config.num_heads
    normed = rms_norm(x, w[f"{prefix}input_norm.weight"], config.norm_eps) if input_norm else x
    q, k, v = (normed @ part.T for part in np.split(w[f"{prefix}attention.qkv.weight"], 3))
    mixed = np.zeros_like(x)
    for head in range(num_heads):
        channels = slice(head * size, (head + 1) * size)
        queries = [rotate(row[channels], t, config.rope_base) for t, row in enumerate(q, start)]
        keys = [rotate(row[channels], t, config.rope_base) for t, row in enumerate(k, start)]
        for t in range(len(x)):
            scores = np.array([queries[t] @ keys[s] / np.sqrt(size) for s in range(t + 1)])
            shares = np.exp(scores - scores.max())
            mixed[t, channels] = (shares / shares.sum()) @ v[: t + 1, channels]
    x = x + mixed @ w[f"{prefix}attention.out.weight"].T
    gate, up = np.split(w[f"{prefix}mlp.gate_up.weight"], 2)
    normed = rms_norm(x, w[f"{prefix}mlp_norm.weight"], config.norm_eps)
    opened = normed @ gate.T
    return x + (opened / (1 + np.exp(-opened)) * (normed @ up.T)) @ w[f"{prefix}mlp.down.weight"].T


def slow_target(model: GPT, ids: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Features (T, D) and logits (T, V) of one sequence that starts at position 0."""
    w, config = weights(model), model.config
    x = w["embed.weight"][ids]
    for layer in range(config.num_layers):
        x = slow_layer(x, w, f"blocks.{layer}.", config, input_norm=True)
    features = rms_norm(x, w["norm.weight"], config.norm_eps)
    return features, features @ w["lm_head.weight"].T


def slow_head(head: EagleHead, features: np.ndarray, embedded: np.ndarray) -> np.ndarray:
    """Guesses (T, D): row t from the embedding of token t+1 and feature t, in that order."""
    w = weights(head)
    x = np.concatenate([embedded, features], axis=1) @ w["fuse.weight"].T
    return slow_layer(x, w, "block.", head.config, input_norm=False)
