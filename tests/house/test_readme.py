"""README.md and the page of results: the example runs, and the commands that they show exist."""

import re
import shlex
from pathlib import Path

from eagle_min.__main__ import build_parser
from eagle_min.checkpoint import SHIPPED, read_card
from eagle_min.lab.record import read_rows

README = Path(__file__).resolve().parents[2] / "README.md"
RESULTS = SHIPPED / "results" / "README.md"


def fenced_blocks(text: str, language: str) -> list[str]:
    """The contents of the blocks that start with three backticks and `language`."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands_in(text: str) -> list[list[str]]:
    """The words after each `python -m eagle_min` inside fenced blocks and code spans."""
    fenced = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    lines = [line for part in [*fenced, *spans] for line in part.splitlines()]
    found = [re.search(r"python -m eagle_min\b(?!\.)(.*)", line) for line in lines]
    return [shlex.split(match[1], comments=True) for match in found if match]


def test_the_example_of_the_readme_runs(capsys):
    blocks = fenced_blocks(README.read_text(encoding="utf-8"), "python")
    assert blocks, "README.md has no block that starts with ```python"
    namespace: dict = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    assert capsys.readouterr().out.strip(), "the example prints nothing"


def test_the_commands_of_the_pages_exist():
    commands = commands_in(README.read_text(encoding="utf-8"))
    assert [] in commands, "README.md does not show `python -m eagle_min`"
    for argv in [*commands, *commands_in(RESULTS.read_text(encoding="utf-8"))]:
        name = argv[0] if argv else "demo"
        try:
            build_parser(name).parse_args(argv or ["demo"])  # ValueError for an option that is not there
        except SystemExit as leaving:  # --help
            assert leaving.code == 0


def test_stored_figures_are_of_the_shipped_models():
    digest = read_card(SHIPPED / "tiny", "target")["sha256"]
    paths = sorted((SHIPPED / "results").glob("*.json"))
    assert paths
    for path in paths:
        rows = read_rows(path)
        assert {row["target_sha256"] for row in rows} == {digest}, path
        for row in rows:
            for name, head_digest in row["heads_sha256"].items():
                assert read_card(SHIPPED / "tiny", name)["sha256"] == head_digest, path


def test_commands_and_blocks_are_found_in_a_text():
    text = (
        'Type `python -m eagle_min`, or `x && python -m eagle_min generate "a b" --top-k 2`.\n'
        "```sh\n. env && python -m eagle_min compare  # a table\npython -m pytest\n```\n"
        "```python\na = 1\n```\n"
    )
    assert sorted(commands_in(text)) == [[], ["compare"], ["generate", "a b", "--top-k", "2"]]
    assert fenced_blocks(text, "python") == ["a = 1\n"]
