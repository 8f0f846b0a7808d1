"""What a person sees: text as it is made, and the draft tree of a cycle.

Accepted draft tokens are told apart from the tokens the target chose itself (the bonus token
of each cycle, and the first token of all), by colour on a terminal and by marks elsewhere.
NO_COLOR (no-color.org) turns the colour off.

Two ways to write tokens down. In running text, bytes become characters as soon as a character
is complete. As a label in a tree, one token stands for itself, so that blanks, line ends
and cut characters must be visible.

Deliberately left out: cursor movement and redrawing; what was printed stays.
Read next: `../__main__.py`.
"""

import codecs
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

from ..decode import Cycle, Generation
from ..tokenizer import END, Tokenizer
from ..tree import DraftTree, draw

GREEN, YELLOW, GREY, RESET = "\x1b[32m", "\x1b[33m", "\x1b[90m", "\x1b[0m"


def wants_colour(stream: TextIO | None = None, environ: Mapping[str, str] | None = None) -> bool:
    """True for a terminal that can show colour, unless NO_COLOR is set to anything but ""."""
    stream = sys.stdout if stream is None else stream
    environ = os.environ if environ is None else environ
    return stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("NO_COLOR")


class Painter:
    """Tells three kinds of text apart: the prompt, accepted draft tokens, the target's own tokens."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def prompt(self, text: str) -> str:
        return f"{GREY}{text}{RESET}" if self.colour else f"{text}┃"

    def accepted(self, text: str) -> str:
        if not text:  # the run ends inside a character: it will appear with the next token
            return ""
        return f"{GREEN}{text}{RESET}" if self.colour else f"‹{text}›"

    def bonus(self, text: str) -> str:
        return f"{YELLOW}{text}{RESET}" if self.colour and text else text

    def legend(self) -> str:
        """One line that explains the others, painted as they are."""
        return self.prompt("prompt ") + self.accepted("accepted draft tokens") + self.bonus(" the target's own tokens")


def printable(text: str) -> str:
    """`text` with its control characters spelled out, all but line end and tab.

    A model may write any byte; an escape sequence must not reach the terminal.
    """
    bad = {char for char in text if char not in "\n\t" and (ord(char) < 32 or 127 <= ord(char) < 160)}
    return text.translate({ord(char): f"\\x{ord(char):02x}" for char in bad})


class RunningText:
    """Turns cycles into painted text; a character cut in two appears when it is complete."""

    def __init__(self, tokenizer: Tokenizer, painter: Painter) -> None:
        self.tokenizer, self.painter = tokenizer, painter
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def add(self, cycle: Cycle) -> str:
        """The text that a cycle completes."""
        accepted = self._text(cycle.tokens[: cycle.num_accepted])
        return self.painter.accepted(accepted) + self.painter.bonus(self._text(cycle.tokens[cycle.num_accepted :]))

    def end(self) -> str:
        """What is left when no more tokens come: a cut character is shown as U+FFFD."""
        return self.painter.bonus(self.decoder.decode(b"", final=True))

    def _text(self, tokens: tuple[int, ...]) -> str:
        return printable(self.decoder.decode(self.tokenizer.decode_bytes(tokens)))


def label(tokenizer: Tokenizer, *tokens: int) -> str:
    """Tokens on one line with every byte visible: blanks as ·, line ends as \\n, cut characters as \\xNN."""
    pieces = []
    for token in tokens:
        text = END if token == tokenizer.end_id else tokenizer.decode_bytes([token]).decode("utf-8", "backslashreplace")
        text = text.replace("\n", "\\n").replace("\t", "\\t").replace(" ", "·")
        pieces.append(printable(text))
    return "".join(pieces)


def picture(tree: DraftTree, cycle: Cycle, tokenizer: Tokenizer, painter: Painter) -> str:
    """The draft tree of a cycle, one node a line: its token, the draft's confidence in the path.

    Accepted nodes have a full dot, which is mark enough without colour. The last line is the token
    that the target added below the accepted path.
    """

    def node_label(node: int) -> str:
        text = label(tokenizer, tree.tokens[node])
        if node == 0:
            return f"{text}  (root, the last token chosen)"
        shown = painter.accepted(text) if painter.colour and node in cycle.path else text
        return f"{shown}  {math.exp(tree.log_confidence[node]):.3f}"

    lines = [draw(tree, node_label, cycle.path)]
    if len(cycle.tokens) > cycle.num_accepted:  # false when the text ended inside the accepted run
        lines.append(f"then the target's own: {painter.bonus(label(tokenizer, cycle.tokens[-1]))}")
    return "\n".join(lines)


def run_to_end(cycles: Iterator[Cycle], show: Callable[[Cycle], object] | None = None) -> tuple[Generation, float]:
    """Decode to the end and call `show` with each cycle, if it is there.

    Returns the finished text and the seconds that decoding took, without the time in `show`.
    """
    done: list[Cycle] = []
    seconds = 0.0
    while not done or done[-1].finish_reason is None:
        begin = time.perf_counter()
        cycle = next(cycles)
        seconds += time.perf_counter() - begin
        done.append(cycle)
        if show is not None:
            show(cycle)
    return Generation.of(done), seconds


def count(number: int, thing: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def show_tau(tau: float | None) -> str:
    """tau to two places; a dash where no call came after the prefill."""
    return "-" if tau is None else f"{tau:.2f}"
