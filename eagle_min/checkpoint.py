"""Weights and their card.

A model is two files: `NAME.pt`, its weights in bfloat16, and `NAME.json`, its card: what it
is, how it was trained, how well it does, and the sha256 of the weights. Weights are checked
against the card before they are used; a head is also checked against the target it was
trained for. A set of models is a folder: `target`, heads, `tokenizer.ranks`.
Read next: `drafters/model_set.py`.
"""

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
from torch import nn

from .config import ModelConfig, require
from .files import write_atomically
from .head import EagleHead
from .model import GPT


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


def load_network(folder: Path, name: str, kind: str, build: Callable[[dict], nn.Module]) -> nn.Module:
    """A network of a set that drafts; `build` makes an empty one from its card. ValueError when it is of
    another kind or was trained for another target; FileNotFoundError, with the command that trains one, when
    it is not there. A kind is called as that command is."""
    command = f"python -m eagle_min train {kind} --name {name} --models {folder} --run FOLDER"
    if not (folder / f"{name}.json").exists():
        raise FileNotFoundError(f"no model {name!r} in {folder}: {name}.json is missing; `{command}` makes it")
    card, wanted = read_card(folder, name), read_card(folder, "target")["sha256"]
    require(card.get("kind") == kind, f"kind of {name!r} in {folder}", card.get("kind"), repr(kind))
    if card.get("target_sha256") != wanted:
        raise ValueError(f"{kind} {name!r} in {folder} was trained for another target than the one there")
    shape, whole = ModelConfig(**card["config"]), ModelConfig(**read_card(folder, "target")["config"])
    for key in ("width", "vocab_size", "context", "rope_base", "norm_eps"):
        value, fits = getattr(shape, key), getattr(whole, key)
        require(value == fits, f"{key} of {kind} {name!r}", value, f"that of its target, {fits}")
    network = build(card)
    if not (folder / f"{name}.pt").exists():
        raise FileNotFoundError(f"the weights of {name!r} are missing: {folder / name}.pt; `{command}` makes them")
    load_weights(network, folder, name, card["sha256"])
    return network


def load_head(folder: Path, name: str) -> EagleHead:
    """An EAGLE head of a set."""
    return load_network(folder, name, "head", lambda card: EagleHead(ModelConfig(**card["config"])))
