"""The house: which way imports point, how long files are, where randomness may live, what is shipped.

Everything is read from the source with `ast`; nothing of the package is imported.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from house import CORE

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "eagle_min"
FILES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
ALLOWED = {
    "config": set(),
    "tokenizer": {"config"},
    "sampling": {"config"},
    "dice": {"config"},
    "tree": {"config", "sampling"},
    "cache": {"config"},
    "model": {"config", "cache"},
    "grow": {"config", "sampling", "dice", "tree"},
    "verify": {"config", "dice", "tree"},
    "ending": {"config"},
    "decode": {"config", "sampling", "dice", "tree", "verify", "ending"},
    "head": {"config", "cache", "model", "dice", "tree", "decode"},
    "files": set(),
    "checkpoint": {"config", "model", "head", "files"},
}
RINGS = {"train", "drafters", "exactness", "lab", "interop", "course", "show", "__main__"}
NO_NETWORK = {"tree", "sampling", "dice", "verify", "grow", "config", "ending", "decode"}
# where decoding must not get randomness from; `dice.py` is the one exception
RANDOM_MODULES = {"random", "secrets", "time", "uuid"}
RANDOM_NAMES = {
    "multinomial", "bernoulli", "manual_seed", "Generator", "default_rng", "urandom", "getrandbits",
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "random", "normal", "poisson",
    "normal_", "uniform_", "random_", "exponential_", "bernoulli_", "dropout", "Dropout", "Philox", "PCG64",
}  # fmt: skip


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def core_files() -> list[Path]:
    return [PACKAGE / f"{name}.py" for name in CORE]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def package_imports(path: Path) -> Iterator[str]:
    """Absolute names of the package's own modules that a file imports, anywhere in it."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "eagle_min")
        elif isinstance(node, ast.ImportFrom):
            base = parts[: len(parts) - node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module.split(".")[0] == "eagle_min":
                is_package = (ROOT / module.replace(".", "/")).is_dir()
                yield from (f"{module}.{alias.name}" for alias in node.names) if is_package else [module]


def other_imports(path: Path) -> set[str]:
    """Top-level names of everything else a file imports."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.split(".")[0])
    return names - {"eagle_min"}


def random_sources(module: ast.Module) -> set[str]:
    """Whatever in a module could be a source of randomness."""
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and node.attr in RANDOM_NAMES:
            found.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "seed":
            found.add("seed")
        elif isinstance(node, ast.Name) and node.id in RANDOM_NAMES | RANDOM_MODULES:
            found.add(node.id)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[-1] in RANDOM_MODULES}
        elif isinstance(node, ast.ImportFrom):
            names = {node.module or "", *(alias.name for alias in node.names)}
            found |= {name for name in names if name.split(".")[-1] in RANDOM_MODULES | RANDOM_NAMES}
    return found


def drafter_files() -> list[Path]:
    return sorted((PACKAGE / "drafters").glob("*.py"))


@pytest.mark.parametrize("path", [path for path in core_files() + drafter_files() if path.stem != "dice"], ids=name_of)
def test_no_random_source_outside_dice(path):
    assert random_sources(tree_of(path)) == set()


@pytest.mark.parametrize(
    "code",
    [
        "import random",
        "from random import choice",
        "import numpy as np\nnp.random.rand(3)",
        "from numpy import random",
        "import numpy.random",
        "torch.manual_seed(0)",
        "torch.multinomial(p, 1)",
        "p.multinomial(1)",
        "torch.rand(3)",
        "x.uniform_()",
        "os.urandom(8)",
        "import time",
        "from secrets import token_bytes",
        "torch.Generator()",
        "torch.seed()",
    ],
)
def test_random_sources_are_recognised(code):
    assert random_sources(ast.parse(code))


def test_dice_is_recognised_as_a_random_source():
    assert random_sources(tree_of(PACKAGE / "dice.py")) == {"random", "Philox", "Generator"}


@pytest.mark.parametrize("path", core_files(), ids=name_of)
def test_core_imports_point_one_way(path):
    imported = {module.split(".")[1] for module in package_imports(path)}
    assert imported <= ALLOWED[path.stem]
    assert all(CORE.index(name) < CORE.index(path.stem) for name in imported)


def test_the_core_is_what_lies_beside_the_rings():
    """A new module must be named here, as core or as ring."""
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert set(CORE) <= modules <= set(CORE) | RINGS
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages <= RINGS
    assert len(CORE) <= 14 and set(ALLOWED) == set(CORE)


def test_the_command_line_is_not_imported_by_the_rest():
    for path in FILES:
        if path.stem != "__main__":
            assert "eagle_min.__main__" not in set(package_imports(path)), path


@pytest.mark.parametrize("name", sorted(NO_NETWORK))
def test_trees_and_the_loop_know_no_network(name):
    assert "torch" not in other_imports(PACKAGE / f"{name}.py")


@pytest.mark.parametrize("path", core_files(), ids=name_of)
def test_core_needs_only_torch_numpy_tiktoken(path):
    assert other_imports(path) <= {"torch", "numpy", "tiktoken"} | set(sys.stdlib_module_names)


def num_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_sizes_of_files():
    assert {name_of(path): num_lines(path) for path in FILES if num_lines(path) > 250} == {}
    assert {name_of(path): num_lines(path) for path in TESTS if num_lines(path) > 400} == {}


def test_size_of_the_core():
    """Blank lines are free: there is no prize for crowding."""
    lines = [line for path in core_files() for line in path.read_text(encoding="utf-8").splitlines()]
    assert sum(bool(line.strip()) for line in lines) <= 1900


def definitions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node


@pytest.mark.parametrize("path", FILES + TESTS, ids=name_of)
def test_functions_are_at_most_forty_lines(path):
    functions = [node for node in definitions(path) if not isinstance(node, ast.ClassDef)]
    long = {node.name: node.end_lineno - node.lineno + 1 for node in functions}
    assert {name: length for name, length in long.items() if length > 40} == {}


def test_lines_are_at_most_120_wide():
    wide = [
        f"{name_of(path)}:{number}"
        for path in FILES + TESTS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert wide == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_public_functions_and_classes_have_docstrings(path):
    """Methods may go without one where their class says what they do."""
    module = tree_of(path)
    public = [node for node in module.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    bare = [node.name for node in public if not node.name.startswith("_") and not ast.get_docstring(node)]
    assert bare == []
    assert not module.body or ast.get_docstring(module)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_public_functions_are_annotated(path):
    bare = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if any(arg.annotation is None for arg in arguments if arg.arg not in ("self", "cls")):
                bare.append(node.name)
    assert bare == []


def tracked_files() -> list[str]:
    """What git knows of the checkout, new files included; a skip where there is no git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [name for name in result.stdout.splitlines() if (ROOT / name).exists()]


def test_visible_entries_at_the_top():
    allowed = {"README.md", "requirements.txt", "eagle_min", "tutorials", "tests", "tinymodels"}
    top = {name.split("/")[0] for name in tracked_files()}
    assert {name for name in top if not name.startswith(".")} <= allowed
    assert "eagle_min" in top


def test_tinymodels_stay_small():
    """Weights, cards, ranks, prompts, results: under 30 MB together."""
    sizes = {name: (ROOT / name).stat().st_size for name in tracked_files() if name.startswith("tinymodels/")}
    assert 0 < sum(sizes.values()) < 30_000_000


def test_no_caches_or_byte_code_are_tracked():
    assert [name for name in tracked_files() if name.endswith((".pyc", ".npy", ".pkl")) or "__pycache__" in name] == []


def test_reading_order_is_one_list():
    """The README's table and the "Read next" of each core module name the same files in the same order."""
    listed = re.findall(r"^\| `eagle_min/(\w+)\.py`", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    followed, name = [], "config"
    while name in CORE and name not in followed:
        followed.append(name)
        [name] = re.findall(r"Read next: `(\S+)\.py`", (PACKAGE / f"{name}.py").read_text(encoding="utf-8"))
    assert listed == followed and set(listed) == set(CORE)


def test_who_follows_read_next_comes_to_every_module_once():
    path, seen = PACKAGE / "config.py", []
    while path.exists():
        assert path not in seen, path
        seen.append(path)
        found = re.findall(r"Read next:\s`(\S+)\.py`", path.read_text(encoding="utf-8"))
        path = (path.parent / f"{found[0]}.py").resolve() if found else PACKAGE / "the end"
    assert set(seen) == {path for path in FILES if path.name != "__init__.py"}
