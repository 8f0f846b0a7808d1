"""Where randomness may come from while decoding: `dice.py` alone."""

import ast
from pathlib import Path

import pytest
from house import PACKAGE, core_files, name_of, parsed

RANDOM_MODULES = {"random", "secrets", "time", "uuid"}
RANDOM_NAMES = {
    "multinomial", "bernoulli", "manual_seed", "Generator", "default_rng", "urandom", "getrandbits",
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "random", "normal", "poisson",
    "normal_", "uniform_", "random_", "exponential_", "bernoulli_", "dropout", "Dropout", "Philox", "PCG64",
}  # fmt: skip


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
    assert random_sources(parsed(path)) == set()


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
    assert random_sources(parsed(PACKAGE / "dice.py")) == {"random", "Philox", "Generator"}
