"""Weights and their card, and the way from a name to a working model.

A model is two files: `NAME.pt`, its weights in bfloat16, and `NAME.json`, its card: what it
is, how it was trained, how well it does, and the sha256 of the weights. Weights are checked
against the card before they are used; a head is also checked against the target it was
trained for. A set of models is a folder: `target`, heads, `tokenizer.ranks`.
Read next: `exactness/law.py`.
"""

import hashlib
import io
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import torch
from torch import nn

from . import grow
from .config import ModelConfig, TreeConfig, require
from .decode import Drafter
from .head import EagleDrafter, EagleHead
from .model import GPT
from .tokenizer import Tokenizer, load_tokenizer

SHIPPED = Path(__file__).parent.parent / "tinymodels"

# name -> how its tree grows, the tree's limits, whether its children are sampled
EAGLE_DRAFTERS = {
    "eagle2": (grow.confidence, TreeConfig(), False),
    "eagle2-lean": (grow.confidence, TreeConfig(depth=12, top_k=6, min_confidence=0.02), False),
    "eagle1": (grow.static, TreeConfig(num_nodes=26, depth=5), False),
    "eagle1-sampled": (grow.static_sampled, TreeConfig(num_nodes=26, depth=5), True),
    "ratio": (grow.ratio, TreeConfig(), False),
    "chain": (grow.chain, TreeConfig(), False),
}
DRAFTERS = ("none", *EAGLE_DRAFTERS)


def shipped_prompts() -> dict[str, list[str]]:
    """Domain -> texts to continue, written for this project. OSError or ValueError when they cannot be read."""
    path = SHIPPED / "prompts.json"
    try:
        prompts = json.loads(path.read_text(encoding="utf-8"))
        texts = [text for domain in ("code", "prose", "sums") for text in prompts[domain] or [None]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} has no texts by domain: {type(error).__name__} {error}") from error
    require(all(isinstance(text, str) and text for text in texts), f"texts in {path.name}", texts[:1], "not empty")
    return prompts


def command_line() -> str:
    """The command that is running, as a card or a row of figures states it."""
    return shlex.join(["python", "-m", "eagle_min", *sys.argv[1:]])


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it: never half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def save_model(model: nn.Module, folder: Path, name: str, card: dict) -> str:
    """Write `name.pt` and `name.json`; the card is completed with config and sha256, which is returned."""
    buffer = io.BytesIO()
    torch.save({key: value.bfloat16().cpu() for key, value in model.state_dict().items()}, buffer)
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    card = {"name": name, "config": asdict(model.config), "sha256": digest, **card}
    write_atomically(folder / f"{name}.pt", lambda file: file.write(buffer.getvalue()))
    write_atomically(folder / f"{name}.json", lambda file: file.write((json.dumps(card, indent=1) + "\n").encode()))
    return digest


def read_card(folder: Path, name: str) -> dict:
    """The card of a model. FileNotFoundError or ValueError, one line, when it cannot be used."""
    path = folder / f"{name}.json"
    if not path.exists():
        raise FileNotFoundError(f"no model {name!r} in {folder}: {path.name} is missing")
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        ModelConfig(**card["config"])
        if not isinstance(card["sha256"], str):
            raise ValueError("its sha256 is not a string")
        return card
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path} is not the card of a model: {error}") from error


def load_weights(model: nn.Module, folder: Path, name: str, digest: str) -> None:
    """Fill `model` from `name.pt`. ValueError, one line, when the file is not what the card says."""
    path = folder / f"{name}.pt"
    if not path.exists():
        raise FileNotFoundError(f"the weights of {name!r} are missing: {path}")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{path} does not have the sha256 its card states: cut short or changed")
    try:
        state = torch.load(io.BytesIO(content), weights_only=True)
        weights = {key: value.float() for key, value in state.items()}
    except Exception as error:  # arbitrary bytes make the unpickler raise almost anything
        raise ValueError(f"{path} holds no weights: {type(error).__name__}") from error
    try:
        model.load_state_dict(weights)
    except (RuntimeError, AttributeError, TypeError) as error:
        raise ValueError(f"{path} does not fit its card: {str(error).splitlines()[-1].strip()}") from error
    model.eval().requires_grad_(False)


def load_target(folder: Path) -> GPT:
    """The target of a set, float32, frozen."""
    card = read_card(folder, "target")
    target = GPT(ModelConfig(**card["config"]))
    load_weights(target, folder, "target", card["sha256"])
    return target


def load_head(folder: Path, name: str) -> EagleHead:
    """A head of a set; ValueError when it was trained for another target."""
    card, wanted = read_card(folder, name), read_card(folder, "target")["sha256"]
    if card.get("target_sha256") != wanted:
        raise ValueError(f"head {name!r} in {folder} was trained for another target than the one there")
    shape, whole = ModelConfig(**card["config"]), ModelConfig(**read_card(folder, "target")["config"])
    for key in ("width", "vocab_size", "context", "rope_base", "norm_eps"):
        value, fits = getattr(shape, key), getattr(whole, key)
        require(value == fits, f"{key} of head {name!r}", value, f"that of its target, {fits}")
    head = EagleHead(shape)
    load_weights(head, folder, name, card["sha256"])
    return head


@dataclass
class ModelSet:
    """What `load` returns: a target, its tokenizer, and drafters by name."""

    target: GPT
    tokenizer: Tokenizer
    folder: Path

    @property
    def target_sha256(self) -> str:
        """What a head's card must state to be used here."""
        return read_card(self.folder, "target")["sha256"]

    def drafter(self, name: str = "eagle2", head: str = "eagle", tree: TreeConfig | None = None) -> Drafter | None:
        """A drafter named in DRAFTERS (None for "none"), from a head of the set, with the tree limits
        of that name unless `tree` gives others."""
        if name == "none":
            return None
        if name not in EAGLE_DRAFTERS:
            raise ValueError(f"drafter must be one of {', '.join(DRAFTERS)}, got {name!r}")
        grower, default, sampled = EAGLE_DRAFTERS[name]
        parameter = self.target.lm_head.weight
        weights = load_head(self.folder, head).to(parameter.device, parameter.dtype)
        return EagleDrafter(self.target, weights, grower, tree or default, sampled)


def load(name: str = "tiny", device: str = "cpu") -> ModelSet:
    """The shipped set `name`, or the set in a folder of that name, on `device`."""
    folder = SHIPPED / name if (SHIPPED / name / "target.json").exists() else Path(name)
    if not folder.is_dir():
        shipped = sorted(card.parent.name for card in SHIPPED.glob("*/target.json"))
        raise FileNotFoundError(f"no models {name!r}: neither shipped ({', '.join(shipped)}) nor a folder")
    target, tokenizer = load_target(folder), load_tokenizer(folder / "tokenizer.ranks")
    if read_card(folder, "target").get("tokenizer_sha256") != tokenizer.sha256:
        raise ValueError(f"the target in {folder} was trained with another vocabulary than tokenizer.ranks there")
    return ModelSet(target.to(device), tokenizer, folder)
