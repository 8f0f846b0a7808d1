"""What the tests of the lab run its experiments on: a small random set of models, and a few lines of text."""

from pathlib import Path

import networks
import pytest

from eagle_min.lab import experiment
from eagle_min.train.corpus import Corpus


@pytest.fixture(scope="module")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random target and two random heads, and a vocabulary of bytes."""
    return networks.small_set(tmp_path_factory.mktemp("set"), ("eagle", "other"))


@pytest.fixture
def small_text(monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Two held-out documents a domain instead of the installed packages."""
    texts = {domain: [(f"{domain}/{i}", f"{domain} {i} " * 20) for i in range(2)] for domain in ("code", "prose")}
    corpus = Corpus({}, {**texts, "sums": [(f"sums/{a}", f"{a} + 9 = {a + 9}") for a in range(30)]})
    monkeypatch.setattr(experiment, "load_held_out", lambda: corpus)
    return corpus
