"""A figure carries its command: where rows of figures come from, and how they are stored.

A *row* is a flat dict. A stored row says by itself how to get it again: command, seed, commit,
machine, versions, date, and the hashes of the text and of the weights.
Read next: `instruments/prefixes.py`.
"""

import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

import torch

from ..checkpoint import read_card
from ..config import require
from ..drafters.model_set import ModelSet
from ..files import command_line, write_atomically
from ..train.batches import versions

LONGEST_NAME = 240  # of a file: systems allow 255, and `write_atomically` puts some letters behind it first
Row = dict


def provenance(models: ModelSet, heads: Collection[str], seed: int, corpus_sha256: str) -> Row:
    """The part of a row that tells where it comes from; `heads` are the names of those that were used."""
    return {
        "command": command_line(),
        "seed": seed,
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "corpus_sha256": corpus_sha256,
        "target_sha256": models.target_sha256,
        "heads_sha256": {head: read_card(models.folder, head)["sha256"] for head in heads},
    }


def commit() -> str:
    """The commit of the package's source, with `+` behind it where the source was changed since;
    `unknown` outside a repository."""
    package = Path(__file__).parent.parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=package, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> str:
    """Processor, cores, threads torch uses, system: what a figure in seconds depends on."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass  # not Linux
    return f"{name}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, {platform.system()}"


def check_writable(path: Path | None, option: str = "--json") -> None:
    """ValueError, before hours of measuring, unless a file can be written at `path`, which was given as `option`. It
    will be put in its place by a rename, which would also replace a device or a pipe."""
    if path is None:
        return
    require(len(os.fsencode(path.name)) <= LONGEST_NAME, option, path.name, f"a name of up to {LONGEST_NAME} bytes")
    folder = next((folder for folder in path.absolute().parents if folder.exists()), path)
    good = folder.is_dir() and can_write(folder) and (path.is_file() or not path.exists())
    require(good, option, str(path), "a file in a folder that can be written to")


def can_write(folder: Path) -> bool:
    """By trying: permissions say nothing about a folder that the system itself keeps."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def write_text(path: Path | None, content: str) -> None:
    """Store a text, all or nothing; None stores nothing."""
    if path is not None:
        write_atomically(path, lambda file: file.write(content.encode()))


def write_rows(path: Path | None, rows: Sequence[Row]) -> None:
    """Store rows as a JSON list, all or nothing; None stores nothing. ValueError for NaN."""
    write_text(path, json.dumps(list(rows), indent=1, allow_nan=False) + "\n")


def read_rows(path: Path) -> list[Row]:
    """Stored rows. ValueError, one line, when the file is missing or no list of rows."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"results must be a readable file, got {str(path)!r}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path} is not a JSON list of rows: {error}") from error
    good = isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)
    require(bool(good), f"content of {path}", type(rows).__name__, "a list of at least one row")
    return rows
