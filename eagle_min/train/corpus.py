"""The text the models learn from: what Python and the pinned requirements install.

Three domains. *Code* is Python source; *prose* is the language reference and docstrings;
*sums* are lines of small additions. Nothing is downloaded. Held-out code comes from whole
directories of the pinned packages, picked by a hash of their names, less the files that share
more than a fifth of their lines with the training code; held-out prose comes from the docstrings of those
same files; held-out sums start with ordered pairs of operands no training line starts with.

A document is (name, text). Files that are data written as Python (tables, generated code)
are left out. Read next: `batches.py`.
"""

import ast
import hashlib
import importlib.util
import random
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PINNED = ("torch", "numpy", "hypothesis", "pytest", "_pytest")
SKIPPED = {"test", "tests", "idlelib", "lib2to3", "encodings", "site-packages", "_vendor", "pydoc_data"}
HELD_OUT_SHARE = 1 / 16  # of the directories
SUMS_HELD_OUT_SHARE = 0.1  # of the ordered pairs of operands
MAX_SEEN_LINES = 0.2  # of a held-out file's lines

Document = tuple[str, str]


@dataclass
class Corpus:
    """Documents by domain; `held_out` has the same three keys as `train`."""

    train: dict[str, list[Document]] = field(default_factory=dict)
    held_out: dict[str, list[Document]] = field(default_factory=dict)

    def fingerprint(self) -> str:
        """sha256 over the held-out documents' names and texts: two machines that agree on it
        measure the same thing."""
        digest = hashlib.sha256()
        for domain in sorted(self.held_out):
            for name, text in self.held_out[domain]:
                digest.update(f"{domain}\0{name}\0{text}\0".encode())
        return digest.hexdigest()


def load_corpus(seed: int = 0) -> Corpus:
    """Read everything; half a minute, most of it parsing for docstrings. `seed` only shuffles the sums."""
    train_code, held_out_code = split_code()
    train_prose = [doc for name, text in train_code for doc in docstrings(name, text)]
    train_sums, held_out_sums = sums(seed)
    return Corpus(
        {"code": train_code, "prose": train_prose + language_reference(), "sums": train_sums},
        held_out_domains(held_out_code, held_out_sums),
    )


def load_held_out() -> Corpus:
    """The held-out half alone (`train` is empty), which no seed changes; a few seconds."""
    return Corpus({}, held_out_domains(split_code()[1], sums(0, num_documents=0)[1]))


def split_code() -> tuple[list[Document], list[Document]]:
    """Training and held-out source files."""
    train, candidates = [], []
    for name, text in sorted(python_files()):
        (candidates if is_held_out(name) else train).append((name, text))
    seen = {line.strip() for _, text in train for line in text.splitlines()}
    return train, [doc for doc in candidates if seen_share(doc[1], seen) <= MAX_SEEN_LINES]


def held_out_domains(code: list[Document], sums: list[Document]) -> dict[str, list[Document]]:
    """The prose that is held out is the docstrings of the held-out code."""
    return {"code": code, "prose": [doc for name, text in code for doc in docstrings(name, text)], "sums": sums}


def python_files() -> Iterator[Document]:
    """(name, text) of each source file; names are relative to what a package is found under."""
    roots = [("", Path(sysconfig.get_paths()["stdlib"]))]
    for package in PINNED:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(f"package {package} is not installed: pip install -r requirements.txt")
        roots.append((package, Path(spec.origin).parent))
    for package, root in roots:
        for path in root.rglob("*.py"):
            parts = path.relative_to(root).parts
            if SKIPPED.isdisjoint(parts[:-1]) or package:
                text = path.read_text(encoding="utf-8", errors="replace")
                if is_written_by_hand(text):
                    yield "/".join((package, *parts) if package else parts), text


def is_written_by_hand(text: str) -> bool:
    """False for tables and generated code: too many digits, very long lines, or too short."""
    lines = text.count("\n") + 1
    digits = sum(map(text.count, "0123456789"))
    return len(text) >= 400 and len(text) / lines < 70 and digits / len(text) < 0.08 and text.isascii()


def is_held_out(name: str) -> bool:
    """HELD_OUT_SHARE of the directories of the pinned packages, by a hash of the path."""
    directory, _, _ = name.rpartition("/")
    if directory.partition("/")[0] not in PINNED:
        return False
    return picked(directory, HELD_OUT_SHARE)


def picked(name: str, share: float) -> bool:
    """True for about this share of all names, always for the same ones."""
    return hashlib.sha256(name.encode()).digest()[0] < 256 * share


def seen_share(text: str, seen: set[str]) -> float:
    """Share of the lines of `text` with more than 20 characters that are in `seen`."""
    lines = [line.strip() for line in text.splitlines() if len(line.strip()) > 20]
    return sum(line in seen for line in lines) / max(1, len(lines))


def docstrings(name: str, text: str) -> list[Document]:
    """The docstrings of a file of some length, joined: prose about code."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds)]
    prose = "\n\n".join(doc for doc in found if doc and len(doc) >= 200)
    return [(name, prose)] if prose else []


def language_reference() -> list[Document]:
    """The entries of Python's language reference, as `help()` prints them."""
    from pydoc_data.topics import topics

    return [(f"topics/{name}", text) for name, text in sorted(topics.items()) if text.isascii()]


def sums(seed: int, num_documents: int = 6000) -> tuple[list[Document], list[Document]]:
    """Training and held-out documents of lines like `10 + 2 = 12` and `10 + 2 + 5 = 17`.

    Operands are 0 to 99, as often of one digit as of two: short sums are learned first, and the long
    ones from them. An ordered pair belongs to one side only, by a hash, and a line of three
    operands starts with a training pair: so `10 + 2 =` has one answer, `10 + 2` has many. Most
    held-out pairs were trained on the other way round; `mirrored` tells them apart.
    """
    rng = random.Random(seed)
    pairs = [(a, b) for a in range(100) for b in range(100)]
    held_out = {pair: None for pair in pairs if picked(f"{pair}", SUMS_HELD_OUT_SHARE)}

    def operand(digits: int) -> int:
        return rng.randrange(10) if digits == 1 else rng.randrange(10, 100)

    def line() -> str:
        a, b = operand(rng.randint(1, 2)), operand(rng.randint(1, 2))
        while (a, b) in held_out:
            a, b = operand(rng.randint(1, 2)), operand(rng.randint(1, 2))
        if rng.random() < 0.75:
            return f"{a} + {b} = {a + b}"
        c = operand(rng.randint(1, 2))
        return f"{a} + {b} + {c} = {a + b + c}"

    documents = [(f"sums/{i}", "\n".join(line() for _ in range(rng.randint(1, 30)))) for i in range(num_documents)]
    return documents, [(f"sums/{a}+{b}", f"{a} + {b} = {a + b}") for a, b in held_out]


def mirrored(held_out: list[Document]) -> tuple[list[Document], list[Document]]:
    """Held-out sums `a + b` split into those whose `b + a` was trained on, and the wholly unseen."""
    names = {name for name, _ in held_out}
    flipped = {name: "sums/" + "+".join(reversed(name.removeprefix("sums/").split("+"))) for name in names}
    unseen = [doc for doc in held_out if flipped[doc[0]] in names]
    return [doc for doc in held_out if flipped[doc[0]] not in names], unseen
