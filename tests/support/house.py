"""Where the house's files lie and what a file imports, read from the source; nothing of the package is imported."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "eagle_min"
FILES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

# the core, in an order in which every module imports only earlier ones
CORE = "config tokenizer sampling dice tree cache model grow verify ending decode head files checkpoint".split()
# the folders around it; a folder inside another is named by its path
RINGS = "drafters train exactness show lab interop course".split()


def core_files() -> list[Path]:
    return [PACKAGE / f"{name}.py" for name in CORE]


def name_of(path: Path) -> str:
    """A file's path from the root of the repository."""
    return str(path.relative_to(ROOT))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def folders(top: str) -> list[Path]:
    """`top` and the folders in it that hold Python files, whether themselves or further down."""
    files = (ROOT / top).rglob("*.py")
    return sorted({each for path in files for each in path.parents if each.is_relative_to(ROOT / top)})


def dotted(path: Path) -> str:
    """The module of a file: `eagle_min.drafters.mtp`; of an `__init__.py`, the package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def module_of(name: str) -> Path | None:
    """The file of a dotted name; None where it names something inside a module."""
    path = ROOT / name.replace(".", "/")
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.exists()), None)


def package_imports(path: Path) -> Iterator[str]:
    """The package's own modules that a file imports, anywhere in it, by their dotted names."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(parsed(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = parts[: len(parts) - node.level] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] == "eagle_min":
                yield dotted(module_of(name) or module_of(name.rpartition(".")[0]))


def other_imports(path: Path) -> set[str]:
    """Top-level names of everything else a file imports."""
    names = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.split(".")[0])
    return names - {"eagle_min"}


def num_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def tracked_files() -> list[str]:
    """What git knows of the checkout, new files included; a skip where there is no git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [name for name in result.stdout.splitlines() if (ROOT / name).exists()]
