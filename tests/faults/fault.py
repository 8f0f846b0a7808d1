"""One planted fault: a snippet of a module, what replaces it, and the test that must notice.

Snippets are exact text of the module and occur in it once; the runner `mutation.py` checks both
and replaces the text while the module is being imported. No file of the package is touched.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """A row of the bank. `neutral` rows change how a thing is done and not what comes out."""

    name: str
    module: str  # dotted, e.g. "eagle_min.verify"
    old: str
    new: str
    killer: str | tuple[str, ...]  # pytest node ids; for neutral rows all that must stay green
    origin: str  # where this was met in public, or "beginner"
    neutral: bool = False

    @property
    def killers(self) -> tuple[str, ...]:
        return (self.killer,) if isinstance(self.killer, str) else self.killer

    @property
    def path(self) -> Path:
        """The module's file."""
        return ROOT / (self.module.replace(".", "/") + ".py")

    def source(self) -> str:
        """The module's text with the fault in it; ValueError when there is no one place for it."""
        text = self.path.read_text(encoding="utf-8")
        places = text.count(self.old)
        if places != 1:
            raise ValueError(f"{self.name}: the snippet occurs {places} times in {self.path.name}, and must occur once")
        if self.old == self.new:
            raise ValueError(f"{self.name}: nothing is changed")
        return text.replace(self.old, self.new)
