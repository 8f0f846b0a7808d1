"""A random network reads draft trees in one call, and paths one by one; the trees and texts to try it on."""

import numpy as np
import torch
from hypothesis import strategies as st
from networks import CONFIG
from oracles import ancestors
from strategies import parent_lists

TOLERANCE = 1e-10  # of features and logits in float64

tokens = st.integers(0, CONFIG.vocab_size - 1)
texts = st.lists(tokens, min_size=1, max_size=8)
seeds = st.integers(0, 2)


@torch.no_grad()
def plain(model, ids: list[int], first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features and logits of one whole sequence without a cache, positions from `first` on."""
    features, logits = model(torch.tensor([ids]), torch.arange(first, first + len(ids)))
    return features[0].numpy(), logits[0].numpy()


@st.composite
def drafts(draw) -> tuple[list[int], list[int], list[int]]:
    """Text, parents and tokens of a tree below its last token (which is node 0)."""
    parents = draw(parent_lists())
    return draw(texts), parents, [draw(tokens) for _ in parents]


def node_mask(parents: list[int]) -> np.ndarray:
    """Ancestor or self, from the oracle."""
    seen = [ancestors(parents, node) | {node} for node in range(len(parents))]
    return np.array([[other in row for other in range(len(parents))] for row in seen])


def read_tree(model, text: list[int], parents: list[int], nodes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Features and logits of each node, read in one call behind `text`."""
    session = model.start(len(nodes))
    session.read(text, list(range(len(text))))
    places = [len(text) + len(ancestors(parents, node)) for node in range(len(nodes))]
    features, logits = session.read(nodes, places, node_mask(parents))
    return features.numpy(), logits
