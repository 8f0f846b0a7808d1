"""Training: a run that is stopped goes on as if it had not been, and says what it depends on."""

import shutil
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import eagle_min.train.command
import eagle_min.train.head
import eagle_min.train.target
from eagle_min import load
from eagle_min.__main__ import main
from eagle_min.checkpoint import SHIPPED, read_card
from eagle_min.train.batches import DOMAINS, Batches
from eagle_min.train.corpus import mirrored, sums
from eagle_min.train.loop import Run, TrainConfig
from eagle_min.train.muon import orthogonalize

BATCH = 64
CONFIG = TrainConfig(tokens=6 * BATCH, batch_tokens=BATCH, seq_len=8, warmup=2, num_threads=2, micro_tokens=32)


def streams() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {domain: rng.integers(0, 1024, 20_000).astype(np.uint16) for domain in DOMAINS}


def new_run(folder: Path, config: TrainConfig = CONFIG, identity: dict | None = None) -> Run:
    torch.manual_seed(0)
    layers = {"embed": torch.nn.Embedding(16, 4), "norm": torch.nn.RMSNorm(4)}
    layers |= {"inner": torch.nn.Linear(4, 4, bias=False), "lm_head": torch.nn.Linear(4, 16, bias=False)}
    return Run(torch.nn.Sequential(OrderedDict(layers)), config, folder, identity or {"shape": "small"})


def train(run: Run, stop_before: int | None = None) -> None:
    """To the end, or until the batch of step `stop_before` is asked for: then as if killed."""

    def batch(step: int) -> torch.Tensor:
        if step == stop_before:
            raise KeyboardInterrupt
        return torch.from_numpy(np.random.default_rng(step).integers(0, 16, (8, 9)))

    def loss(windows: torch.Tensor, seed: int) -> torch.Tensor:
        noise = torch.rand(1, generator=torch.Generator().manual_seed(seed))
        logits = run.model(windows[:, :-1]) * (1 + noise)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())

    run.train(batch, loss)


@pytest.mark.parametrize("stop_before", [1, 3, 5])
def test_a_run_killed_between_saves_ends_with_the_weights_of_one_that_was_not(stop_before, tmp_path):
    whole, config = new_run(tmp_path / "whole"), TrainConfig(**{**vars(CONFIG), "save_seconds": -1})  # saves each step
    train(whole)
    with pytest.raises(KeyboardInterrupt):
        train(new_run(tmp_path / "killed", config), stop_before)
    again = new_run(tmp_path / "killed", config)
    assert again.step == stop_before
    train(again)
    assert again.step == whole.step == 6
    for one, other in zip(whole.model.parameters(), again.model.parameters()):
        assert torch.equal(one, other)


def test_a_run_goes_on_only_as_what_it_was_begun(tmp_path):
    new_run(tmp_path).save()
    new_run(tmp_path, TrainConfig(**{**vars(CONFIG), "tokens": 9 * BATCH, "num_threads": 1}))  # these may change
    with pytest.raises(ValueError, match="begun with other values of shape"):
        new_run(tmp_path, identity={"shape": "large"})
    with pytest.raises(ValueError, match="begun with other values of seed"):
        new_run(tmp_path, TrainConfig(**{**vars(CONFIG), "seed": 1}))
    (tmp_path / "state.pt").write_bytes(b"no state")
    with pytest.raises(ValueError, match="not the state of a run"):
        new_run(tmp_path)


def test_an_epoch_visits_every_window_once():
    batches = Batches(streams(), 16, 256, 0.2, end_id=9999)
    per_epoch = (20_000 - 1) // 16 - 1
    first = {batches.window("code", number).tobytes() for number in range(per_epoch)}
    assert len(first) == per_epoch
    assert batches.rows() == {"code": 10, "prose": 3, "sums": 3} and batches[0].shape == (16, 17)


@given(st.sets(st.integers(0, 399), max_size=30), st.integers(2, 30), st.integers(0, 3))
def test_a_window_close_behind_the_beginning_of_a_document_begins_with_it(ends, size, seed):
    end_id = 9999
    stream = np.arange(400)
    stream[list(ends)] = end_id
    batches = Batches({"sums": stream, "code": stream, "prose": stream}, size, 256, 0.2, end_id, seed)
    for number in range(2 * ((400 - 1) // size - 1)):
        window = batches.window("sums", number)
        place = int(np.argmax(window != end_id))
        start = int(window[place]) - place if window[place] != end_id else None
        assert len(window) == size + 1
        if start is not None:
            assert np.array_equal(window, stream[start : start + size + 1])
            assert window[0] == end_id or end_id not in stream[max(0, start - size + 1) : start]


def test_learning_rates_rise_stay_and_fall_to_zero():
    config = TrainConfig(tokens=100 * 8192, warmup=10, decay=0.5)
    rates = [config.rate(step) for step in range(config.num_steps + 1)]
    assert rates[0] == 0.1 and rates[9] == rates[50] == 1 and rates[75] == 0.5 and rates[100] == 0
    assert all(a >= b for a, b in zip(rates[10:], rates[11:]))


def test_orthogonalized_matrices_have_singular_values_near_one():
    matrices = torch.randn(5, 6, 9, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalize(matrices))
    assert values.min() > 0.5 and values.max() < 1.5


def test_held_out_sums_are_right_and_no_training_line_starts_with_one():
    train_sums, held_out = sums(seed=1, num_documents=300)
    starts = {text.split(" =")[0] for _, text in held_out}
    lines = [line for _, text in [*train_sums, *held_out] for line in text.split("\n")]
    assert all(sum(map(int, line.split(" = ")[0].split(" + "))) == int(line.split(" = ")[1]) for line in lines)
    trained = {" + ".join(line.split(" = ")[0].split(" + ")[:2]) for _, text in train_sums for line in text.split("\n")}
    assert not starts & trained and len(starts) > 500
    known, unseen = mirrored(held_out)
    assert len(known) + len(unseen) == len(held_out) and all(doc not in known for doc in unseen)


@pytest.fixture
def small_text(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Random tokens instead of the corpus, and no measuring, which has tests of its own."""
    for module in (eagle_min.train.target, eagle_min.train.head, eagle_min.train.command):
        monkeypatch.setattr(module, "training_streams", lambda *_: streams())
    monkeypatch.setattr(
        eagle_min.train.command, "measured", lambda *_: {"held_out_bits_per_byte": {}, "held_out_sums_right": 0.5}
    )


def test_the_commands_make_a_set_that_decodes(small_text, tmp_path, capsys):
    models, shape = tmp_path / "set", ["--width", 16, "--num-layers", 1, "--num-heads", 1, "--hidden", 16]
    models.mkdir()
    shutil.copy(SHIPPED / "tiny" / "tokenizer.ranks", models)
    common = ["--models", models, "--tokens", 8192, "--threads", 1]
    assert main([str(word) for word in ["train", "target", *common, *shape, "--run", tmp_path / "target"]]) == 0
    for recipe in ("paper", "steps"):
        options = ["--recipe", recipe, "--name", f"eagle-{recipe}", "--run", tmp_path / recipe]
        assert main([str(word) for word in ["train", "head", *common, *options]]) == 0
        card = read_card(models, f"eagle-{recipe}")
        assert card["recipe"] == recipe and card["tokens_seen"] == 8192 and card["command"].startswith("python -m")
    drafter = load(str(models)).drafter("eagle2", head="eagle-steps")
    assert drafter is not None
    capsys.readouterr()
    begun = ["train", "head", *common, "--recipe", "paper", "--run", tmp_path / "steps"]
    assert main([str(word) for word in begun]) == 2
    assert "begun with other values of" in capsys.readouterr().err
    bad = ["train", "head", *common, "--name", "target", "--run", tmp_path / "x"]
    assert main([str(word) for word in bad]) == 2
    assert "name must be" in capsys.readouterr().err
