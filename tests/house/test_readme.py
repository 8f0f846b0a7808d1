"""What the pages say is true: examples run and print what is shown, commands exist, links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest

from eagle_min.__main__ import COMMANDS, build_parser, main
from eagle_min.checkpoint import read_card
from eagle_min.drafters.model_set import SHIPPED
from eagle_min.lab.record import read_rows

ROOT = Path(__file__).resolve().parents[2]
README, MANUAL = ROOT / "README.md", ROOT / "tutorials" / "certify.md"
FOLDERS = ("eagle_min", "tests", "tinymodels", "tutorials")
PAGES = [README, *sorted(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]
SET_UP = "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt && .venv/bin/python -m "

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


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


def links_in(text: str) -> list[str]:
    """What links and pictures of a page point at, other than places on the web and on the page itself."""
    prose = re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r'src="([^"]+)"', prose)
    return [link.partition("#")[0] for link in found if not re.match(r"https?:|#", link)]


def without_numbers(lines: str) -> str:
    """A drawn tree without confidences, whose last digit is a matter of rounding."""
    return re.sub(r"  \d\.\d{3}$", "", lines, flags=re.MULTILINE)


def without_the_search(report: str) -> str:
    """A refutation without how many worlds and branches came before it: that is a matter of the search."""
    headline, _, found = report.partition("\n")
    return headline + found[found.index("\n\n") :]


def test_the_ten_lines_print_what_is_shown_below_them(capsys):
    text = README.read_text(encoding="utf-8")
    [(code, shown)] = re.findall(r"^```python\n(import .*?)^```\n\n```text\n(.*?)^```$", text, re.M | re.S)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == shown


def test_the_tree_of_the_readme_is_what_its_command_draws(capsys):
    text = README.read_text(encoding="utf-8")
    [command] = [argv for argv in commands_in(text) if "--tree" in argv]
    assert main(command) == 0
    assert without_numbers(fenced_blocks(text, "text")[0]) in without_numbers(capsys.readouterr().out)


def test_the_loop_of_the_readme_is_the_loop_of_the_package():
    """Shortened, but each line stands in `decode.py`, and in this order."""
    quoted = [line.strip() for line in fenced_blocks(README.read_text(encoding="utf-8"), "python")[1].splitlines()]
    source = (ROOT / "eagle_min" / "decode.py").read_text(encoding="utf-8")
    lines = iter(source.partition("def speculative_cycles")[2].splitlines())
    assert len(quoted) >= 8 and all(any(line.strip() == wanted for line in lines) for wanted in quoted)


def test_the_two_commands_of_the_readme():
    """Word for word: others run them as they stand."""
    blocks = fenced_blocks(README.read_text(encoding="utf-8"), "sh")
    assert blocks[:2] == [f"{SET_UP}eagle_min\n", f"{SET_UP}pytest\n"]


@pytest.mark.parametrize("page", [README, MANUAL], ids=lambda page: page.name)
def test_the_commands_of_the_main_pages_can_be_given(page):
    commands = commands_in(page.read_text(encoding="utf-8"))
    assert commands
    for argv in commands:
        try:
            build_parser(argv[0] if argv else "demo").parse_args(argv or ["demo"])  # ValueError for a wrong option
        except SystemExit as leaving:  # --help
            assert leaving.code == 0


@every_page
def test_commands_that_a_page_names_exist(page):
    named = {argv[0] for argv in commands_in(page.read_text(encoding="utf-8")) if argv}
    assert named - {"--help"} <= set(COMMANDS)


@every_page
def test_links_of_a_page_lead_to_files_that_exist(page):
    links = links_in(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_manual_prints_what_the_certifier_says(tmp_path, monkeypatch, capsys):
    """The sampler of the page is refuted as shown; with the mend of the page it is exact."""
    text = MANUAL.read_text(encoding="utf-8")
    sampler, mend = fenced_blocks(text, "python")
    [command] = [argv for argv in commands_in(text) if "my_sampler.py:sampler" in argv]
    monkeypatch.chdir(tmp_path)
    Path("my_sampler.py").write_text(sampler, encoding="utf-8")
    assert main(command) == 1
    assert without_the_search(capsys.readouterr().out) == without_the_search(fenced_blocks(text, "text")[0])

    [wrong] = [line for line in sampler.splitlines() if line.endswith("draw(target_probs[place])]")]
    indent = wrong[: len(wrong) - len(wrong.lstrip())]
    mended = "\n".join(indent + line for line in mend.splitlines())
    Path("my_sampler.py").write_text(sampler.replace(wrong, mended), encoding="utf-8")
    assert main(command) == 0
    assert f"`{capsys.readouterr().out.splitlines()[0]}`" in text


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


def test_links_are_found_in_a_text():
    text = 'See [a](x.md#part), [b](https://e.org), <img src="y.svg">, [c](#d).\n```text\n[z](nowhere)\n```\n'
    assert links_in(text) == ["x.md", "y.svg"]
    assert without_numbers("├─○ 1  0.035\n● 2  (root)") == "├─○ 1\n● 2  (root)"
