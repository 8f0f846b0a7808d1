"""Which way imports point: inside the core, between folders, and never in a circle."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from house import CORE, FILES, PACKAGE, RINGS, core_files, dotted, folders, name_of, other_imports, package_imports

ALLOWED = {  # module of the core -> what it may import of the core
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
NO_NETWORK = {"tree", "sampling", "dice", "verify", "grow", "config", "ending", "decode"}

# Folder -> the folders it may import from, besides itself. "" is the core, "exactness" its root: law and no_verdict.
REACHES: dict[str, set[str]] = {"": set(), "drafters": {""}}
# The roots of train and of lab hold what their folders share, such as a training or a record, and the command that
# knows them all: so they stand below and above them. That no circle comes of it is seen module by module.
REACHES["train/rivals"] = {"", "drafters", "train"}
REACHES["train"] = {"", "drafters", "train/rivals"}
REACHES["exactness"] = {""}
REACHES["exactness/undrawn"] = {"", "exactness"}
REACHES["exactness/worlds"] = REACHES["exactness/undrawn"] | {"exactness/undrawn"}
REACHES["exactness/acceptance"] = REACHES["exactness/worlds"] | {"exactness/worlds"}
REACHES["exactness/judge"] = REACHES["exactness/acceptance"] | {"exactness/acceptance"}
REACHES["show"] = set(REACHES)
REACHES["lab/figures"] = {"", "lab"}
REACHES["lab/instruments"] = set(REACHES) - {"lab/figures"} | {"lab"}
REACHES["lab/experiments/claims"] = set(REACHES) | {"lab"}
REACHES["lab/experiments"] = set(REACHES) | {"lab"}
REACHES["lab"] = set(REACHES)
TOP = "__main__"  # the command line may import everything


def folder_of(module: str) -> str:
    """The folder of a dotted module, as in REACHES."""
    path = PACKAGE.parent / module.replace(".", "/")
    folder = path if path.is_dir() else path.parent
    return "/".join(folder.relative_to(PACKAGE).parts)


def is_door(path: Path, module: str) -> bool:
    """An `__init__.py` is the door of its folder and may name anything that lies in it."""
    return path.name == "__init__.py" and module.startswith(dotted(path))


@pytest.mark.parametrize("path", core_files(), ids=name_of)
def test_core_imports_point_one_way(path):
    imported = {module.split(".")[1] for module in package_imports(path)}
    assert imported <= ALLOWED[path.stem]
    assert all(CORE.index(name) < CORE.index(path.stem) for name in imported)


@pytest.mark.parametrize("path", [path for path in FILES if path.stem != TOP], ids=name_of)
def test_folders_import_one_way(path):
    """A new folder must be given its place in REACHES."""
    here = folder_of(dotted(path))
    reached = {folder_of(module) for module in package_imports(path) if not is_door(path, module)} - {here}
    assert reached <= REACHES[here], f"{name_of(path)} imports from {sorted(reached - REACHES[here])}"


def test_the_table_of_folders_has_no_circle():
    assert circles({folder: reached - {"lab", "train"} for folder, reached in REACHES.items()}) == []


def circles(imports: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """A way back to itself for each name that has one, the shortest: [a, b, a]."""
    found = []
    for start in imports:
        ways = [[start]]
        seen = set()
        while ways:
            way = ways.pop(0)
            following = set(imports.get(way[-1], ()))
            if start in following:
                found.append([*way, start])
                break
            ways += [[*way, name] for name in sorted(following - seen)]
            seen |= following
    return found


def test_no_modules_import_one_another_in_a_circle():
    """Imports inside functions count; what an `__init__.py` hands out does not."""
    modules = {
        dotted(path): {module for module in package_imports(path) if not is_door(path, module)} for path in FILES
    }
    assert circles(modules) == []


@pytest.mark.parametrize(
    ("imports", "wanted"),
    [
        ({"a": ["b"], "b": ["c"], "c": []}, []),
        ({"a": ["b"], "b": ["a"]}, [["a", "b", "a"], ["b", "a", "b"]]),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, [["b", "c", "b"], ["c", "b", "c"]]),
        ({"a": ["a"]}, [["a", "a"]]),
    ],
)
def test_circles_are_found(imports, wanted):
    assert circles(imports) == wanted


def test_the_core_is_what_lies_beside_the_rings():
    """A new module must be named, as core or as ring, and a new folder in the table."""
    assert {path.stem for path in PACKAGE.glob("*.py")} == {*CORE, "__init__", TOP}
    assert {path.name for path in folders("eagle_min") if path.parent == PACKAGE} <= set(RINGS)
    assert set(ALLOWED) == set(CORE)


def test_the_command_line_is_not_imported_by_the_rest():
    assert [name_of(path) for path in FILES if f"eagle_min.{TOP}" in set(package_imports(path))] == []


@pytest.mark.parametrize("name", sorted(NO_NETWORK))
def test_trees_and_the_loop_know_no_network(name):
    assert "torch" not in other_imports(PACKAGE / f"{name}.py")


@pytest.mark.parametrize("path", core_files(), ids=name_of)
def test_core_needs_only_torch_numpy_tiktoken(path):
    assert other_imports(path) <= {"torch", "numpy", "tiktoken"} | set(sys.stdlib_module_names)
