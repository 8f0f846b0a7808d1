"""Medusa's heads: which place each of them guesses, the shape of their trees, and how both are learned.

The oracle is written from the formulas: one row, one head at a time, in numpy.
"""

import copy
import json
import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import CONFIG, drafter_of, random_head, random_medusa, random_target, slow_target, small_run, weights
from oracles import rank_paths, token_path
from strategies import fewer

import eagle_min
from eagle_min import stream
from eagle_min.checkpoint import save_model
from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.decode import Reading
from eagle_min.dice import SeededDice
from eagle_min.drafters.medusa import MEDUSA_TREE, MedusaDrafter, MedusaHeads, load_medusa
from eagle_min.tokenizer import load_tokenizer, save_vocabulary
from eagle_min.train.rivals.medusa import NUM_HEADS, accuracies, best_paths, choose_paths, medusa_loss, new_medusa
from eagle_min.train.teacher import teach

TOLERANCE = 1e-10

tokens = st.integers(0, CONFIG.vocab_size - 1)
texts = st.lists(tokens, min_size=2, max_size=9)
windows = st.lists(st.lists(tokens, min_size=7, max_size=7), min_size=1, max_size=2)
seeds = st.integers(0, 2)


def slow_guess(heads: MedusaHeads, feature: np.ndarray, k: int) -> np.ndarray:
    """Log-probabilities (V,) of head k, counted from 1, at one feature (D,)."""
    w = weights(heads)
    inner = w[f"heads.{k - 1}.residual.weight"] @ feature
    logits = w[f"heads.{k - 1}.lm_head.weight"] @ (feature + inner / (1 + np.exp(-inner)))
    return logits - math.log(np.exp(logits).sum())


def best_first(guess: np.ndarray) -> list[int]:
    """Tokens by falling probability."""
    return sorted(range(len(guess)), key=lambda token: (-guess[token], token))


def slow_tree(heads: MedusaHeads, feature: np.ndarray, path: str) -> tuple[tuple[int, ...], float]:
    """The tokens on a path of child ranks below the root, and their log-probability together."""
    guesses = [slow_guess(heads, feature, k) for k in range(1, len(path) + 1)]
    found = tuple(best_first(guess)[int(rank)] for guess, rank in zip(guesses, path))
    return found, sum(guess[token] for guess, token in zip(guesses, found))


def drafted(drafter: MedusaDrafter, seed: int, text: list[int], depth: int = 9):
    """The tree below the last token of a text that was read in one piece."""
    features, rows = random_target(seed).start().read(text[:-1], list(range(len(text) - 1)))
    draft = drafter.start(text[:1])
    draft.learn(Reading(features, rows, list(range(len(text) - 1)), text[1:]))
    return draft.propose(text[-1], depth, SeededDice(0), 0, SamplingConfig())


@given(seeds, texts, st.integers(1, 4))
def test_the_tree_is_the_product_of_the_heads_at_the_last_feature(seed, text, depth):
    """Node by node as the slow heads have it: level k has the tokens of head k at the position before the root."""
    heads = random_medusa(seed)
    tree = drafted(drafter_of("medusa", seed), seed, text, depth)
    tree.check_invariants()
    feature = slow_target(random_target(seed), text[:-1])[0][-1]
    wanted = [path for path in heads.paths if len(path) <= depth]
    assert rank_paths(tree.parents) == ["", *wanted]
    for node, path in enumerate(wanted, 1):
        found, value = slow_tree(heads, feature, path)
        assert token_path(tree.tokens, tree.parents, node) == found
        assert abs(tree.log_confidence[node] - value) < TOLERANCE


def test_after_a_cycle_the_feature_is_that_of_the_last_token_accepted():
    """Along a whole text, with other nodes in the tree than those that stay."""
    target, heads, prompt = random_target(0), random_medusa(0), [1, 2, 3]
    text, places = list(prompt), set()
    for cycle in stream(target, prompt, drafter_of("medusa", 0), max_new_tokens=30, temperature=0.7, seed=1):
        if cycle.tree is not None and len(cycle.tree) > 1:
            feature = slow_target(target, text[:-1])[0][-1]
            found = token_path(cycle.tree.tokens, cycle.tree.parents, 1)
            assert found == slow_tree(heads, feature, "0")[0]
            places.add(cycle.num_accepted)
        text += cycle.tokens
    assert len(places) > 1


def test_a_tree_without_paths_leaves_the_shape_to_the_network_and_one_with_paths_does_not():
    heads, text = random_medusa(0), [1, 2, 3]
    assert MEDUSA_TREE.paths == () and len(heads.paths) > 8
    shapes = {  # limits -> the paths that are drafted
        MEDUSA_TREE: list(heads.paths),
        replace(MEDUSA_TREE, num_nodes=4): list(heads.paths[:3]),
        replace(MEDUSA_TREE, depth=1): ["0", "1", "2"],
        TreeConfig(paths=("0", "1", "10", "100", "1000")): ["0", "1", "10", "100"],  # there are three heads
    }
    for tree, paths in shapes.items():
        drafter = MedusaDrafter(heads, tree)
        assert drafter.num_nodes == tree.num_nodes
        assert rank_paths(drafted(drafter, 0, text).parents) == ["", *paths]


def slow_loss(seed: int, batch: list[list[int]]) -> float:
    """Head k at row t against the target's law of the token at t + 1 + k, the mean over rows, 0.8^k each."""
    total, heads = 0.0, random_medusa(seed)
    for k in range(1, len(heads.heads) + 1):
        losses = []
        for text in batch:
            features, logits = slow_target(random_target(seed), text)
            for t in range(len(text) - k):
                law = np.exp(logits[t + k] - logits[t + k].max())
                losses.append(-(slow_guess(heads, features[t], k) @ law) / law.sum())
        total += 0.8**k * float(np.mean(losses))
    return total


@fewer(2)
@given(seeds, windows)
def test_the_loss_compares_head_k_with_the_law_k_rows_later(seed, batch):
    target = random_target(seed)
    loss = medusa_loss(target, random_medusa(seed), teach(target, torch.tensor(batch)), 0)
    assert abs(float(loss) - slow_loss(seed, batch)) < 1e-9


@given(seeds, st.lists(tokens, min_size=6, max_size=9), st.data())
def test_a_row_of_training_is_what_drafting_sees_at_that_place(seed, text, data):
    """Row t in the middle of a window, and a tree whose root is the token at t + 1."""
    t = data.draw(st.integers(0, len(text) - 2))
    taught = teach(random_target(seed), torch.tensor([text]))
    with torch.no_grad():
        rows = [logits[0, t].log_softmax(-1).numpy() for logits in random_medusa(seed)(taught.features)]
    tree = drafted(MedusaDrafter(random_medusa(seed), TreeConfig(paths=("0", "00", "000"))), seed, text[: t + 2])
    assert tree.tokens == (text[t + 1], *(int(row.argmax()) for row in rows))
    assert np.abs(np.diff(tree.log_confidence) - [row.max() for row in rows]).max() < TOLERANCE


def test_new_heads_say_what_the_target_says():
    target = random_target(0)
    heads, features = new_medusa(target, 0).double(), torch.randn(3, CONFIG.width, dtype=torch.float64)
    assert len(heads.heads) == NUM_HEADS
    assert all(torch.allclose(logits, target.lm_head(features), atol=1e-6) for logits in heads(features))
    assert all(head.lm_head.weight is not target.lm_head.weight for head in heads.heads)


@fewer(2)
@given(seeds, st.lists(windows, min_size=1, max_size=3))
def test_accuracies_are_shares_of_the_targets_greedy_tokens(seed, batches):
    target, heads = random_target(seed), random_medusa(seed)
    hits: dict[tuple[int, int], list[bool]] = {}
    for text in (text for batch in batches for text in batch):
        features, logits = slow_target(target, text)
        for k, t in product(range(1, len(heads.heads) + 1), range(len(text))):
            if t + k < len(text):
                for rank, token in enumerate(best_first(slow_guess(heads, features[t], k))):
                    hits.setdefault((k, rank), []).append(token == logits[t + k].argmax())
    found = accuracies(heads, (teach(target, torch.tensor(batch)) for batch in batches))
    assert found.shape == (len(heads.heads), CONFIG.vocab_size)
    assert all(abs(found[k - 1, rank] - np.mean(right)) < 1e-6 for (k, rank), right in hits.items())


def estimate(accuracy: np.ndarray, path: str) -> float:
    return math.prod(float(accuracy[level, int(rank)]) for level, rank in enumerate(path))


def is_shape(paths: set[str]) -> bool:
    """Parents and better siblings are there."""
    return all(
        (len(p) == 1 or p[:-1] in paths) and (p[-1] == "0" or f"{p[:-1]}{int(p[-1]) - 1}" in paths) for p in paths
    )


@given(st.lists(st.lists(st.integers(0, 8), min_size=3, max_size=3), min_size=2, max_size=2), st.integers(1, 5))
def test_the_shape_is_the_best_of_its_size(counts, size):
    """By trying all shapes of two heads and three ranks, with accuracies that fall."""
    accuracy = np.sort(np.array(counts) / 32)[:, ::-1]
    paths = best_paths(accuracy, size)
    TreeConfig(paths=tuple(paths))  # a tree in level order
    assert len(paths) == size and is_shape(set(paths))
    everything = ["".join(map(str, p)) for length in (1, 2) for p in product(range(3), repeat=length)]
    shapes = [shape for shape in combinations(everything, size) if is_shape(set(shape))]
    best = max(sum(estimate(accuracy, path) for path in shape) for shape in shapes)
    assert abs(sum(estimate(accuracy, path) for path in paths) - best) < 1e-12


def test_a_shape_is_one_even_where_a_worse_rank_is_right_more_often():
    """The ranks of a tree are counted without gaps, whatever the accuracies."""
    accuracy = np.array([[0.1, 0.0, 0.9], [0.0, 0.8, 0.1]])
    paths = best_paths(accuracy, 4)
    assert len(paths) == 4 and is_shape(set(paths))
    assert paths == sorted(paths, key=lambda path: (len(path), path))
    assert len(best_paths(accuracy, 99)) == 3 + 9  # and no more than there are


def test_training_changes_all_heads_and_nothing_else_and_can_be_resumed(tmp_path, monkeypatch):
    heads = small_run("medusa", tmp_path, monkeypatch)
    target = copy.deepcopy(random_target(0)).float()
    card = choose_paths(target, heads, iter([teach(target, torch.arange(6)[None])]))
    assert card["heads"] == NUM_HEADS and len(card["paths"]) == MEDUSA_TREE.num_nodes - 1


# --- weights and card ---


@pytest.fixture
def models(tmp_path):
    """A set with Medusa heads."""
    save_vocabulary([bytes([byte]) for byte in range(256)], tmp_path / "tokenizer.ranks")
    vocabulary = load_tokenizer(tmp_path / "tokenizer.ranks").sha256
    digest = save_model(random_target(0), tmp_path, "target", {"tokenizer_sha256": vocabulary})
    card = {"kind": "medusa", "target_sha256": digest, "heads": 3, "paths": list(random_medusa(0).paths)}
    save_model(random_medusa(0), tmp_path, "medusa", card)
    return tmp_path


def change_card(folder, **changes) -> None:
    path = folder / "medusa.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_what_is_saved_drafts_the_same(models):
    loaded, rounded = load_medusa(models, "medusa"), copy.deepcopy(random_medusa(0))
    for param in rounded.parameters():
        param.copy_(param.bfloat16())
    assert loaded.paths == rounded.paths
    assert not any(param.requires_grad for param in loaded.parameters())
    by_name, text = eagle_min.load(str(models)).drafter("medusa"), [1, 2, 3]
    assert by_name.num_nodes == MEDUSA_TREE.num_nodes
    trees = [drafted(MedusaDrafter(heads.double(), MEDUSA_TREE), 0, text) for heads in (loaded, rounded)]
    assert trees[0] == trees[1]


BAD_CARDS = {
    "another kind": ({"kind": "head"}, "kind of 'medusa' in .* must be 'medusa', got 'head'"),
    "another target": ({"target_sha256": "0" * 64}, "medusa 'medusa' .* was trained for another target"),
    "no number": ({"heads": None}, "heads of a Medusa card must be an integer between 1 and 16, got None"),
    "no paths": ({"paths": None}, "paths of a Medusa card must be a list of strings of child ranks, got None"),
    "paths of no tree": ({"paths": ["0", "10"]}, "path of a static tree must be digits, .*, got '10'"),
    "another number": ({"heads": 2, "paths": ["0", "00"]}, "medusa.pt does not fit its card"),
    "far too many": ({"heads": 10**6}, "heads of a Medusa card must be an integer between 1 and 16, got 1000000"),
    "no path": ({"paths": []}, r"paths of a Medusa card must be a list of strings of child ranks, got \[\]"),
    "a path without a head": ({"paths": ["0", "00", "000", "0000", "00000", "000000"]}, "one for each head, got '0000"),
    "a gap": ({"paths": ["0", "2"]}, "path of a Medusa card must be there only with all better siblings, got '2'"),
    "digits of another script": ({"paths": ["\u0663"]}, "path of a .* must be "),
}


@pytest.mark.parametrize("case", BAD_CARDS)
def test_a_card_that_does_not_fit_is_refused(case, models):
    changes, message = BAD_CARDS[case]
    change_card(models, **changes)
    with pytest.raises(ValueError, match=message):
        load_medusa(models, "medusa")


def test_an_eagle_head_is_not_taken_for_medusa_heads(models):
    digest = json.loads((models / "target.json").read_text())["sha256"]
    save_model(random_head(0), models, "medusa", {"kind": "head", "target_sha256": digest})
    with pytest.raises(ValueError, match="must be 'medusa', got 'head'"):
        load_medusa(models, "medusa")


def test_missing_heads_are_named_with_the_command_that_makes_them(models):
    (models / "medusa.json").unlink()
    with pytest.raises(FileNotFoundError, match="no model 'medusa' .*python -m eagle_min train medusa"):
        eagle_min.load(str(models)).drafter("medusa")
