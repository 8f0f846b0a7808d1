"""The head: which feature meets which token, tree rows, and what training may not touch.

`networks.slow_head` is the oracle of the head's arithmetic.
"""

import copy
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import (
    CONFIG,
    TREES,
    cache_rows,
    random_drafter,
    random_head,
    random_target,
    shipped,
    slow_head,
    slow_target,
    weights,
)
from oracles import ancestors
from strategies import fewer, level_trees

import eagle_min.train.head
from eagle_min import stream
from eagle_min.checkpoint import save_model
from eagle_min.config import SamplingConfig
from eagle_min.dice import SeededDice
from eagle_min.head import EagleHead, Expansion
from eagle_min.tokenizer import Tokenizer
from eagle_min.train.head import RECIPES, embedding_gain, head_loss, louder, new_head, train_head, unroll
from eagle_min.train.loop import TrainConfig
from eagle_min.train.target import new_target
from eagle_min.train.teacher import teach

TOLERANCE = 1e-10

tokens = st.integers(0, CONFIG.vocab_size - 1)
texts = st.lists(tokens, min_size=2, max_size=9)
seeds = st.integers(0, 2)


def slow_drafts(seed: int, text: list[int]) -> np.ndarray:
    """Log-probabilities (T - 1, V) of the drafts after rows 0 .. T - 2, by the oracle alone."""
    features, _ = slow_target(random_target(seed), text)
    w = weights(random_target(seed))
    guesses = slow_head(random_head(seed), features[:-1], w["embed.weight"][text[1:]])
    logits = guesses @ w["lm_head.weight"].T
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


@torch.inference_mode()
def taught(seed: int, text: list[int], kind: str = "confidence"):
    """A session that has learned `text`, true features and all; its last token is the root."""
    draft = random_drafter(kind, seed).start(text[:1])
    features, _ = random_target(seed).start().read(text[:-1], list(range(len(text) - 1)))
    draft.read(features, text[1:])
    return draft


def expansion(seed: int, text: list[int]) -> Expansion:
    draft = taught(seed, text)
    return draft.expansion()


@given(seeds, texts)
def test_draft_below_the_root_equals_the_slow_oracle(seed, text):
    with torch.inference_mode():
        draft = expansion(seed, text)([text[-1]], [-1], [0])
    assert np.abs(draft[0] - slow_drafts(seed, text)[-1]).max() < TOLERANCE


@given(seeds, st.lists(tokens, min_size=4, max_size=9), st.data())
def test_the_draft_at_t_is_moved_by_token_t_plus_1_and_by_none_after_it(seed, text, data):
    """Row t pairs feature t with the token at t + 1 and drafts the one at t + 2."""
    place = data.draw(st.integers(0, len(text) - 3))
    changed = data.draw(st.integers(place + 1, len(text) - 1))
    other = [*text[:changed], (text[changed] + 1) % CONFIG.vocab_size, *text[changed + 1 :]]
    rows = []
    for ids in map(torch.tensor, (text, other)):
        with torch.no_grad():
            features = random_target(seed).features(ids[:-1][None], torch.arange(len(text) - 1))
            embedded = random_target(seed).embed(ids[1:][None])
            guesses = random_head(seed)(features, embedded, torch.arange(len(text) - 1))
        rows.append(random_target(seed).lm_head(guesses)[0, place].numpy())
    moved = not np.array_equal(*rows)
    assert moved == (changed == place + 1)


class Pupil:
    """A drafter that notes down what it is taught."""

    def __init__(self, drafter) -> None:
        self.drafter, self.num_nodes, self.layers = drafter, drafter.num_nodes, drafter.layers
        self.tokens: list[int] = []
        self.features: list[np.ndarray] = []

    def start(self, prompt_ids) -> "Pupil":
        self.draft = self.drafter.start(prompt_ids)
        return self

    def learn(self, reading) -> None:
        self.tokens += reading.following
        self.features += list(reading.features[reading.path].numpy())
        self.draft.learn(reading)

    def propose(self, *arguments):
        return self.draft.propose(*arguments)


@given(seeds, st.sampled_from([*TREES, "static_sampled"]), texts)
def test_the_loop_teaches_each_feature_with_the_token_after_it(seed, kind, prompt):
    pupil = Pupil(random_drafter(kind, seed))
    cycles = list(stream(random_target(seed), prompt, pupil, max_new_tokens=8, temperature=1.0, seed=seed))
    text = [*prompt, *(token for cycle in cycles for token in cycle.tokens)]
    known = len(pupil.tokens)
    assert known >= len(prompt)
    assert pupil.tokens == text[1 : known + 1]
    assert np.abs(np.array(pupil.features) - slow_target(random_target(seed), text[:known])[0]).max() < TOLERANCE


@given(seeds, texts, level_trees(tokens))
def test_a_tree_row_equals_its_path_run_alone_on_the_heads_own_features(seed, text, tree):
    nodes, parents, tree_levels = tree
    nodes[0] = text[-1]
    expand, drafts = expansion(seed, text), {}
    with torch.inference_mode():
        for level in tree_levels:
            drafts.update(zip(level, expand(nodes, parents, level)))
    target, head, w = random_target(seed), random_head(seed), weights(random_target(seed))
    true_features, _ = slow_target(target, text[:-1])
    for node in tree_levels[-1][:2]:
        path = [*sorted(ancestors(parents, node)), node][1:]
        features, following = true_features, list(text[1:])
        for token in [nodes[place] for place in path]:
            guess = slow_head(head, features, w["embed.weight"][following])[-1:]
            features, following = np.concatenate([features, guess]), [*following, token]
        logits = slow_head(head, features, w["embed.weight"][following])[-1] @ w["lm_head.weight"].T
        assert np.abs(drafts[node] - (logits - np.log(np.exp(logits).sum()))).max() < TOLERANCE


@pytest.mark.parametrize("kind", [*TREES, "static_sampled"])
def test_growing_leaves_the_cache_as_it_was(kind):
    @fewer(2)
    @given(seeds, texts, st.integers(1, 6))
    def check(seed, text, depth):
        draft = taught(seed, text, kind)
        before, length = cache_rows(draft.cache), draft.cache.length
        sampling = SamplingConfig(temperature=1.0)
        first, second = (draft.propose(text[-1], depth, SeededDice(seed), 0, sampling) for _ in range(2))
        assert draft.cache.length == length == len(text) - 1
        assert np.array_equal(cache_rows(draft.cache), before)
        assert first == second
        first.check_invariants()

    check()


def test_growing_runs_the_head_once_a_level():
    """The root needs no pass of its own: the last true row is (feature before the root, root)."""
    draft, sizes = taught(0, [1, 2, 3]), []
    drafter = draft.drafter
    forward = drafter.head.forward

    def counted(features, *rest):
        sizes.append(features.shape[-2])
        return forward(features, *rest)

    drafter.head.forward = counted
    try:
        tree = draft.propose(3, 4, SeededDice(0), 0, SamplingConfig())
    finally:
        del drafter.head.forward
    assert len(tree) == drafter.tree.num_nodes
    assert len(sizes) == 3 and all(size <= drafter.tree.top_k for size in sizes)


@given(seeds, st.lists(tokens, min_size=5, max_size=9), st.integers(1, 3))
def test_a_training_time_step_equals_a_chain_drafted_from_each_row(seed, text, num_steps):
    """Step i of row t is what the head guesses after true rows 0 .. t and i rows of its own."""
    true_features, _ = slow_target(random_target(seed), text)
    embedded = weights(random_target(seed))["embed.weight"][text[1:]]
    num_rows = len(text) - num_steps
    with torch.no_grad():
        inputs = torch.from_numpy(true_features[None, :num_rows]), torch.from_numpy(embedded[None])
        steps = [guesses[0].numpy() for guesses in unroll(random_head(seed), *inputs, num_steps)]
    for row in range(num_rows):
        features = true_features[: row + 1]
        for step in range(num_steps):
            guess = slow_head(random_head(seed), features, embedded[: row + step + 1])[-1]
            assert np.abs(steps[step][row] - guess).max() < TOLERANCE
            features = np.concatenate([features, guess[None]])


@given(seeds, texts, texts, st.sampled_from([*TREES, "static_sampled"]))
def test_texts_decoded_in_turn_by_one_drafter_do_not_mix(seed, first, second, kind):
    """A drafter keeps nothing of a sequence: what is known of one belongs to its session."""
    options = {"max_new_tokens": 6, "temperature": 1.0, "seed": seed}
    alone = [list(stream(random_target(seed), text, random_drafter(kind, seed), **options)) for text in (first, second)]
    drafter = random_drafter(kind, seed)
    one, other = (stream(random_target(seed), text, drafter, **options) for text in (first, second))
    in_turn = list(zip_longest(one, other))
    assert [cycle for cycle, _ in in_turn if cycle] == alone[0]
    assert [cycle for _, cycle in in_turn if cycle] == alone[1]


def snapshot(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def trained(
    target: torch.nn.Module, recipe: str, folder: Path, monkeypatch, first=None, models=None, **rates: float
) -> EagleHead:
    """A head after three updates on random text; `first` is one of the folder `models`."""
    rng = np.random.default_rng(0)
    streams = {name: rng.integers(0, CONFIG.vocab_size, 3000).astype(np.uint16) for name in ("code", "prose", "sums")}
    monkeypatch.setattr(eagle_min.train.network, "training_streams", lambda *_: streams)
    config = TrainConfig(tokens=3 * 512, batch_tokens=512, seq_len=16, **rates)
    tokenizer = Tokenizer([bytes([byte]) for byte in range(256)])
    given = SimpleNamespace(target=target, tokenizer=tokenizer, target_sha256="0" * 64, folder=models or folder)
    return train_head(given, RECIPES[recipe], config, folder, first)[0]


@pytest.mark.parametrize("recipe", RECIPES)
def test_training_a_head_changes_the_head_and_nothing_of_the_target(recipe, tmp_path, monkeypatch):
    """Embedding and LM head are shared with the target, which must stay as it is, byte for byte."""
    target = new_target(CONFIG, seed=1)
    target.requires_grad_(True)  # freezing is the training's own business
    before, first = snapshot(target), snapshot(new_head(target, seed=0))
    head = trained(target, recipe, tmp_path, monkeypatch)
    assert all(torch.equal(value, before[name]) for name, value in target.state_dict().items())
    assert all(param.grad is None for param in target.parameters())
    changed = {name for name, value in head.state_dict().items() if not torch.equal(value, first[name])}
    assert changed == {name for name, _ in head.named_parameters()}


def test_training_that_takes_no_step_gives_the_head_it_began_with(tmp_path, monkeypatch):
    """Embeddings are made louder for the training; the factor must come back into the weights."""
    target = new_target(CONFIG, seed=1)
    assert embedding_gain(target) > 5
    head = trained(target, "paper", tmp_path, monkeypatch, matrix_lr=0.0, other_lr=0.0)
    first = snapshot(new_head(target, seed=0))
    assert all(torch.allclose(value, first[name], rtol=1e-6) for name, value in head.state_dict().items())


def test_training_goes_on_from_the_weights_of_another_head(tmp_path, monkeypatch):
    """With rates of zero the head that comes out is the one it started from."""
    target, head = new_target(CONFIG, seed=1), new_head(new_target(CONFIG, seed=1), seed=5)
    sha = save_model(target, tmp_path, "target", {"kind": "target"})
    save_model(head, tmp_path, "first", {"kind": "head", "target_sha256": sha})
    still = trained(target, "paper", tmp_path, monkeypatch, "first", matrix_lr=0.0, other_lr=0.0).state_dict()
    stored = {name: value.bfloat16().float() for name, value in head.state_dict().items()}
    assert all(torch.allclose(still[name], value, rtol=1e-6) for name, value in stored.items())
    changed = trained(target, "paper", tmp_path / "on", monkeypatch, "first", models=tmp_path).state_dict()
    assert not any(torch.allclose(changed[name], value, rtol=1e-6) for name, value in stored.items())
    save_model(head, tmp_path, "second", {"kind": "head", "target_sha256": sha})
    louder(head, 2.0)
    save_model(head, tmp_path, "first", {"kind": "head", "target_sha256": sha})
    with pytest.raises(ValueError, match="begun with other values of first"):
        trained(target, "paper", tmp_path / "on", monkeypatch, "first", models=tmp_path)
    trained(target, "paper", tmp_path / "on", monkeypatch, "second", models=tmp_path)  # the same weights


def test_a_head_is_trained_on_the_longer_windows_with_embeddings_as_loud_as_features(tmp_path, monkeypatch):
    target, seen = new_target(CONFIG, seed=1), set()

    def noted(target, head, recipe, taught, seed, factor):
        seen.add((taught.windows.shape[1], factor))
        return head_loss(target, head, recipe, taught, seed, factor)

    monkeypatch.setattr(eagle_min.train.head, "head_loss", noted)
    trained(target, "paper", tmp_path, monkeypatch)
    assert seen == {(2 * 16, embedding_gain(target))}


@given(seeds, st.floats(0.1, 50), st.sampled_from(sorted(RECIPES)))
def test_a_louder_embedding_is_the_same_as_louder_weights(seed, factor, recipe):
    target, head = random_target(seed), random_head(seed)
    windows = torch.randint(CONFIG.vocab_size, (2, 9), generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        taught = teach(target, windows)
        first = head_loss(target, head, RECIPES[recipe], taught, seed, factor)
        other = copy.deepcopy(head)
        louder(other, factor)
        second = head_loss(target, other, RECIPES[recipe], taught, seed)
    assert abs(first - second) < TOLERANCE * max(1.0, abs(first))


def test_shipped_head_has_the_embedding_and_the_lm_head_of_its_target():
    """It has no matrix of vocabulary size of its own, and it uses the very tensors of the target."""
    models = shipped()
    drafter = models.drafter("eagle2")
    assert drafter.target is models.target
    assert all(models.target.vocab_size not in param.shape for param in drafter.head.parameters())
