"""The separate draft model: it reads the text like any GPT, and a draft is its own law of what comes next.

`networks.slow_target` is the oracle of its arithmetic: it takes any GPT and one sequence. That one sampled child
a node keeps the law of any target is shown in `test_law_of_the_loop.py`; here the networks are real.
"""

import json
import math
import shutil
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import CONFIG, cache_rows, drafter_of, random_head, random_small_model, random_target, slow_target
from oracles import token_path
from strategies import fewer, level_trees

import eagle_min
import eagle_min.train.network
from eagle_min import generate, stream
from eagle_min.__main__ import main
from eagle_min.checkpoint import save_model
from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.decode import Reading
from eagle_min.dice import SeededDice, target_draw
from eagle_min.drafters.model_set import SHIPPED
from eagle_min.drafters.registry import REGISTRY
from eagle_min.drafters.small_model import SmallModelDrafter, load_small_model
from eagle_min.exactness.law import law
from eagle_min.model import GPT
from eagle_min.tokenizer import Tokenizer, load_tokenizer
from eagle_min.train.loop import TrainConfig, make_optimizers
from eagle_min.train.network import train_network
from eagle_min.train.rivals.registry import RIVALS
from eagle_min.train.rivals.small_model import NUM_LAYERS, new_small_model, small_model_loss
from eagle_min.train.target import new_target
from eagle_min.train.teacher import teach

TOLERANCE = 1e-10
NAMES = ("small", "small-chain", "small-chain-sampled", "small-tree-sampled")
SAMPLED = NAMES[2:]
SHALLOW = {name: replace(REGISTRY[name].tree, num_nodes=4, depth=2) for name in SAMPLED}

tokens = st.integers(0, CONFIG.vocab_size - 1)
texts = st.lists(tokens, min_size=1, max_size=9)
seeds = st.integers(0, 2)


def log_laws(model: GPT, text) -> np.ndarray:
    """Log-probabilities (T, V) after each token, by the oracle alone."""
    _, logits = slow_target(model, list(text))
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def taught(seed: int, text: list[int], name: str = "small", tree: TreeConfig | None = None):
    """A session that has learned `text`, whose last token is the root."""
    draft = drafter_of(name, seed, tree).start(text[:-1] or text)
    if len(text) > 1:
        places = list(range(len(text) - 1))
        features, rows = random_target(seed).start().read(text[:-1], places)
        draft.learn(Reading(features, rows, places, text[1:]))
    return draft


@given(seeds, texts)
def test_a_draft_below_the_root_equals_the_slow_oracle(seed, text):
    """From the first token on: row t is token t, so a text of one token has one row."""
    draft = taught(seed, text)
    assert draft.cache.length == len(text)
    with torch.inference_mode():
        rows = draft.expansion()([text[-1]], [-1], [0])
    assert np.abs(rows[0] - log_laws(random_small_model(seed), text)[-1]).max() < TOLERANCE


@given(seeds, texts, level_trees(tokens))
def test_a_tree_row_equals_its_path_read_alone(seed, text, tree):
    nodes, parents, tree_levels = tree
    nodes[0], expand, drafts = text[-1], taught(seed, text).expansion(), {}
    with torch.inference_mode():
        for level in tree_levels:
            drafts.update(zip(level, expand(nodes, parents, level)))
    for node in tree_levels[-1]:
        alone = log_laws(random_small_model(seed), (*text, *token_path(nodes, parents, node)))[-1]
        assert np.abs(drafts[node] - alone).max() < TOLERANCE


@given(seeds, texts, st.integers(1, 4))
def test_the_target_teaches_it_the_text_and_nothing_else(seed, text, depth):
    """The same text with other features is the same draft."""
    places, trees = list(range(len(text))), []
    for features in (torch.zeros(len(text), CONFIG.width), torch.full((len(text), CONFIG.width), torch.nan)):
        draft = drafter_of("small", seed).start(text)
        draft.learn(Reading(features.double(), np.zeros((len(text), CONFIG.vocab_size)), places, [*text[1:], 3]))
        trees.append(draft.propose(3, depth, SeededDice(0), 0, SamplingConfig()))
    assert trees[0] == trees[1] and trees[0].log_confidence == trees[1].log_confidence


@pytest.mark.parametrize("name", NAMES)
def test_growing_leaves_the_cache_as_it_was_and_fits_up_to_the_end_of_the_context(name):
    @fewer(4)
    @given(seeds, st.lists(tokens, min_size=CONFIG.context - 6, max_size=CONFIG.context - 2))
    def check(seed, text):
        draft = taught(seed, text, name, replace(SHALLOW["small-tree-sampled"], num_nodes=20, depth=6, top_k=6))
        before = cache_rows(draft.cache)
        draft.propose(text[-1], CONFIG.context - len(text) - 1, SeededDice(seed), 0, SamplingConfig(1.0))
        assert draft.cache.length == len(text) and np.array_equal(cache_rows(draft.cache), before)

    check()


@pytest.mark.parametrize("name", ["small-chain", "small-chain-sampled"])
def test_a_chain_has_one_child_a_node_and_as_many_levels_as_its_limits_say(name):
    tree = taught(0, [1, 2, 3], name).propose(3, 99, SeededDice(0), 0, SamplingConfig(temperature=1.0))
    length = REGISTRY[name].tree.depth
    assert tree.parents == tuple(range(-1, length))
    assert set(tree.child_laws) == (set(range(length)) if name in SAMPLED else set())
    for node, child_law in tree.child_laws.items():
        path = [1, 2, 3, *tree.tokens[1 : node + 1]]
        assert np.abs(np.log(child_law) - log_laws(random_small_model(0), path)[-1]).max() < TOLERANCE


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("prompt", [[4], [1, 2, 0, 5]])
def test_two_networks_together_have_the_law_of_the_target(name, prompt):
    """All answers of the dice are visited; what is wanted is a product of the oracle's laws."""
    target, drafter = random_target(1), drafter_of(name, 1, SHALLOW[name])

    def program(dice) -> tuple[int, ...]:
        return tuple(generate(target, prompt, drafter, max_new_tokens=2, temperature=1.0, dice=dice).tokens)

    got = law(program)
    assert len(got) == CONFIG.vocab_size**2
    for text, share in got.items():
        logs = log_laws(target, [*prompt, *text])[len(prompt) - 1 : -1]
        assert math.isclose(share, math.exp(sum(row[token] for row, token in zip(logs, text))), rel_tol=1e-9)


@fewer(5)
@given(seeds, st.lists(tokens, min_size=1, max_size=4))
def test_a_sampled_token_is_accepted_with_one_minus_the_total_variation_of_the_two_laws(seed, prompt):
    """2211.17192, theorem 3.5, for the first drafted token behind a root that is given."""
    target, drafter = random_target(seed), drafter_of("small-chain-sampled", seed, SHALLOW["small-chain-sampled"])
    root = prompt[-1]

    def program(dice) -> int:
        def draw(weights, name) -> int:
            return root if name == target_draw(len(prompt)) else dice.categorical(weights, name)

        given_root = SimpleNamespace(accept=dice.accept, categorical=draw)
        cycles = stream(target, prompt, drafter, max_new_tokens=3, temperature=1.0, dice=given_root)
        return list(islice(cycles, 2))[-1].num_accepted

    p, q = (np.exp(log_laws(model, [*prompt, root])[-1]) for model in (target, random_small_model(seed)))
    assert math.isclose(law(program).get(1, 0), 1 - np.abs(p - q).sum() / 2, abs_tol=1e-9)


# --- training ----------------------------------------------------------------------------------


def test_a_new_one_starts_with_the_embedding_and_the_lm_head_of_its_target_as_copies():
    target = new_target(replace(CONFIG, num_layers=3), seed=1)
    network = new_small_model(target, seed=2)
    assert network.config == replace(CONFIG, num_layers=NUM_LAYERS) and len(network.blocks) == NUM_LAYERS
    for name in ("embed.weight", "lm_head.weight", "norm.weight"):
        own, given = network.get_parameter(name), target.get_parameter(name)
        assert torch.equal(own, given) and own.data_ptr() != given.data_ptr() and own.requires_grad
    assert not torch.equal(network.blocks[0].attention.qkv.weight, target.blocks[0].attention.qkv.weight)
    again = new_small_model(target, seed=2).state_dict()
    assert all(torch.equal(value, again[name]) for name, value in network.state_dict().items())


def test_muon_trains_the_matrices_of_its_layers_and_adamw_the_rest():
    network = new_small_model(new_target(CONFIG, seed=1), seed=2)
    matrices, others = (opt.param_groups[0]["params"] for opt in make_optimizers(network, TrainConfig()))
    inner = {id(param) for block in network.blocks for param in block.parameters() if param.ndim == 2}
    assert {id(param) for param in matrices} == inner
    assert {id(param) for param in [*matrices, *others]} == {id(param) for param in network.parameters()}


@given(seeds, st.lists(st.lists(tokens, min_size=7, max_size=7), min_size=1, max_size=3))
def test_the_loss_is_the_cross_entropy_with_the_targets_laws_after_every_token(seed, windows):
    target, network = random_target(seed), random_small_model(seed)
    total = 0.0
    for text in windows:
        total -= (np.exp(log_laws(target, text)) * log_laws(network, text)).sum(-1).mean() / len(windows)
    with torch.no_grad():
        loss = small_model_loss(target, network, teach(target, torch.tensor(windows)), seed)
    assert abs(float(loss) - total) < TOLERANCE


@fewer(2)
@given(seeds, st.lists(tokens, min_size=2, max_size=9))
def test_a_row_of_training_sees_what_a_draft_sees(seed, text):
    """The laws compared in training are, place by place, those a session drafts from."""
    seen = []
    with torch.inference_mode():
        for place in range(len(text)):
            seen.append(taught(seed, text[: place + 1]).expansion()([text[place]], [-1], [0])[0])
        taught_all = teach(random_target(seed), torch.tensor([text]))
        loss = small_model_loss(random_target(seed), random_small_model(seed), taught_all, 0)
    laws = taught_all.laws[0].numpy()
    assert abs(float(loss) + (laws * np.array(seen)).sum(-1).mean()) < TOLERANCE


def snapshot(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def streams() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.integers(0, CONFIG.vocab_size, 3000).astype(np.uint16) for name in ("code", "prose", "sums")}


def trained(target: GPT, folder, monkeypatch, loss=small_model_loss) -> GPT:
    """A small model after three updates on random text, its run saved after each of them."""
    monkeypatch.setattr(eagle_min.train.network, "training_streams", lambda *_: streams())
    config = TrainConfig(tokens=3 * 512, batch_tokens=512, seq_len=16, save_seconds=-1)
    tokenizer = Tokenizer([bytes([byte]) for byte in range(256)])
    models = SimpleNamespace(target=target, tokenizer=tokenizer, target_sha256="0" * 64, folder=folder)
    rival = replace(RIVALS["small_model"], loss=loss)
    return train_network(models, rival, {"kind": "small_model"}, config, folder / "run")[0]


def test_training_changes_all_of_it_and_nothing_of_the_target(tmp_path, monkeypatch):
    target = new_target(CONFIG, seed=1)
    before, first = snapshot(target), snapshot(new_small_model(target, seed=0))
    network = trained(target, tmp_path, monkeypatch)
    assert all(torch.equal(value, before[name]) for name, value in target.state_dict().items())
    assert all(param.grad is None for param in target.parameters())
    changed = {name for name, value in network.state_dict().items() if not torch.equal(value, first[name])}
    assert changed == {name for name, _ in network.named_parameters()}


def test_a_run_that_was_stopped_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    target, calls = new_target(CONFIG, seed=1), []

    def stopped(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return small_model_loss(*arguments)

    with pytest.raises(KeyboardInterrupt):
        trained(target, tmp_path / "stopped", monkeypatch, stopped)
    wanted = trained(target, tmp_path / "whole", monkeypatch).state_dict()
    resumed = trained(target, tmp_path / "stopped", monkeypatch).state_dict()
    assert all(torch.equal(value, wanted[name]) for name, value in resumed.items())


# --- weights and card --------------------------------------------------------------------------


@pytest.fixture
def models(tmp_path):
    """A set with the target of seed 0 and its small model."""
    digest = save_model(random_target(0), tmp_path, "target", {"kind": "target"})
    save_model(random_small_model(0), tmp_path, "small_model", {"kind": "small_model", "target_sha256": digest})
    return tmp_path


def test_what_is_saved_comes_back(models):
    loaded = load_small_model(models, "small_model")
    assert loaded.config == random_small_model(0).config
    for name, value in random_small_model(0).state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value.bfloat16().float())
    assert not any(param.requires_grad for param in loaded.parameters())


def test_another_kind_another_target_and_missing_weights_are_refused(models):
    digest = json.loads((models / "target.json").read_text())["sha256"]
    save_model(random_head(0), models, "head", {"kind": "head", "target_sha256": digest})
    save_model(random_small_model(0), models, "foreign", {"kind": "small_model", "target_sha256": "0" * 64})
    for name, message in (("head", "kind of 'head'"), ("foreign", "trained for another target")):
        with pytest.raises(ValueError, match=message):
            load_small_model(models, name)
    with pytest.raises(FileNotFoundError, match="python -m eagle_min train small_model --name other --models"):
        load_small_model(models, "other")


def test_the_command_makes_one_that_drafts(tmp_path, monkeypatch):
    """With random text instead of the corpus: plain text comes out of all four drafters at temperature 0."""
    monkeypatch.setattr(eagle_min.train.network, "training_streams", lambda *_: streams())
    models = tmp_path / "set"
    models.mkdir()
    shutil.copy(SHIPPED / "tiny" / "tokenizer.ranks", models)
    target = new_target(replace(CONFIG, vocab_size=512, context=512), seed=1)
    vocabulary = load_tokenizer(models / "tokenizer.ranks").sha256
    save_model(target, models, "target", {"kind": "target", "tokenizer_sha256": vocabulary})
    words = ["train", "small_model", "--models", models, "--run", tmp_path / "run", "--tokens", 4096, "--threads", 1]
    assert main([str(word) for word in words]) == 0
    loaded = eagle_min.load(str(models))
    plain = generate(loaded.target, [1, 2, 3], max_new_tokens=20).tokens
    for name in NAMES:
        drafter = loaded.drafter(name)
        assert isinstance(drafter, SmallModelDrafter) and drafter.network.config.num_layers == NUM_LAYERS
        assert generate(loaded.target, [1, 2, 3], drafter, max_new_tokens=20).tokens == plain
