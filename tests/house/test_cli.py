"""The command line: what it prints, what it returns, and how it refuses.

Most tests run `main` in this process on a small random set of models whose tokens are single
bytes; nothing they claim depends on the weights.
"""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import networks
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eagle_min
from eagle_min.__main__ import COMMANDS, main
from eagle_min.config import ModelConfig, SamplingConfig
from eagle_min.dice import SeededDice, target_draw, uniform
from eagle_min.drafters.model_set import shipped_prompts
from eagle_min.show import demo
from eagle_min.show.difference import explain, first_difference, gap_of
from eagle_min.verify import Verification, verify

ROOT = Path(__file__).resolve().parents[2]
BYTES = networks.BYTES
CONFIG = ModelConfig(vocab_size=257, width=16, num_layers=2, num_heads=1, hidden=16, context=256)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small random target, a head and the tokenizer of single bytes."""
    return networks.small_set(tmp_path_factory.mktemp("small"), config=CONFIG)


def outcome(capsys: pytest.CaptureFixture, *argv: object) -> tuple[int, str, str]:
    """Exit status, stdout, stderr of one command line."""
    status = main([str(arg) for arg in argv])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def result(capsys: pytest.CaptureFixture, *argv: object) -> dict:
    """The JSON that `generate ... --json` prints."""
    status, out, err = outcome(capsys, "generate", *argv, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


# --- bad input: one line that names the value and what is allowed, status 2 ---

BAD_OPTIONS = [
    (["--temperature", "-0.5"], "temperature must be finite and at least 0, got -0.5"),
    (["--temperature", "inf"], "temperature must be finite and at least 0, got inf"),
    (["--temperature", "nan"], "temperature must be finite and at least 0, got nan"),
    (["--temperature", "warm"], "argument --temperature: invalid float value: 'warm'"),
    (["--top-p", "0"], "top_p must be above 0 and at most 1, got 0.0"),
    (["--top-p", "1.5"], "top_p must be above 0 and at most 1, got 1.5"),
    (["--top-p", "nan"], "top_p must be above 0 and at most 1, got nan"),
    (["--top-k", "0"], "top_k must be at least 1, got 0"),
    (["--max-new-tokens", "-1"], "max_new_tokens must be an integer of at least 0, got -1"),
    (["--max-new-tokens", "1.5"], "argument --max-new-tokens: invalid int value: '1.5'"),
    (["--seed", "-1"], r"seed must be between 0 and 2\*\*64 - 1, got -1"),
    (["--seed", str(2**64)], r"seed must be between 0 and 2\*\*64 - 1, got 18446744073709551616"),
    (["--drafter", "eagle9"], "drafter must be one of none, eagle2, .*, got 'eagle9'"),
    (["--device", "abacus"], r"device must be one that is available here \(cpu.*\), got 'abacus'"),
    (["--device", "meta"], r"device must be one that is available here \(cpu.*\), got 'meta'"),
    (["--temp", "1"], "unrecognized arguments: --temp 1"),
    (["another"], "unrecognized arguments: another"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS, ids=lambda value: "".join(value)[:40])
def test_a_bad_option_is_named_with_what_is_allowed(options, message, small, capsys):
    status, out, err = outcome(capsys, "generate", "abc", "--model", small, *options)
    assert (status, out) == (2, "")
    assert re.fullmatch(f"error: {message}\n", err)


BAD_LINES = [
    (["generate", ""], "prompt must be at least 1 character long, got ''"),
    (["generate"], "the following arguments are required: PROMPT"),
    (["generate", "a", "--model", "giant"], r"no models 'giant': neither shipped \(.*tiny.*\) nor a folder"),
    (["fly"], r"argument COMMAND: invalid choice: 'fly' \(choose from .*generate.*\)"),
    (["--seed", "3"], "COMMAND must come first, one of demo, generate, .*, got '--seed'"),
    (["demo", "--seed", "-1"], r"seed must be between 0 and 2\*\*64 - 1, got -1"),
    (["demo", "--max-new-tokens", "1"], "max_new_tokens must be at least 2 in the demo, got 1"),
]


@pytest.mark.parametrize(("argv", "message"), BAD_LINES, ids=lambda value: "".join(value)[:40])
def test_a_bad_command_line_is_one_line_on_stderr(argv, message, capsys):
    status, out, err = outcome(capsys, *argv)
    assert (status, out) == (2, "")
    assert re.fullmatch(f"error: {message}\n", err)


def test_a_prompt_may_fill_the_context_and_not_more(small, capsys):
    longest = "a" * (CONFIG.context - 1)  # END comes before it
    full = result(capsys, longest, "--model", small)
    assert (full["tokens"], full["finish_reason"], full["tau"]) == ([], "context", None)
    status, out, err = outcome(capsys, "generate", longest + "a", "--model", small)
    assert (status, out) == (2, "")
    assert err == f"error: prompt length must be 1 to {CONFIG.context} tokens, got {CONFIG.context + 1}\n"


def cut_short(folder: Path) -> None:
    weights = (folder / "target.pt").read_bytes()
    (folder / "target.pt").write_bytes(weights[: len(weights) // 2])


def another_shape(folder: Path) -> None:
    card = json.loads((folder / "target.json").read_text())
    card["config"]["hidden"] += 1
    (folder / "target.json").write_text(json.dumps(card))


def another_target(folder: Path) -> None:
    card = json.loads((folder / "eagle.json").read_text())
    (folder / "eagle.json").write_text(json.dumps({**card, "target_sha256": "0" * 64}))


SPOILED = {
    "weights missing": (lambda folder: (folder / "target.pt").unlink(), "target"),
    "weights cut short": (cut_short, "target.pt"),
    "a byte changed": (lambda f: (f / "eagle.pt").write_bytes((f / "eagle.pt").read_bytes()[:-1] + b"?"), "eagle.pt"),
    "another shape": (another_shape, "target.pt"),
    "card missing": (lambda folder: (folder / "target.json").unlink(), "target"),
    "card no JSON": (lambda folder: (folder / "target.json").write_text("{"), "target.json"),
    "head of another target": (another_target, "eagle"),
    "head missing": (lambda folder: (folder / "eagle.json").unlink(), "eagle"),
    "ranks missing": (lambda folder: (folder / "tokenizer.ranks").unlink(), "tokenizer.ranks"),
    "ranks spoiled": (lambda folder: (folder / "tokenizer.ranks").write_text("no ranks"), "tokenizer.ranks"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_spoiled_models_are_named_on_one_line(case, small, tmp_path, capsys):
    spoil, named = SPOILED[case]
    folder = tmp_path / "models"
    shutil.copytree(small, folder)
    spoil(folder)
    status, out, err = outcome(capsys, "generate", "abc", "--model", folder)
    assert (status, out) == (2, "")
    assert re.fullmatch(r"error: [^\n]+\n", err)
    assert named in err


STRANGE = ["<|end|>", "a\0b", "👋🏽 é", "lone \udc80 and \ud800", "\x1b[31m", " ", "\n", "-5 + 3"]


@pytest.mark.parametrize("prompt", STRANGE)
def test_strange_prompts_work(prompt, small, capsys):
    options = ["--model", small, "--max-new-tokens", 3, "--", prompt]
    status, out, err = outcome(capsys, "generate", *options)
    assert (status, err) == (0, "")
    assert not set(out) & {"\0", "\x1b"}  # nothing that a terminal would obey


# --- generate ---


def test_json_has_the_promised_keys_and_they_agree(small, capsys):
    got = result(capsys, "abc", "--model", small, "--temperature", 1, "--max-new-tokens", 20)
    assert {"tokens", "text", "finish_reason", "tau", "target_calls"} <= set(got)
    assert got["text"] == BYTES.decode(got["tokens"])
    assert got["finish_reason"] == "length" and len(got["tokens"]) == 20 or got["tokens"][-1] == BYTES.end_id
    assert got["target_calls"] == len(got["accepted"])
    assert math.isclose(got["tau"], (len(got["tokens"]) - 1) / (got["target_calls"] - 1))


def test_json_is_one_line_in_place_of_the_text(small, capsys):
    status, out, err = outcome(capsys, "generate", "--json", "abc", "--model", small, "--max-new-tokens", 8)
    assert (status, err, out.count("\n")) == (0, "", 1)
    assert json.loads(out)["prompt"] == "abc"


def test_the_seed_decides_the_text(small, capsys):
    options = ["abc", "--model", small, "--temperature", 1, "--max-new-tokens", 30]
    texts = [result(capsys, *options, "--seed", seed)["tokens"] for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("drafter", ["eagle1", "eagle2", "ratio", "chain"])
def test_every_drafter_gives_the_plain_text_of_the_small_models(drafter, small, capsys):
    options = ["abc", "--model", small, "--temperature", 1, "--top-k", 50, "--top-p", 0.9, "--seed", 3]
    plain = result(capsys, *options, "--drafter", "none")
    fast = result(capsys, *options, "--drafter", drafter)
    assert (fast["tokens"], fast["finish_reason"]) == (plain["tokens"], plain["finish_reason"])
    assert set(plain["accepted"]) == {0}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_shipped_models_give_the_plain_text_with_eagle2(temperature, capsys):
    prompt, options = "def read_config(path):", {"max_new_tokens": 48, "temperature": temperature, "seed": 1}
    flags = [prompt, "--max-new-tokens", 48, "--temperature", temperature, "--seed", 1]
    texts = tuple(result(capsys, *flags, "--drafter", name)["tokens"] for name in ("none", "eagle2"))
    models = eagle_min.load("tiny")
    options["stop"] = {models.tokenizer.end_id}
    found = explain(models, "eagle2", models.tokenizer.prompt(prompt), options, texts)
    assert found is None or found.rounding and found.gap < 1e-3, found


def test_trees_are_drawn_on_demand(small, capsys):
    options = ["generate", "abc", "--model", small, "--max-new-tokens", 6]
    _, without, _ = outcome(capsys, *options)
    status, out, err = outcome(capsys, *options, "--tree")
    assert (status, err) == (0, "")
    assert "├─" in out and "root" in out and "├─" not in without
    calls = result(capsys, *options[1:])["target_calls"]
    assert len(re.findall(r"^call \d+:", out, re.MULTILINE)) == calls


# --- the demo ---


def test_the_demo_compares_and_ends_with_a_verdict(small, capsys):
    status, out, err = outcome(capsys, "demo", "--model", small, "--max-new-tokens", 4)
    assert (status, err) == (0, "")
    num_texts = 3 * demo.PROMPTS_PER_DOMAIN * len(demo.TEMPERATURES)
    assert out.count("=> identical to plain decoding") == num_texts
    assert f"Identical: all {num_texts} texts" in out.splitlines()[-1]
    for word in ("tau", "target calls", "seconds", "ratio", "├─"):
        assert word in out


def test_the_demo_says_where_a_fault_shows(small, capsys, monkeypatch):
    def wrong(tree, law_at, dice, position, cycle):
        """The bonus token of cycle 1 is off by one."""
        path, bonus = verify(tree, law_at, dice, position, cycle)
        return Verification(path, (bonus + 1) % 256 if cycle == 1 else bonus)

    monkeypatch.setattr(eagle_min.decode, "verify", wrong)
    status, out, err = outcome(capsys, "demo", "--model", small, "--max-new-tokens", 12)
    assert (status, err) == (1, "")
    assert out.splitlines()[-1].startswith("NOT identical")
    assert re.search(r"token \d+: plain .+, eagle2 .+ in float64 the two texts differ too: A FAULT", out)


def test_without_arguments_the_demo_runs(monkeypatch):
    monkeypatch.setattr(demo, "run", lambda args: 40 + (args.model == "tiny"))
    assert main([]) == 41


def test_prompts_are_many_and_distinct_and_short_enough():
    prompts, tokenizer = shipped_prompts(), eagle_min.load("tiny").tokenizer
    assert list(prompts) == ["code", "prose", "sums"]
    for domain, texts in prompts.items():
        assert len(set(texts)) == len(texts) >= 50, domain
        assert all(1 < len(tokenizer.prompt(text)) < 128 for text in texts), domain


@given(st.lists(st.integers(0, 2), max_size=4), st.lists(st.integers(0, 2), max_size=4))
def test_the_first_difference_is_where_the_common_part_ends(a, b):
    place = first_difference(a, b)
    if a == b:
        assert place is None
    else:
        assert a[:place] == b[:place] and a[place : place + 1] != b[place : place + 1]


@given(st.integers(0, 2**64 - 1), st.integers(0, 600))
def test_the_drawn_number_is_the_one_behind_the_draw(seed, position):
    cells = np.ones(2**12)
    cell = SeededDice(seed).categorical(cells, target_draw(position))
    assert int(uniform(seed, target_draw(position)) * len(cells)) == cell


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6), st.integers(0, 1000))
def test_the_gap_is_the_distance_to_the_other_choice(logits, seed):
    row = np.array(logits)
    second, first = sorted(logits)[-2:]
    assert gap_of(row, SamplingConfig(0.0), seed, 9) == first - second
    weights = np.exp(row)
    edges = [sum(weights[:cut]) / sum(weights) for cut in range(1, len(row))]
    number = uniform(seed, target_draw(9))
    nearest = min(abs(edge - number) for edge in edges)
    assert math.isclose(gap_of(row, SamplingConfig(1.0), seed, 9), nearest, abs_tol=1e-12)


def test_a_difference_that_float64_does_not_know_is_a_rounding(small):
    models, options = eagle_min.load(str(small)), {"max_new_tokens": 6, "temperature": 0.0, "seed": 0, "stop": ()}
    prompt_ids = BYTES.prompt("abc")
    text = eagle_min.generate(models.target, prompt_ids, **options).tokens
    other = [*text[:4], text[4] ^ 1, text[5]]  # as if float32 had chosen otherwise
    found = explain(models, "eagle2", prompt_ids, options, (text, other))
    assert (found.place, found.plain, found.speculative, found.rounding) == (4, text[4], other[4], True)
    assert found.gap > 0
    shorter = explain(models, "eagle2", prompt_ids, options, (text, text[:5]))
    assert (shorter.place, shorter.plain, shorter.speculative) == (5, text[5], None)


# --- as a process: pipes, signals, colour ---


def start(*argv: str, **environ: str) -> subprocess.Popen:
    """`python -m eagle_min ...` in a process of its own."""
    command = [sys.executable, "-m", "eagle_min", *argv]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environ}, **pipes)


@pytest.mark.ci
def test_a_closed_pipe_ends_quietly():
    process = start("generate", "def f(x):", "--max-new-tokens", "400")
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 141


def test_ctrl_c_ends_with_one_line():
    process = start("generate", "def f(x):", "--max-new-tokens", "400", "--drafter", "none")
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err.strip()) == (130, "interrupted")


@pytest.mark.ci
def test_a_stream_that_knows_no_signs_still_gets_the_text():
    process = start("generate", "é👋", "--max-new-tokens", "4", PYTHONIOENCODING="ascii")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out.isascii() and "tau" in out


def test_bad_input_of_a_process_is_one_line_too():
    process = start("generate", "abc", "--drafter", "eagle9")
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert re.fullmatch(r"error: drafter must be one of [^\n]+, got 'eagle9'\n", err)


# --- the table of commands ---


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as leaving:
        main([name, "--help"])
    out = capsys.readouterr().out
    assert leaving.value.code == 0
    assert out.startswith(f"usage: python -m eagle_min {name}")


def test_a_command_imports_only_its_own_module():
    code = "import sys; from eagle_min.__main__ import build_parser as b; b('demo'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = set(loaded.stdout.split())
    assert "eagle_min.show.demo" in modules
    assert not {name for name in modules if name.startswith(("eagle_min.lab", "eagle_min.train"))}
