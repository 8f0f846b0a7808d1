"""What is shipped, and how it is loaded: a set of models (a target, its tokenizer, drafters by name), and prompts.

Read next: `registry.py`.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from ..checkpoint import load_target, read_card
from ..config import TreeConfig, require
from ..decode import Drafter
from ..model import GPT
from ..tokenizer import Tokenizer, load_tokenizer
from .registry import DRAFTERS, REGISTRY

SHIPPED = Path(__file__).parents[2] / "tinymodels"


@dataclass
class ModelSet:
    """What `load` returns."""

    target: GPT
    tokenizer: Tokenizer
    folder: Path

    @property
    def target_sha256(self) -> str:
        """What the card of a network must state to be used here."""
        return read_card(self.folder, "target")["sha256"]

    def drafters(self) -> list[str]:
        """Names of the drafters that need no weights, or whose weights have a card in the set."""
        return [name for name, entry in REGISTRY.items() if entry.weights is None or self.has(entry.weights)]

    def has(self, weights: str) -> bool:
        """Whether there is a card of that name."""
        return (self.folder / f"{weights}.json").exists()

    def drafter(
        self, name: str = "eagle2", weights: str | None = None, tree: TreeConfig | None = None
    ) -> Drafter | None:
        """A drafter named in DRAFTERS (None for "none"), with the trained part and the tree limits of that
        name unless others are given. ValueError for a name that is none, or weights that do not fit;
        FileNotFoundError, with the command that trains them, for weights that are not there."""
        require(name in DRAFTERS, "drafter", name, f"one of {', '.join(DRAFTERS)}")
        if name == "none":
            return None
        entry, network = REGISTRY[name], None
        require(weights is None or entry.load is not None, f"weights of {name}", weights, "left out: it has none")
        if entry.load is not None:
            parameter = self.target.lm_head.weight
            network = entry.load(self.folder, entry.weights if weights is None else weights).to(
                parameter.device, parameter.dtype
            )
        return entry.make(self.target, network, tree or entry.tree)


def load(name: str = "tiny", device: str = "cpu") -> ModelSet:
    """The shipped set `name`, or the set in a folder of that name, on `device`. FileNotFoundError where there is
    neither, ValueError for a set whose files do not fit together."""
    folder = SHIPPED / name if (SHIPPED / name / "target.json").exists() else Path(name)
    if not folder.is_dir():
        shipped = sorted(card.parent.name for card in SHIPPED.glob("*/target.json"))
        raise FileNotFoundError(f"no models {name!r}: neither shipped ({', '.join(shipped)}) nor a folder")
    target, tokenizer = load_target(folder), load_tokenizer(folder / "tokenizer.ranks")
    if read_card(folder, "target").get("tokenizer_sha256") != tokenizer.sha256:
        raise ValueError(f"the target in {folder} was trained with another vocabulary than tokenizer.ranks there")
    return ModelSet(target.to(device), tokenizer, folder)


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
