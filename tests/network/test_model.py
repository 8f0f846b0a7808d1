"""The target's one forward pass: tree, chunk, step and prefill give the logits of the plain sequence.

The oracle of last resort is `networks.slow_target`, numpy loops over one sequence.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import CONFIG, random_target, shipped, slow_target
from oracles import ancestors
from tree_reading import TOLERANCE, drafts, plain, read_tree, seeds, texts


@given(seeds, texts)
def test_forward_equals_the_slow_oracle(seed, text):
    features, logits = plain(random_target(seed), text)
    slow_features, slow_logits = slow_target(random_target(seed), text)
    assert np.abs(features - slow_features).max() < TOLERANCE
    assert np.abs(logits - slow_logits).max() < TOLERANCE


@given(seeds, drafts(), st.data())
def test_a_node_that_is_no_ancestor_never_influences(seed, draft, data):
    text, parents, nodes = draft
    changed = data.draw(st.integers(0, len(nodes) - 1))
    other = [*nodes[:changed], (nodes[changed] + 1) % CONFIG.vocab_size, *nodes[changed + 1 :]]
    _, before = read_tree(random_target(seed), text, parents, nodes)
    _, after = read_tree(random_target(seed), text, parents, other)
    for node in range(len(nodes)):
        below = node == changed or changed in ancestors(parents, node)
        assert np.array_equal(before[node], after[node]) != below


@given(seeds, st.lists(texts, min_size=1, max_size=4))
def test_chunked_prefill_equals_the_whole(seed, chunks):
    model = random_target(seed)
    session, parts = model.start(), []
    for chunk in chunks:
        places = list(range(session.length, session.length + len(chunk)))
        parts.append([np.asarray(part) for part in session.read(chunk, places)])
    features, logits = plain(model, [token for chunk in chunks for token in chunk])
    assert np.abs(np.concatenate([part[0] for part in parts]) - features).max() < TOLERANCE
    assert np.abs(np.concatenate([part[1] for part in parts]) - logits).max() < TOLERANCE


@given(seeds, texts, st.integers(1, CONFIG.context - 8))
def test_only_differences_of_positions_count(seed, text, shift):
    """Rotary positions are relative; the tables are rounded to float32, hence the tolerance."""
    _, here = plain(random_target(seed), text)
    _, there = plain(random_target(seed), text, shift)
    assert np.abs(here - there).max() < 1e-5


def test_order_of_tokens_counts():
    """Without positions the last row would not care about the order of the tokens before it."""
    model = random_target(0)
    assert np.abs(plain(model, [1, 2, 3])[1][-1] - plain(model, [2, 1, 3])[1][-1]).max() > 1e-3


@given(seeds, st.lists(texts, min_size=2, max_size=3, unique_by=len))
def test_rows_of_a_batch_are_independent(seed, rows):
    length = min(map(len, rows))
    rows = [row[:length] for row in rows]
    with torch.no_grad():
        _, logits = random_target(seed)(torch.tensor(rows), torch.arange(length))
    for row, got in zip(rows, logits.numpy()):
        assert np.abs(got - plain(random_target(seed), row)[1]).max() < TOLERANCE


def test_float32_stays_close_to_float64_on_the_shipped_model():
    models = shipped()
    ids = models.tokenizer.prompt("def load(path):\n    with open(path) as file:\n        return ")
    _, single = plain(models.target, ids)
    _, double = plain(shipped(torch.float64).target, ids)
    assert np.abs(single - double).max() < 1e-3 * np.abs(double).max()
    assert not np.array_equal(single, double)


def test_shipped_model_reads_trees_like_paths():
    """The same property as above for the shipped weights, in float64."""
    models = shipped(torch.float64)
    text, parents = models.tokenizer.prompt("import os\n"), [-1, 0, 0, 1, 1, 2, 5]
    nodes = models.tokenizer.encode("def main(): return")[: len(parents)]
    nodes += [7] * (len(parents) - len(nodes))
    _, logits = read_tree(models.target, text, parents, nodes)
    for node in range(len(parents)):
        path = [*sorted(ancestors(parents, node)), node]
        own = plain(models.target, [*text, *(nodes[place] for place in path)])[1]
        assert np.abs(logits[node] - own[-1]).max() < TOLERANCE


def test_more_rows_than_the_session_has_room_for_are_refused():
    session = random_target(0).start(2)
    session.read([1] * CONFIG.context, list(range(CONFIG.context)))
    session.read([1, 1], [0, 1])
    with pytest.raises(ValueError, match=f"at most {CONFIG.context + 2}"):
        session.read([1], [0])
