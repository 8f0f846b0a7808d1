"""EAGLE-3: the head against its formulas, drafting against chains read alone, training against drafting."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import (
    CONFIG,
    drafter_of,
    random_eagle3,
    random_head,
    random_target,
    rms_norm,
    rotate,
    slow_layer,
    small_run,
    weights,
)
from strategies import fewer

from eagle_min.checkpoint import save_model
from eagle_min.config import ModelConfig, SamplingConfig
from eagle_min.decode import Reading
from eagle_min.dice import SeededDice
from eagle_min.drafters.eagle3 import Eagle3Head, load_eagle3
from eagle_min.grow import chain
from eagle_min.model import GPT
from eagle_min.train.rivals import eagle3
from eagle_min.train.rivals.eagle3 import eagle3_loss, layers_of, new_eagle3
from eagle_min.train.target import new_target
from eagle_min.train.teacher import teach

TOLERANCE = 1e-9

tokens = st.integers(0, CONFIG.vocab_size - 1)
texts = st.lists(tokens, min_size=3, max_size=8)
windows = st.lists(st.lists(tokens, min_size=7, max_size=7), min_size=1, max_size=2)
seeds = st.integers(0, 2)


def slow_streams(seed: int, ids: list[int]) -> np.ndarray:
    """(T, layers x D): what blocks 0 and 1 read and what block 1 makes of it, side by side."""
    w = weights(random_target(seed))
    streams = [w["embed.weight"][ids]]
    for layer in range(CONFIG.num_layers):
        streams.append(slow_layer(streams[-1], w, f"blocks.{layer}.", CONFIG, input_norm=True))
    return np.concatenate(streams, axis=1)


def slow_step(seed: int, states: np.ndarray, ids: list[int]) -> np.ndarray:
    """The state (D,) after the last row: row t from state t and the token at t + 1, positions from 0."""
    w, size = weights(random_eagle3(seed)), CONFIG.head_dim
    embedded = weights(random_target(seed))["embed.weight"][ids]
    normed = rms_norm(embedded, w["embed_norm.weight"], CONFIG.norm_eps)
    x = np.concatenate([normed, rms_norm(states, w["state_norm.weight"], CONFIG.norm_eps)], axis=1)
    q, k, v = (x @ part.T for part in np.split(w["attention.qkv.weight"], 3))
    mixed, last = np.zeros(CONFIG.width), len(ids) - 1
    for head in range(CONFIG.num_heads):
        channels = slice(head * size, (head + 1) * size)
        query = rotate(q[last, channels], last, CONFIG.rope_base)
        keys = np.array([rotate(row[channels], t, CONFIG.rope_base) for t, row in enumerate(k)])
        shares = np.exp(keys @ query / math.sqrt(size))
        mixed[channels] = shares @ v[:, channels] / shares.sum()
    state = states[last] + mixed @ w["attention.out.weight"].T
    gate, up = np.split(w["mlp.gate_up.weight"], 2)
    inner = rms_norm(state[None], w["mlp_norm.weight"], CONFIG.norm_eps)[0]
    opened = gate @ inner
    return state + w["mlp.down.weight"] @ (opened / (1 + np.exp(-opened)) * (up @ inner))


def slow_logits(seed: int, state: np.ndarray) -> np.ndarray:
    w = weights(random_eagle3(seed))
    return w["lm_head.weight"] @ rms_norm(state[None], w["norm.weight"], CONFIG.norm_eps)[0]


def slow_chain(seed: int, text: list[int], place: int, length: int) -> list[np.ndarray]:
    """States (D,) of a chain that leaves the true streams behind position `place`: one for each of the
    tokens at place + 1, place + 2, ..."""
    states = slow_streams(seed, text)[: place + 1] @ weights(random_eagle3(seed))["fuse.weight"].T
    found = []
    for step in range(length):
        found.append(slow_step(seed, states, text[1 : place + 2 + step]))
        states = np.concatenate([states, found[-1][None]])
    return found


def session(seed: int, text: list[int]):
    """A draft session that was taught all of a text but its last token, which is the root."""
    drafter, last = drafter_of("eagle3", seed), len(text) - 1
    draft = drafter.start(text[:1])
    features, rows = random_target(seed).start(0, drafter.layers).read(text[:-1], list(range(last)))
    draft.learn(Reading(features, rows, list(range(last)), text[1:]))
    return draft


def log_softmax(row: np.ndarray) -> np.ndarray:
    return row - row.max() - math.log(np.exp(row - row.max()).sum())


@given(seeds, texts, st.lists(tokens, max_size=3))
def test_what_is_drafted_below_a_path_is_what_the_slow_head_says_of_the_chain(seed, text, path):
    """Root row, tree rows on own states, positions, norm and LM head."""
    expansion, nodes, parents = session(seed, text).expansion(), [text[-1], *path], [-1, *range(len(path))]
    rows = [expansion(nodes, parents, [node])[0] for node in range(len(nodes))]
    wanted = slow_chain(seed, [*text, *path], len(text) - 2, len(nodes))
    for row, state in zip(rows, wanted, strict=True):
        assert np.abs(row - log_softmax(slow_logits(seed, state))).max() < TOLERANCE


@given(seeds, texts, st.lists(tokens, min_size=2, max_size=3, unique=True))
def test_siblings_do_not_see_each_other(seed, text, siblings):
    count = len(siblings)
    nodes, parents = [text[-1], *siblings, *siblings], [-1, *[0] * count, *range(1, count + 1)]
    expansion = session(seed, text).expansion()
    expansion(nodes, parents, [0])
    together = expansion(nodes, parents, list(range(1, count + 1)))
    below = expansion(nodes, parents, list(range(count + 1, 2 * count + 1)))
    for sibling, row, next_row in zip(siblings, together, below):
        first, second = slow_chain(seed, [*text, sibling, sibling], len(text) - 2, 3)[1:]
        assert np.abs(row - log_softmax(slow_logits(seed, first))).max() < TOLERANCE
        assert np.abs(next_row - log_softmax(slow_logits(seed, second))).max() < TOLERANCE


@fewer(3)
@given(seeds, windows)
def test_the_loss_is_that_of_the_chains_that_drafting_makes(seed, texts):
    """Five steps, of which each row's own chain alone is seen; step i counts 0.8^i."""
    total, num_rows = 0.0, 7 - eagle3.NUM_STEPS
    target = random_target(seed)
    for text in texts:
        laws = teach(target, torch.tensor([text])).laws[0].numpy()
        for place in range(num_rows):
            for step, state in enumerate(slow_chain(seed, text, place, eagle3.NUM_STEPS)):
                row_loss = -laws[place + 1 + step] @ log_softmax(slow_logits(seed, state))
                total += 0.8**step * row_loss / (len(texts) * num_rows)
    loss = eagle3_loss(target, random_eagle3(seed), teach(target, torch.tensor(texts), (0, 1, 2)), 0)
    assert abs(float(loss) - total) < TOLERANCE


def test_loudness_brings_streams_to_like_size_and_survives_storing(tmp_path):
    target = new_target(ModelConfig(64, 16, 9, 2, 20, 64), 0)
    with torch.no_grad():
        for layer, block in enumerate(target.blocks):
            block.mlp.down.weight.normal_(std=2.0 + layer)
    head = new_eagle3(target, 0)
    assert head.layers == (2, 4, 9)
    taught = teach(target, torch.randint(64, (2, 40)), head.layers)
    sizes = (taught.streams.unflatten(-1, (3, 16)) * head.loudness).square().mean(dim=(0, 1, 3)).sqrt()
    assert (sizes > 0.6).all() and (sizes < 1.7).all() and not torch.equal(head.loudness, torch.ones(3, 1))
    sha = save_model(target, tmp_path, "target", {"kind": "target"})
    card = {"kind": "eagle3", "target_sha256": sha, **eagle3.card_fields(target, head, iter(()))}
    save_model(head, tmp_path, "eagle3", card)
    loaded = load_eagle3(tmp_path, "eagle3")
    assert loaded.layers == (2, 4, 9) and torch.equal(loaded.loudness, head.loudness)


@pytest.mark.parametrize("num_layers", range(1, 30))
def test_layers_are_a_low_a_middle_and_a_high_one(num_layers):
    layers = layers_of(GPT(ModelConfig(5, 4, num_layers, 1, 4, 8)))
    assert list(layers) == sorted(layers) and 0 <= layers[0] and layers[2] == num_layers
    assert len(set(layers)) == min(3, num_layers + 1)
    if num_layers >= 6:
        assert layers == (2, num_layers // 2, num_layers)


def test_training_changes_the_head_and_nothing_of_the_target_and_can_be_stopped(tmp_path, monkeypatch):
    small_run("eagle3", tmp_path, monkeypatch)


@pytest.mark.parametrize("layers", [None, [], "012", [0, -1], [0.5], [True], [2, 1, 0], [1, 1, 2], list(range(17))])
def test_a_card_without_usable_layers_is_refused(tmp_path, layers):
    sha = save_model(random_target(0), tmp_path, "target", {"kind": "target"})
    save_model(random_eagle3(0), tmp_path, "eagle3", {"kind": "eagle3", "target_sha256": sha, "layers": layers})
    with pytest.raises(
        ValueError, match="layers of an EAGLE-3 head must be 1 to 16 numbers of .* streams, rising, got"
    ):
        load_eagle3(tmp_path, "eagle3")


def test_a_stream_that_the_target_does_not_have_is_refused(tmp_path):
    """As many layers as the weights are for, one of them too deep."""
    sha = save_model(random_target(0), tmp_path, "target", {"kind": "target"})
    for layers, good in [((0, 1, CONFIG.num_layers), True), ((0, 1, CONFIG.num_layers + 1), False)]:
        card = {"kind": "eagle3", "target_sha256": sha, "layers": list(layers)}
        save_model(Eagle3Head(replace(CONFIG, num_layers=1), layers), tmp_path, "eagle3", card)
        if good:
            assert load_eagle3(tmp_path, "eagle3").layers == layers
        else:
            with pytest.raises(
                ValueError, match=rf"layers of 'eagle3' must be at most {CONFIG.num_layers}, .* got \[0, 1"
            ):
                load_eagle3(tmp_path, "eagle3")


def test_a_head_of_eagle1_is_no_head_of_eagle3(tmp_path):
    sha = save_model(random_target(0), tmp_path, "target", {"kind": "target"})
    save_model(random_head(0), tmp_path, "eagle", {"kind": "head", "target_sha256": sha})
    with pytest.raises(ValueError, match="must be 'eagle3', got 'head'"):
        load_eagle3(tmp_path, "eagle")


def test_a_tree_is_grown_on_the_confidences_of_the_head():
    """The chain follows the head's own first choices, down to the limit."""
    text = [1, 2, 3]
    draft = session(1, text)
    draft.drafter.grow = chain
    tree = draft.propose(text[-1], 3, SeededDice(0), 0, SamplingConfig())
    path: list[int] = []
    for token in tree.tokens[1:]:
        state = slow_chain(1, [*text, *path], len(text) - 2, len(path) + 1)[-1]
        assert token == int(np.argmax(slow_logits(1, state)))
        path.append(token)
    assert len(path) == 3
