"""Training: a run that is stopped goes on as if it had not been, and says what it depends on."""

import math
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
import eagle_min.train.network
import eagle_min.train.target
from eagle_min import load
from eagle_min.__main__ import main
from eagle_min.checkpoint import read_card
from eagle_min.drafters.model_set import SHIPPED, shipped_prompts
from eagle_min.train import corpus
from eagle_min.train.batches import DOMAINS, PROSE_SHARE, Batches, cuts
from eagle_min.train.command import measured
from eagle_min.train.corpus import mirrored, sums
from eagle_min.train.evaluate import agreement
from eagle_min.train.loop import Run, TrainConfig
from eagle_min.train.muon import Muon, orthogonalize

BATCH = 64
CONFIG = TrainConfig(tokens=6 * BATCH, batch_tokens=BATCH, seq_len=8, warmup=2, num_threads=2, micro_tokens=32)


def streams() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {domain: rng.integers(0, 512, 20_000).astype(np.uint16) for domain in DOMAINS}


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
    assert again.step == stop_before and again.seconds > 0
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
    whole = torch.load(tmp_path / "state.pt")
    for spoiled, message in (
        ({"fixed": 3}, "not the state of a run"),
        ({"fixed": whole["fixed"]}, "but not whole"),
        ({**whole, "model": {}}, "but not whole"),
        ({**whole, "optimizers": []}, "but not whole"),
    ):
        torch.save(spoiled, tmp_path / "state.pt")
        with pytest.raises(ValueError, match=message):
            new_run(tmp_path)
    (tmp_path / "state.pt").write_bytes(b"no state")
    with pytest.raises(ValueError, match="not the state of a run"):
        new_run(tmp_path)


BAD_TRAINING = {
    "batch_tokens": [(0, "batch_tokens must be a multiple of 16, above 0, got 0"), (24, "above 0, got 24")],
    "matrix_lr": [(math.nan, "matrix_lr must be 0 to 1000, got nan"), (-1.0, "got -1.0")],
    "other_lr": [(math.inf, "other_lr must be 0 to 1000, got inf")],
    "seed": [(-1, "seed must be between 0 and 2\\*\\*63 - 1, got -1"), (2**63, "got 9223372036854775808")],
    "decay": [(0.0, "decay must be above 0 and at most 1, got 0.0")],
    "num_threads": [(0, "num_threads must be at least 1, got 0")],
}


@pytest.mark.parametrize("name", BAD_TRAINING)
def test_a_bad_training_option_is_named_with_what_is_allowed(name):
    for value, message in BAD_TRAINING[name]:
        with pytest.raises(ValueError, match=message):
            TrainConfig(**{**vars(CONFIG), name: value})


def test_a_loss_that_is_no_number_ends_the_run_and_leaves_the_weights(tmp_path):
    run = new_run(tmp_path)
    before = [param.clone() for param in run.model.parameters()]
    with pytest.raises(ValueError, match="loss at step 0 must be finite"):
        run.train(lambda step: torch.zeros(8, 9, dtype=torch.long), lambda w, seed: run.model(w).sum() * math.nan)
    assert all(torch.equal(a, b) for a, b in zip(before, run.model.parameters()))


def test_each_step_has_the_rates_of_its_place(tmp_path):
    run, rates = new_run(tmp_path), []
    step_of_adam = run.optimizers[1].step
    run.optimizers[1].step = lambda: (rates.append([o.param_groups[0]["lr"] for o in run.optimizers]), step_of_adam())
    train(run)
    wanted = [[CONFIG.matrix_lr * CONFIG.rate(step), CONFIG.other_lr * CONFIG.rate(step)] for step in range(6)]
    assert np.allclose(rates, wanted, rtol=1e-12)


def test_a_batch_in_pieces_of_unequal_size_gives_the_gradient_of_the_whole(tmp_path):
    losses = []
    for pieces in (1024, 24):  # all 8 windows at once; three, three and two
        config = TrainConfig(**{**vars(CONFIG), "tokens": BATCH, "micro_tokens": pieces, "warmup": 1})
        run = new_run(tmp_path / str(pieces), config)
        batch = torch.from_numpy(np.random.default_rng(0).integers(0, 16, (8, 9)))

        def loss(windows: torch.Tensor, seed: int) -> torch.Tensor:
            return run.model(windows).logsumexp(-1).square().mean()  # noqa: B023

        run.train(lambda step: batch, loss)  # noqa: B023
        losses.append([param.detach().clone() for param in run.model.parameters()])
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*losses))


def test_an_epoch_visits_every_window_once():
    batches = Batches(streams(), 16, 256, 0.2, end_id=9999)
    per_epoch = (20_000 - 1) // 16 - 1
    first = {batches.window("code", number).tobytes() for number in range(per_epoch)}
    assert len(first) == per_epoch
    second = {batches.window("code", per_epoch + number).tobytes() for number in range(per_epoch)}
    assert first != second, "each epoch is cut at a place of its own"
    orders = [cuts(16, per_epoch, 0, 0, epoch)[1].tolist() for epoch in (0, 1)]
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]) == list(range(per_epoch))


@given(st.integers(1, 20), st.floats(0.05, 0.6), st.integers(1, 12))
def test_batches_keep_the_shares_and_use_each_window_once(num_rows, sums_share, num_steps):
    parts = {domain: np.arange(20_000) + 20_000 * number for number, domain in enumerate(DOMAINS)}
    batches = Batches(parts, 16, 16 * num_rows, sums_share, end_id=99_999)
    seen = [row.tolist() for step in range(num_steps) for row in batches[step]]
    assert all(batches[step].shape == (num_rows, 17) for step in range(num_steps))
    total = num_steps * num_rows
    counts = [sum(row[0] // 20_000 == number for row in seen) for number in range(3)]
    wanted = [None, PROSE_SHARE * (1 - sums_share) * total, sums_share * total]
    assert sum(counts) == total and all(abs(a - b) < 1 for a, b in zip(counts[1:], wanted[1:]))
    for domain, count in zip(DOMAINS, counts):
        used = [row for row in seen if row[0] // 20_000 == DOMAINS.index(domain)]
        assert used == [batches.window(domain, number).tolist() for number in range(count)]


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


def slow_orthogonal(m: np.ndarray) -> np.ndarray:
    """Five steps of the quintic iteration, from its formula."""
    x = m / (np.linalg.norm(m) + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x - 4.7750 * gram @ x + 2.0315 * gram @ gram @ x
    return x


def test_muon_takes_the_step_of_its_formula():
    """Nesterov momentum, made orthogonal; a tall matrix is turned, and its step scaled."""
    rng = np.random.default_rng(0)
    for rows, columns in ((4, 6), (6, 3)):
        param = torch.nn.Parameter(torch.tensor(rng.normal(size=(rows, columns))))
        muon, momentum, wanted = Muon([param], lr=0.1), np.zeros((rows, columns)), param.detach().numpy().copy()
        for _ in range(3):
            grad = rng.normal(size=(rows, columns))
            param.grad = torch.tensor(grad)
            muon.step()
            momentum = 0.95 * momentum + 0.05 * grad
            update = 0.05 * grad + 0.95 * momentum
            update = slow_orthogonal(update.T).T if rows > columns else slow_orthogonal(update)
            wanted = wanted * (1 - 0.1 * 0.01) - 0.1 * max(1.0, rows / columns) ** 0.5 * update
        assert np.allclose(param.detach().numpy(), wanted, atol=1e-9)


def test_held_out_files_that_repeat_training_lines_are_dropped(monkeypatch):
    lines = [f"a line of code that is long enough, number {number}" for number in range(20)]
    texts = {"torch/kept/a.py": lines[:10], "torch/held/b.py": lines[8:18], "torch/held/c.py": lines[5:15]}
    monkeypatch.setattr(corpus, "python_files", lambda: iter((k, "\n".join(v)) for k, v in texts.items()))
    monkeypatch.setattr(corpus, "is_held_out", lambda name: "held" in name)
    train, held_out = corpus.split_code()
    assert [name for name, _ in train] == ["torch/kept/a.py"]
    assert [name for name, _ in held_out] == ["torch/held/b.py"]  # a fifth of it was seen; of the other, half


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
    for module in (eagle_min.train.target, eagle_min.train.network, eagle_min.train.command):
        monkeypatch.setattr(module, "training_streams", lambda *_: streams())

    def measured(target: torch.nn.Module, *_) -> dict:
        assert all(torch.equal(param, param.bfloat16().float()) for param in target.parameters()), "what is stored"
        return {"held_out_bits_per_byte": {}, "held_out_sums_right": 0.5}

    monkeypatch.setattr(eagle_min.train.command, "measured", measured)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["target", "--draft-weight", "nan"], "draft_weight must be at least 0 and finite"),
        (["target", "--head-from", "eagle"], "head to start from must be one of a set to start from"),
        (["target", "--start-from", ""], "no model 'target'"),
        (["target", "--start-from", "tiny", "--vocab-size", "513"], "vocab_size must be at most 512"),
        (["target", "--vocab-size", "256"], "vocab_size must be above 256"),
        (["target", "--tokens", "1" + 400 * "0"], "tokens must be at least one batch (8192) and below 2**60"),
        (["target", "--matrix-lr", "1e300"], "matrix_lr must be 0 to 1000"),
        (["target", "--batch-tokens", "1000"], "batch_tokens must be a multiple of 512"),
        (["head", "--name", 65 * "a"], "name must be up to 64 letters"),
        (["head", "--name", "eagle", "--start-from", "eagle"], "name must be another than that of the head to start"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is_written(words, message, tmp_path, capsys):
    folders = ["--models", str(tmp_path / "set"), "--run", str(tmp_path / "run")]
    assert main(["train", words[0], *folders, *words[1:]]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_commands_make_a_set_that_decodes(small_text, tmp_path, capsys):
    models, shape = tmp_path / "set", ["--width", 16, "--num-layers", 1, "--num-heads", 1, "--hidden", 16]
    models.mkdir()
    shutil.copy(SHIPPED / "tiny" / "tokenizer.ranks", models)
    common = ["--models", models, "--tokens", 9000, "--threads", 1]  # one batch of a target, four of a head
    assert main([str(word) for word in ["train", "target", *common, *shape, "--run", tmp_path / "target"]]) == 0
    for recipe in ("paper", "steps"):
        options = ["--recipe", recipe, "--name", f"eagle-{recipe}", "--run", tmp_path / recipe]
        assert main([str(word) for word in ["train", "head", *common, *options]]) == 0
        card = read_card(models, f"eagle-{recipe}")
        assert card["recipe"] == recipe and card["tokens_seen"] == 8192 and card["command"].startswith("python -m")
    drafter = load(str(models)).drafter("eagle2", "eagle-steps")
    assert drafter is not None
    capsys.readouterr()
    begun = ["train", "head", *common, "--recipe", "paper", "--run", tmp_path / "steps"]
    assert main([str(word) for word in begun]) == 2
    assert "begun with other values of" in capsys.readouterr().err
    shaped = ["train", "head", *common, "--hidden", 24, "--num-heads", 2, "--name", "s", "--run", tmp_path / "shaped"]
    assert main([str(word) for word in shaped]) == 0
    shape = read_card(models, "s")["config"]
    assert (shape["hidden"], shape["num_heads"]) == (24, 2)
    loaded = load(str(models))
    prompts = [loaded.tokenizer.prompt(text) for texts in shipped_prompts().values() for text in texts]
    assert agreement(loaded.target, loaded.drafter("eagle2", "s").head, prompts) == pytest.approx(
        read_card(models, "s")["agreement_on_prompts"], abs=0.01
    )
    further = ["train", "head", *common, "--start-from", "eagle-paper", "--name", "further", "--run", tmp_path / "more"]
    assert main([str(word) for word in further]) == 0
    assert read_card(models, "further")["started_from"] == read_card(models, "eagle-paper")
    for more, message in ((["--hidden", 8], "shape of a head must be left out"), (["--seed", 1], "begun with other")):
        assert main([str(word) for word in [*further, *more]]) == 2
        assert message in capsys.readouterr().err
    bad = ["train", "head", *common, "--name", "target", "--run", tmp_path / "x"]
    assert main([str(word) for word in bad]) == 2
    assert "name must be" in capsys.readouterr().err


def test_the_card_tells_wholly_unseen_sums_from_the_others(monkeypatch):
    """The parts of `measured` that take minutes are left out; sums are counted, not answered."""
    command, lines = eagle_min.train.command, sums(0, num_documents=0)[1]
    held_out = {"code": [("a", "bc")], "prose": [("d", "ef")], "sums": lines}
    text = corpus.Corpus({}, held_out)
    monkeypatch.setattr(command, "load_held_out", lambda: text)
    monkeypatch.setattr(command, "bits_per_byte", lambda *_: 1.0)
    monkeypatch.setattr(command, "sum_accuracy", lambda target, tokenizer, documents: len(documents))
    card = measured(None, load("tiny").tokenizer, np.arange(50))
    assert card["held_out_sums_right"] == len(lines)
    unseen = [doc for doc in lines if doc in mirrored(lines)[1]]
    assert card["of_them_unseen_both_ways_right"] == len(unseen) != len(mirrored(lines)[0])


@pytest.mark.parametrize("vocab_size", [257, 300, 512])
def test_a_set_without_a_vocabulary_gets_the_first_merges_of_the_one_it_starts_from(vocab_size, tmp_path):
    first = load("tiny")
    tokenizer = eagle_min.train.command.find_tokenizer(tmp_path / "new" / "tokenizer.ranks", vocab_size, first)
    assert tokenizer.vocab_size == vocab_size
    assert tokenizer.vocabulary == first.tokenizer.vocabulary[: vocab_size - 1]


def test_a_head_trained_beside_a_target_is_kept_and_can_be_gone_on_with(small_text, tmp_path, capsys):
    models, shape = tmp_path / "set", ["--width", 16, "--num-heads", 1, "--hidden", 16]
    models.mkdir()
    shutil.copy(SHIPPED / "tiny" / "tokenizer.ranks", models)
    common = ["--tokens", 9000, "--threads", 1, "--draft-weight", 0.5, "--vocab-size", 512]
    first = ["train", "target", "--models", models, *common, *shape, "--num-layers", 1, "--run", tmp_path / "first"]
    assert main([str(word) for word in first]) == 0
    deeper = tmp_path / "deeper"  # has no vocabulary yet: the first one's
    grown = ["train", "target", "--models", deeper, *common, *shape, "--num-layers", 2, "--start-from", models]
    grown = [str(word) for word in [*grown, "--head-from", "beside", "--run", tmp_path / "grown"]]
    assert main(grown) == 0
    for name in ("target", "beside"):
        assert read_card(deeper, name)["started_from"] == read_card(models, name)
    assert load(str(deeper)).drafter("eagle2", "beside") is not None  # made for this target, it says
    capsys.readouterr()
    assert main([word if word != "beside" else "other" for word in grown]) == 2
    assert "other" in capsys.readouterr().err
    assert main([word if word != str(deeper) else str(models) for word in grown]) == 2
    assert "models must be another folder than the set to start from" in capsys.readouterr().err
    assert main([*grown, "--draft-weight", "0"]) == 2
    assert "head to start from must be one of a set to start from, and draft_weight above 0" in capsys.readouterr().err


def test_weights_of_another_kind_are_not_written_over(tmp_path, capsys):
    models = tmp_path / "set"
    models.mkdir()
    for file in ("target.json", "target.pt", "tokenizer.ranks", "eagle.json", "eagle.pt"):
        shutil.copy(SHIPPED / "tiny" / file, models)
    before = {path.name: path.read_bytes() for path in models.iterdir()}
    words = ["train", "mtp", "--models", str(models), "--run", str(tmp_path / "run"), "--name", "eagle"]
    assert main(words) == 2
    message = "kind of 'eagle', which is there must be 'mtp', or another --name, got 'head'"
    assert capsys.readouterr().err == f"error: {message}\n"
    assert {path.name: path.read_bytes() for path in models.iterdir()} == before and not (tmp_path / "run").exists()


def test_a_name_of_the_shipped_set_is_no_folder_to_write_to(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "mtp", "--models", "tiny", "--run", "run", "--name", "mine"]) == 2
    assert "models must be a folder with a target" in capsys.readouterr().err and not list(tmp_path.iterdir())
