"""Multi-token prediction modules: which state meets which token at which depth, tree rows, loss, and card.

The oracle has no caches, no masks and no trees: for a text and a path of draft tokens it computes module after
module from the formulas, on one sequence each, with `networks.slow_layer`.
"""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import (
    CONFIG,
    cache_rows,
    random_head,
    random_mtp,
    random_target,
    rms_norm,
    slow_layer,
    slow_target,
    small_run,
    weights,
)
from oracles import token_path
from strategies import fewer, level_trees

import eagle_min
import eagle_min.train.network
from eagle_min import generate
from eagle_min.__main__ import main
from eagle_min.checkpoint import read_card, save_model
from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.decode import Reading
from eagle_min.dice import SeededDice
from eagle_min.drafters.model_set import SHIPPED
from eagle_min.drafters.mtp import MOST_DEPTHS, MTPDrafter, MTPExpansion, MTPModules, MTPSession, load_mtp
from eagle_min.drafters.registry import REGISTRY
from eagle_min.grow import chain, confidence
from eagle_min.tokenizer import load_tokenizer
from eagle_min.train.batches import DOMAINS
from eagle_min.train.rivals.mtp import mtp_loss, new_mtp
from eagle_min.train.target import new_target
from eagle_min.train.teacher import teach

TOLERANCE = 1e-10
SMALL = TreeConfig(num_nodes=9, depth=4, top_k=3)

tokens = st.integers(0, CONFIG.vocab_size - 1)
texts = st.lists(tokens, min_size=2, max_size=8)
seeds = st.integers(0, 2)
depth_counts = st.integers(1, 4)


def slow_module(network: MTPModules, k: int, states: np.ndarray, embedded: np.ndarray) -> np.ndarray:
    """Module k over rows 0 .. T - 1, each (state, embedding): its states (T, D)."""
    w, eps, own = weights(network), network.config.norm_eps, f"depths.{k - 1}."
    normed = rms_norm(states, w[f"{own}state_norm.weight"], eps), rms_norm(embedded, w[f"{own}token_norm.weight"], eps)
    x = np.concatenate(normed, axis=1) @ w[f"{own}merge.weight"].T
    return slow_layer(x, w, f"{own}block.", network.config, input_norm=True, start=k - 1)


def slow_log_laws(seed: int, network: MTPModules, k: int, states: np.ndarray) -> np.ndarray:
    """Log-probabilities (T, V) that module k gives after its rows."""
    outputs = rms_norm(states, weights(network)[f"depths.{k - 1}.norm.weight"], network.config.norm_eps)
    logits = outputs @ weights(random_target(seed))["lm_head.weight"].T
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def slow_training(seed: int, network: MTPModules, text: list[int]) -> list[np.ndarray]:
    """For each depth k the log-probabilities (L - k, V) of its rows over a whole text."""
    states, embed = slow_target(random_target(seed), text)[0], weights(random_target(seed))["embed.weight"]
    result = []
    for k in range(1, network.num_depths + 1):
        states = slow_module(network, k, states[: len(text) - k], embed[text[k:]])
        result.append(slow_log_laws(seed, network, k, states))
    return result


def slow_path(seed: int, network: MTPModules, text: list[int], path: list[int]) -> np.ndarray:
    """Log-probabilities (V,) after the last token of a draft path; the root is the last token of the text."""
    whole, embed = [*text, *path], weights(random_target(seed))["embed.weight"]
    states, last = slow_target(random_target(seed), text[:-1])[0], network.num_depths
    for k in range(1, min(len(path) + 1, last) + 1):
        inputs, num_rows = states, len(text) - 1  # row i of each module belongs to feature i
        states = slow_module(network, k, inputs, embed[whole[k : k + num_rows]])
    for _ in range(len(path) + 1 - last):  # the last module runs on
        inputs = np.concatenate([inputs, states[-1:]])
        states = slow_module(network, last, inputs, embed[whole[last : last + len(inputs)]])
    return slow_log_laws(seed, network, k, states[-1:])[0]


def taught(
    seed: int, text: list[int], num_depths: int = 2, cuts: tuple[int, ...] = (), grow=confidence, tree=SMALL
) -> MTPSession:
    """A session that has learned `text`, in pieces that end at `cuts`; its last token is the root."""
    draft = MTPDrafter(random_target(seed), random_mtp(seed, num_depths), grow, tree).start(text[:1])
    session = random_target(seed).start()
    for start, end in zip((0, *cuts), (*cuts, len(text) - 1)):
        features, rows = session.read(text[start:end], list(range(start, end)))
        draft.learn(Reading(features, rows, list(range(end - start)), text[start + 1 : end + 1]))
    return draft


@torch.inference_mode()
def expanded(draft: MTPSession, nodes: list[int], parents: list[int], levels: list[list[int]]) -> dict:
    """Node -> log-probabilities below it, level by level."""
    expand, drafts = MTPExpansion(draft.readers), {}
    for level in levels:
        drafts.update(zip(level, expand(nodes, parents, level)))
    return drafts


# --- the network ---------------------------------------------------------------------------------


@given(seeds, st.lists(st.lists(tokens, min_size=6, max_size=6), min_size=1, max_size=2), depth_counts)
def test_each_depth_equals_the_slow_oracle(seed, windows, num_depths):
    target, network = random_target(seed), random_mtp(seed, num_depths)
    with torch.no_grad():
        seen = teach(target, torch.tensor(windows))
        outputs = list(network(seen.features, target.embed(seen.windows)))
        drafts = [target.lm_head(rows).log_softmax(-1).numpy() for rows in outputs]
    assert [draft.shape[:2] for draft in drafts] == [(len(windows), 6 - k) for k in range(1, num_depths + 1)]
    for number, text in enumerate(windows):
        for draft, wanted in zip(drafts, slow_training(seed, network, text)):
            assert np.abs(draft[number] - wanted).max() < TOLERANCE


@given(seeds, st.lists(tokens, min_size=6, max_size=9), st.data())
def test_row_i_of_module_k_is_moved_by_token_i_plus_k_and_by_none_after_it(seed, text, data):
    network, changed = random_mtp(seed, 3), data.draw(st.integers(1, len(text) - 1))
    other = [*text[:changed], (text[changed] + 1) % CONFIG.vocab_size, *text[changed + 1 :]]
    with torch.no_grad():
        features = random_target(seed).features(torch.tensor([text]), torch.arange(len(text)))  # the same for both
        both = [list(network(features, random_target(seed).embed(torch.tensor([ids])))) for ids in (text, other)]
    for k, (one, two) in enumerate(zip(*both), start=1):
        moved = (one != two).any(-1)[0].numpy()
        first = max(0, changed - k)
        assert not moved[:first].any() and moved[first : first + 1].all()


# --- drafting ------------------------------------------------------------------------------------


@given(seeds, texts, level_trees(tokens), depth_counts)
def test_a_tree_row_equals_its_path_run_alone(seed, text, tree, num_depths):
    """Through the trained depths and below them, from a text of two tokens on."""
    nodes, parents, levels = tree
    nodes[0] = text[-1]
    drafts = expanded(taught(seed, text, num_depths), nodes, parents, levels)
    for node in {0, *(level[-1] for level in levels), *levels[-1]}:
        alone = slow_path(seed, random_mtp(seed, num_depths), text, list(token_path(nodes, parents, node)))
        assert np.abs(drafts[node] - alone).max() < TOLERANCE


@fewer(2)
@given(seeds, st.lists(tokens, min_size=6, max_size=9), depth_counts)
def test_a_row_of_training_is_what_a_draft_along_the_text_gives(seed, text, num_depths):
    """Row i of depth k is drafted behind the true text up to token i + 1 and k - 1 draft tokens."""
    for i in range(len(text) - num_depths):
        path = text[i + 2 : i + 1 + num_depths]
        chained = expanded(
            taught(seed, text[: i + 2], num_depths),
            [text[i + 1], *path],
            list(range(-1, len(path))),
            [[node] for node in range(num_depths)],
        )
        for k, rows in enumerate(slow_training(seed, random_mtp(seed, num_depths), text), start=1):
            assert np.abs(chained[k - 1] - rows[i]).max() < TOLERANCE


@given(seeds, st.lists(tokens, min_size=3, max_size=9), depth_counts, st.data())
def test_what_is_known_of_a_text_does_not_depend_on_the_pieces_it_came_in(seed, text, num_depths, data):
    """Each module is one row behind the one before it, whatever a reading brings."""
    cuts = tuple(sorted(data.draw(st.sets(st.integers(1, len(text) - 2), max_size=4))))
    whole, parts = (taught(seed, text, num_depths, pieces) for pieces in ((), cuts))
    for k, (one, two) in enumerate(zip(whole.readers, parts.readers), start=1):
        assert one.cache.length == two.cache.length == one.num_true == two.num_true == max(0, len(text) - k)
        assert np.allclose(cache_rows(one.cache), cache_rows(two.cache), rtol=0, atol=TOLERANCE)
        assert torch.allclose(one.states, two.states, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("grow", [confidence, chain])
def test_growing_leaves_the_caches_as_they_were_and_fits_up_to_the_end_of_the_context(grow):
    @fewer(4)
    @given(seeds, st.integers(CONFIG.context - 6, CONFIG.context - 2), depth_counts, st.randoms())
    def check(seed, length, num_depths, rng):
        text = [rng.randrange(CONFIG.vocab_size) for _ in range(length)]
        draft = taught(seed, text, num_depths, (), grow, TreeConfig(num_nodes=20, depth=6, top_k=6))
        before = [cache_rows(reader.cache) for reader in draft.readers]
        room = CONFIG.context - length - 1
        one, two = (draft.propose(text[-1], room, SeededDice(0), 0, SamplingConfig()) for _ in range(2))
        assert one == two and one.log_confidence == two.log_confidence
        for reader, rows in zip(draft.readers, before):
            assert reader.cache.length == reader.num_true
            assert np.array_equal(cache_rows(reader.cache), rows)

    check()


def test_a_level_is_one_pass_of_one_module_where_there_are_two(monkeypatch):
    """The root needs no pass of its own: its rows are read with the text."""
    draft, passes = taught(0, [1, 2, 3, 4]), []
    for k, module in enumerate(draft.drafter.network.depths, start=1):
        forward = module.forward
        noted = lambda *args, k=k, forward=forward: passes.append(k) or forward(*args)  # noqa: E731
        monkeypatch.setattr(module, "forward", noted)
    draft.propose(4, 4, SeededDice(0), 0, SamplingConfig())
    assert passes == [2, 2, 2]


def test_nodes_of_several_levels_at_once_are_refused():
    draft = taught(0, [1, 2, 3])
    with pytest.raises(ValueError, match="levels of the nodes to expand must be one"):
        expanded(draft, [3, 1, 2, 4], [-1, 0, 0, 1], [[0], [1], [2, 3]])


# --- training ------------------------------------------------------------------------------------


@given(seeds, st.lists(st.lists(tokens, min_size=7, max_size=7), min_size=1, max_size=2), depth_counts)
def test_the_loss_is_the_mean_over_depths_of_the_cross_entropy_with_the_targets_laws(seed, windows, num_depths):
    target, network, total = random_target(seed), random_mtp(seed, num_depths), 0.0
    for text in windows:
        logits = slow_target(target, text)[1]
        laws = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        for k, rows in enumerate(slow_training(seed, network, text), start=1):
            row_losses = [-laws[i + k] @ row for i, row in enumerate(rows)]  # the law of token i + k + 1
            total += np.mean(row_losses) / len(windows) / num_depths
    with torch.no_grad():
        loss = mtp_loss(target, network, teach(target, torch.tensor(windows)), seed)
    assert abs(float(loss) - total) < 1e-9


def test_a_later_depth_teaches_the_modules_before_it():
    """States go on as they are, so what module 2 needs of them reaches module 1."""
    target, network = random_target(0), new_mtp(random_target(0), 0).double()
    seen = teach(target, torch.tensor([[1, 2, 3, 4, 5]]))
    *_, last = network(seen.features, target.embed(seen.windows))
    first = network.depths[0]
    gradients = torch.autograd.grad(last.square().sum(), [first.merge.weight, first.token_norm.weight])
    assert all(gradient.abs().max() > 0 for gradient in gradients)


def test_training_changes_all_of_it_and_nothing_of_the_target_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    small_run("mtp", tmp_path, monkeypatch)


def test_new_modules_have_the_targets_layer_and_no_matrix_of_vocabulary_size():
    """And are, beside the shipped target, a tenth of it at most."""
    config = read_card(SHIPPED / "tiny", "target")["config"]
    target = new_target(replace(CONFIG, **config), seed=1)
    network, again, other = (new_mtp(target, seed) for seed in (2, 2, 3))
    sizes = [sum(param.numel() for param in model.parameters()) for model in (network, target)]
    assert 0.05 < sizes[0] / sizes[1] < 0.1
    assert network.num_depths == 2 and network.config == replace(target.config, num_layers=1)
    assert all(target.vocab_size not in param.shape for param in network.parameters())
    states = [model.state_dict() for model in (network, again, other)]
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())
    assert not torch.equal(states[0]["depths.0.merge.weight"], states[2]["depths.0.merge.weight"])


# --- weights and card ----------------------------------------------------------------------------


@pytest.fixture
def models(tmp_path):
    """A set with the target of seed 0 and three modules for it."""
    digest = save_model(random_target(0), tmp_path, "target", {"kind": "target"})
    card = {"kind": "mtp", "target_sha256": digest, "num_depths": 3}
    save_model(random_mtp(0, 3), tmp_path, "mtp", card)
    for number in (None, 0, True, "2", MOST_DEPTHS + 1):
        save_model(random_mtp(0, 3), tmp_path, f"of-{number}", card | {"num_depths": number})
    save_model(random_mtp(0, 3), tmp_path, "fewer", card | {"num_depths": 2})
    save_model(random_mtp(0, 3), tmp_path, "foreign", card | {"target_sha256": "0" * 64})
    save_model(random_head(0), tmp_path, "head", {"kind": "head", "target_sha256": digest})
    return tmp_path


def test_what_is_saved_comes_back(models):
    loaded, saved = load_mtp(models, "mtp"), random_mtp(0, 3)
    assert (loaded.config, loaded.num_depths) == (saved.config, 3)
    for (name, got), (other, wanted) in zip(loaded.named_parameters(), saved.named_parameters(), strict=True):
        assert name == other and not got.requires_grad
        assert torch.equal(got, wanted.bfloat16().float())


def test_what_does_not_fit_is_refused_in_one_line(models):
    refused = {"head": "kind of 'head'", "foreign": "trained for another target", "fewer": "does not fit its card"}
    refused |= {f"of-{number}": "num_depths of MTP modules must be 1 to 16" for number in (None, 0, True, "2", 17)}
    for name, message in refused.items():
        with pytest.raises(ValueError, match=message) as error:
            load_mtp(models, name)
        assert "\n" not in str(error.value)
    with pytest.raises(FileNotFoundError, match="`python -m eagle_min train mtp --name other --models"):
        load_mtp(models, "other")


def test_the_command_makes_modules_that_draft(tmp_path, monkeypatch):
    """With random text instead of the corpus; plain text comes out."""
    rng = np.random.default_rng(0)
    streams = {name: rng.integers(0, CONFIG.vocab_size, 9000).astype(np.uint16) for name in DOMAINS}
    monkeypatch.setattr(eagle_min.train.network, "training_streams", lambda *_: streams)
    models = tmp_path / "set"
    models.mkdir()
    shutil.copy(SHIPPED / "tiny" / "tokenizer.ranks", models)
    target = new_target(replace(CONFIG, vocab_size=512, context=512), seed=1)
    vocabulary = load_tokenizer(models / "tokenizer.ranks").sha256
    save_model(target, models, "target", {"kind": "target", "tokenizer_sha256": vocabulary})
    words = ["train", "mtp", "--models", models, "--run", tmp_path / "run", "--tokens", 2048, "--threads", 1]
    assert main([str(word) for word in words]) == 0
    loaded = eagle_min.load(str(models))
    drafter = loaded.drafter("mtp")
    assert isinstance(drafter, MTPDrafter) and drafter.network.num_depths == 2
    assert drafter.tree == REGISTRY["mtp"].tree
    plain, drafted = (generate(loaded.target, [1, 2, 3], one, max_new_tokens=9) for one in (None, drafter))
    assert drafted.tokens == plain.tokens
