"""Files that are written: whole or not at all, and with the command that made them.

Weights, cards, rows of figures, pictures and the state of a training all go through here.
Read next: `checkpoint.py`.
"""

import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO


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


def command_line() -> str:
    """The command that is running, as a card or a row of figures states it."""
    return shlex.join(["python", "-m", "eagle_min", *sys.argv[1:]])
