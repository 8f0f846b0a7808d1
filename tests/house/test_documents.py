"""What a reader is told: docstrings, annotations, a README in every folder, and one order to read the files in."""

import ast
import re

import pytest
from house import CORE, FILES, PACKAGE, ROOT, folders, name_of, num_lines, parsed

FOLDERS = [*folders("eagle_min"), *folders("tests")]
READMES = [ROOT / "README.md", *(folder / "README.md" for folder in FOLDERS)]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_public_functions_and_classes_have_docstrings(path):
    """Methods may go without one where their class says what they do."""
    module = parsed(path)
    public = [node for node in module.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    bare = [node.name for node in public if not node.name.startswith("_") and not ast.get_docstring(node)]
    assert bare == []
    assert not module.body or ast.get_docstring(module)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_public_functions_are_annotated(path):
    bare = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if any(arg.annotation is None for arg in arguments if arg.arg not in ("self", "cls")):
                bare.append(node.name)
    assert bare == []


def test_the_readme_at_the_top_has_at_most_150_lines():
    assert num_lines(ROOT / "README.md") <= 150


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_folder_has_a_short_readme_that_names_its_files(folder):
    """At most forty lines; folders inside are named with a slash behind."""
    readme = folder / "README.md"
    assert readme.exists()
    text = readme.read_text(encoding="utf-8")
    files = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert [name for name in files if not re.search(rf"(?<!\w){re.escape(name)}\b", text)] == []
    assert [path.name for path in folder.iterdir() if path in FOLDERS and f"{path.name}/" not in text] == []
    assert num_lines(readme) <= 40


@pytest.mark.parametrize("readme", [each for each in READMES if each.exists()], ids=name_of)
def test_a_readme_names_no_python_file_that_is_gone(readme):
    """A name in backquotes that ends in .py is a file, seen from the folder, the one around it, the package or the
    root."""
    names = re.findall(r"`([\w/.]+\.py)`", readme.read_text(encoding="utf-8"))
    starts = (readme.parent, readme.parent.parent, PACKAGE, ROOT)
    assert [name for name in names if not any((start / name).exists() for start in starts)] == []


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
