"""What an experiment is: a question, options, rows of figures, and how they are shown.

Each file of `experiments/` declares one or two. `rows` measures and yields a row as soon as there is one; everything
around it - options, files, hashes, tables, pictures - is the same for all, and the runner's. An experiment whose
question is a *claim* of the papers, or of articles about them, also has a verdict, a function of the rows alone.
Read next: `runner.py`.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..config import TreeConfig
from ..decode import Drafter
from ..drafters.model_set import ModelSet
from ..train.corpus import Corpus, load_held_out
from .figures.tables import Column
from .instruments.measures import Start, first_cycles
from .instruments.prefixes import Prefix, held_out_prefixes, with_room
from .options import Option
from .record import Row

Draw = Callable[[Sequence[Row]], str]  # rows -> SVG


@dataclass(frozen=True)
class Setting:
    """What an experiment is run with: models and its own options, which are checked."""

    models: ModelSet
    options: Namespace  # what `Experiment.options` name

    @cached_property
    def corpus(self) -> Corpus:
        """Held-out text."""
        return load_held_out()

    @property
    def seed(self) -> int:
        """0 where the experiment has no such option."""
        return getattr(self.options, "seed", 0)

    @cached_property
    def prefixes(self) -> list[Prefix]:
        """As many of held-out code as were asked for, with room for some cycles behind them."""
        return self.prefixes_up_to(with_room(self.models.target.context))

    def prefixes_up_to(self, longest: int) -> list[Prefix]:
        """As many of held-out code as were asked for, none with more tokens than `longest`."""
        documents, count = self.corpus.held_out["code"], self.options.prefixes
        return held_out_prefixes("code", documents, self.models.tokenizer, count, self.seed, longest)

    def drafter(self, name: str = "eagle2", tree: TreeConfig | None = None) -> Drafter:
        """A drafter of the registry with the head that was asked for."""
        return self.models.drafter(name, self.options.head, tree)

    def first_cycles(self, drafter: Drafter, temperature: float) -> list[Start]:
        """What is decoded behind the prefixes."""
        return first_cycles(self.models.target, drafter, self.prefixes, temperature, self.seed)


def the_head(setting: Setting) -> Collection[str]:
    """The one that was asked for; none where the experiment has no option `head`."""
    if not hasattr(setting.options, "head"):
        return ()
    setting.drafter()  # a name that is none is found before anything takes long
    return (setting.options.head,)


@dataclass(frozen=True)
class Experiment:
    """A declaration. `tables`, `verdict` and `pictures` know the rows alone, so stored ones will do."""

    name: str
    question: str
    options: Sequence[Option]  # beside those that all have: --model, --json, and --picture where there is one picture
    rows: Callable[[Setting], Iterator[Row]]  # a row with `drawn` is text for below the table
    tables: Sequence[Sequence[Column]]
    weights: Callable[[Setting], Collection[str]] = the_head  # trained parts that are used; their hashes are stored
    progress: Callable[[Sequence[Row]], str | None] | None = None  # after each row, a line on stderr
    pictures: Mapping[str, Draw] = field(default_factory=dict)  # name of a file -> what draws it
    claim: str = ""  # one sentence, with its source
    verdict: Callable[[Sequence[Row]], str] | None = None

    @property
    def stored(self) -> str:
        """The name of its file of rows in tinymodels/results."""
        return f"study_{self.name}" if self.claim else self.name

    def tell(self, rows: Sequence[Row]) -> None:
        """Say how far it has come, after each row."""
        line = self.progress(rows) if self.progress else f"{self.name}: {len(rows)} rows" if self.claim else None
        if line is not None:
            say(line)


def say(line: str) -> None:
    """What is being measured now, on stderr, where it is no part of the result."""
    print(line, file=sys.stderr)
