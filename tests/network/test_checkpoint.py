"""Weights and cards: what is saved comes back, and nothing else is taken for a model.

Each fault of a file is one line that names it. Files are replaced, never rewritten.
"""

import hashlib
import json
import re
import shutil
import stat

import pytest
import torch
from networks import CONFIG, random_head, random_target

import eagle_min
from eagle_min.checkpoint import load_head, load_target, read_card, save_model
from eagle_min.config import ModelConfig, TreeConfig
from eagle_min.drafters.model_set import SHIPPED
from eagle_min.drafters.registry import DRAFTERS, REGISTRY
from eagle_min.files import write_atomically
from eagle_min.model import GPT
from eagle_min.tokenizer import load_tokenizer, save_vocabulary
from eagle_min.train.rivals.registry import RIVALS

SETS = sorted(folder for folder in SHIPPED.iterdir() if folder.is_dir() and (folder / "target.json").exists())
CARDS = [path for folder in SETS for path in sorted(folder.glob("*.json")) if path.with_suffix(".pt").exists()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A whole set: a target, a head for it, and ranks."""
    folder = tmp_path_factory.mktemp("models")
    save_vocabulary([bytes([byte]) for byte in range(256)], folder / "tokenizer.ranks")
    vocabulary = load_tokenizer(folder / "tokenizer.ranks").sha256
    digest = save_model(random_target(0), folder, "target", {"note": "random", "tokenizer_sha256": vocabulary})
    save_model(random_head(0), folder, "eagle", {"kind": "head", "target_sha256": digest})
    return folder


@pytest.fixture
def models(finished, tmp_path):
    """A copy that a test may spoil."""
    return shutil.copytree(finished, tmp_path / "set")


def change_card(folder, name: str, **changes) -> None:
    path = folder / f"{name}.json"
    card = json.loads(path.read_text())
    card |= changes
    path.write_text(json.dumps({key: value for key, value in card.items() if value is not None}))


def own_digest(folder, name: str, content: bytes) -> None:
    """Weights `content` with a card that vouches for them."""
    (folder / f"{name}.pt").write_bytes(content)
    change_card(folder, name, sha256=hashlib.sha256(content).hexdigest())


def assert_refused(error, *fragments: str) -> None:
    message = str(error.value)
    assert "\n" not in message
    assert all(fragment in message for fragment in fragments), message


def test_what_is_saved_comes_back(models):
    """To bfloat16, in float32, frozen, and with the card completed."""
    for loaded, saved in ((load_target(models), random_target(0)), (load_head(models, "eagle"), random_head(0))):
        assert loaded.config == CONFIG
        for (name, got), (other, wanted) in zip(loaded.named_parameters(), saved.named_parameters(), strict=True):
            assert name == other and got.dtype == torch.float32 and not got.requires_grad
            assert torch.equal(got, wanted.bfloat16().float())
    card = read_card(models, "target")
    assert card["note"] == "random" and card["name"] == "target" and ModelConfig(**card["config"]) == CONFIG
    assert card["sha256"] == hashlib.sha256((models / "target.pt").read_bytes()).hexdigest()


def test_saving_twice_gives_the_same_bytes(tmp_path):
    assert save_model(random_target(0), tmp_path, "one", {}) == save_model(random_target(0), tmp_path, "two", {})


def test_a_set_gives_its_drafters_by_name(models):
    loaded = eagle_min.load(str(models))
    assert loaded.drafter("none") is None
    for name, kind in REGISTRY.items():
        if kind.weights in (None, "eagle"):
            assert loaded.drafter(name).num_nodes == kind.tree.num_nodes
    assert loaded.drafter("eagle2", tree=TreeConfig(num_nodes=5)).num_nodes == 5
    assert set(DRAFTERS) == {"none", *REGISTRY}
    with pytest.raises(ValueError) as error:
        loaded.drafter("eagle9")
    assert_refused(error, "'eagle9'", *DRAFTERS)
    with pytest.raises(FileNotFoundError) as error:
        loaded.drafter("eagle2", "other")
    assert_refused(error, "'other'", "other.json")


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_weights_cut_short_are_refused(models, share):
    content = (models / "target.pt").read_bytes()
    (models / "target.pt").write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError) as error:
        load_target(models)
    assert_refused(error, "target.pt", "sha256", "cut short or changed")


@pytest.mark.parametrize("place", [0, 1000, -1])
def test_one_changed_byte_is_refused(models, place):
    content = bytearray((models / "eagle.pt").read_bytes())
    content[place] ^= 1
    (models / "eagle.pt").write_bytes(bytes(content))
    with pytest.raises(ValueError) as error:
        load_head(models, "eagle")
    assert_refused(error, "eagle.pt", "sha256")


def test_weights_of_another_shape_are_refused(models):
    config = json.loads((models / "target.json").read_text())["config"]
    change_card(models, "target", config=config | {"hidden": 24})
    with pytest.raises(ValueError) as error:
        load_target(models)
    assert_refused(error, "target.pt", "does not fit its card")


def test_weights_of_another_depth_are_refused(models):
    config = json.loads((models / "target.json").read_text())["config"]
    change_card(models, "target", config=config | {"num_layers": 1})
    with pytest.raises(ValueError) as error:
        load_target(models)
    assert_refused(error, "target.pt", "does not fit its card")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x02K\x07.", b"\x80\x02}q\x00.", b"PK\x03\x04"])
def test_a_file_that_holds_no_weights_is_refused_even_if_its_card_vouches_for_it(models, content):
    """Nothing, text, a pickled 7, a pickled empty dictionary, the beginning of a zip file."""
    own_digest(models, "target", content)
    with pytest.raises(ValueError, match="holds no weights|does not fit its card") as error:
        load_target(models)
    assert_refused(error, "target.pt")


def test_a_file_with_code_in_it_is_not_run(models, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    torch.save({"embed.weight": Trap()}, tmp_path / "trap.pt")
    own_digest(models, "target", (tmp_path / "trap.pt").read_bytes())
    with pytest.raises(ValueError) as error:
        load_target(models)
    assert_refused(error, "target.pt", "holds no weights")
    assert not (tmp_path / "sprung").exists()


def test_a_head_for_another_target_is_refused(models):
    change_card(models, "eagle", target_sha256="0" * 64)
    with pytest.raises(ValueError) as error:
        load_head(models, "eagle")
    assert_refused(error, "'eagle'", "another target")
    with pytest.raises(ValueError) as error:
        load_head(models, "target")  # a target is no head
    assert_refused(error, "'target'", "must be 'head'")


def test_another_vocabulary_than_the_targets_is_refused(models):
    """Also one with the same entries in another order: each id would mean another string."""
    pieces = [bytes([byte]) for byte in range(256)]
    save_vocabulary([pieces[1], pieces[0], *pieces[2:]], models / "tokenizer.ranks")
    with pytest.raises(ValueError) as error:
        eagle_min.load(str(models))
    assert_refused(error, str(models), "another vocabulary", "tokenizer.ranks")


@pytest.mark.parametrize("missing", ["target.json", "target.pt", "tokenizer.ranks"])
def test_a_missing_file_is_named(models, missing):
    (models / missing).unlink()
    with pytest.raises(FileNotFoundError) as error:
        eagle_min.load(str(models))
    assert_refused(error, missing)


def test_an_unknown_set_is_named_with_those_there_are():
    with pytest.raises(FileNotFoundError) as error:
        eagle_min.load("no-such-model")
    assert_refused(error, "'no-such-model'", *(folder.name for folder in SETS))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"config": {}}',  # no sha256
        '{"config": {}, "sha256": 7}',
        '{"config": {"width": 0}, "sha256": ""}',
        '{"config": {"width": "wide"}, "sha256": ""}',
        '{"config": {"wheels": 4}, "sha256": ""}',
        "\ud83d",  # no UTF-8
    ],
)
def test_a_bad_card_is_refused(models, text):
    (models / "target.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(ValueError) as error:
        load_target(models)
    assert_refused(error, "target.json", "is not the card of a model")


def test_a_writer_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, lambda file: file.write(b"old"))

    def fail(file) -> None:
        file.write(b"half of the n")
        file.flush()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_never_sees_half_a_file(tmp_path):
    path = tmp_path / "new folder" / "file"
    write_atomically(path, lambda file: file.write(b"old"))

    def write(file) -> None:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"

    write_atomically(path, write)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_there_is_a_shipped_set():
    assert SHIPPED / "tiny" in SETS
    assert {"target.json", "eagle.json"} <= {path.name for path in CARDS if path.parent.name == "tiny"}


@pytest.mark.parametrize("path", CARDS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_shipped_card_is_complete_and_its_hash_reproduces(path):
    card = json.loads(path.read_text())
    assert card["name"] == path.stem
    assert card["sha256"] == hashlib.sha256(path.with_suffix(".pt").read_bytes()).hexdigest()
    assert re.fullmatch("[0-9a-f]{64}", card["sha256"])
    state = torch.load(path.with_suffix(".pt"), weights_only=True)
    assert {value.dtype for value in state.values()} == {torch.bfloat16}
    assert all(torch.isfinite(value).all() for value in state.values())
    if path.stem != "target":
        assert card["target_sha256"] == json.loads((path.parent / "target.json").read_text())["sha256"]


def test_the_shipped_vocabulary_fits_the_shipped_target():
    models = eagle_min.load("tiny")
    assert isinstance(models.target, GPT)
    assert models.tokenizer.vocab_size == models.target.vocab_size


def test_missing_weights_name_the_command_that_trains_them(models):
    loaded = eagle_min.load(str(models))
    for name, kind in REGISTRY.items():
        if kind.weights not in (None, "eagle"):
            with pytest.raises(FileNotFoundError) as error:
                loaded.drafter(name)
            command, _, words = str(error.value).partition("python -m eagle_min train ")[2].partition(" ")
            assert command in RIVALS and words.startswith(f"--name {kind.weights} --models {models} ")
            assert_refused(error, repr(kind.weights), f"{kind.weights}.json")
    (models / "eagle.pt").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"eagle.pt; `python -m eagle_min train head --name eagle .*` makes them"
    ):
        loaded.drafter("eagle2")
    with pytest.raises(FileNotFoundError, match="no model ''"):
        loaded.drafter("eagle2", "")
