"""Why there is no verdict: what is raised when nothing can be said about the code under test.

The message is the reason. These are no subclasses of `Exception`, because the code under test may catch that. Some code
catches everything (`except:`, a `return` in a `finally`); so each is noted when it is made, and `none_lost` raises
the first of them at the end of the call.
Read next: `undrawn/uniform.py`.
"""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

PACKAGE = str(Path(__file__).parent)
FOREIGN = ("numpy", "torch")  # their lines are not to blame either

LONGEST = 200  # characters shown of what foreign code raised or returned
NOTES: list[list["NoVerdict"]] = []  # a list for each `none_lost` that has begun, in any thread


class NoVerdict(BaseException):
    """Nothing can be said about the program, whatever it returns; the message says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        for noted in NOTES:
            noted.append(self)


class Undecided(NoVerdict):
    """The law of the program cannot be found by enumeration."""


@contextlib.contextmanager
def none_lost() -> Iterator[None]:
    """Raises at its end the first `NoVerdict` that was made inside, whether something caught it or not."""
    noted: list[NoVerdict] = []
    NOTES.append(noted)
    try:
        yield
    finally:
        NOTES[:] = [other for other in NOTES if other is not noted]  # lists that are equal are not the same
        if noted:
            raise noted[0]


def described(thing: object) -> str:
    """What foreign code raised or returned, in few words; its own methods for that may fail, or say too much."""
    try:
        text = f"{type(thing).__name__}: {thing}" if isinstance(thing, BaseException) else repr(thing)
    except Exception:
        text = f"{type(thing).__name__}, which cannot be shown"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def where(frame: FrameType | None = None) -> str:
    """`file:line` of the caller, or of `frame`, or of the first one above it outside this package, numpy and torch."""
    frame = frame or sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "").partition(".")[0]
        if not frame.f_code.co_filename.startswith(PACKAGE) and module not in FOREIGN:
            break
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def undecided(reason: str, frame: FrameType | None = None) -> NoReturn:
    """Raise `Undecided` with the line of the program that is to blame, see `where`."""
    raise Undecided(f"{reason} ({where(frame)})")
