"""The figures against their definitions on hand-made cycles; stored rows; the README's tables."""

import argparse
import json
import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import random_drafter, random_target

import eagle_min
from eagle_min.checkpoint import EAGLE_DRAFTERS, SHIPPED, save_model
from eagle_min.config import ModelConfig
from eagle_min.decode import Cycle, Generation, generate, tau
from eagle_min.head import EagleHead
from eagle_min.lab import bench, compare, measures, prefixes, readme, record, timing
from eagle_min.lab.calibration import calibration
from eagle_min.model import GPT
from eagle_min.tokenizer import Tokenizer, save_vocabulary
from eagle_min.train.corpus import Corpus, load_held_out
from eagle_min.tree import DraftTree

BYTES = Tokenizer([bytes([byte]) for byte in range(256)])
ISSUED = {  # what a row of `compare` has to tell
    *("drafter", "domain", "temperature", "tau", "tau_low", "tau_high", "tau_free", "alphas", "distinct"),
    *("seconds_plain", "seconds_speculative", "ratio", "ratio_low", "ratio_high", "bits_per_byte", "num_prefixes"),
    *("nodes", "command", "seed", "commit", "machine", "versions", "date", "corpus_sha256", "target_sha256"),
}


def chain_cycle(num_drafted: int, num_accepted: int, confidence: float = 0.5) -> Cycle:
    """A chain of so many drafted tokens of which so many were accepted."""
    logs = tuple(place * math.log(confidence) for place in range(num_drafted + 1))
    tree = DraftTree(tuple(range(num_drafted + 1)), tuple(range(-1, num_drafted)), logs)
    return Cycle(tuple(range(num_accepted + 1)), num_accepted, tree, tuple(range(num_accepted + 1)), None)


def start(file: str, *num_tokens: int) -> measures.Start:
    return measures.Start(file, [Cycle((0,) * count, count - 1, None, (), None) for count in num_tokens])


# ---- tau, n-alpha, intervals, calibration ----


def test_tau_is_total_tokens_over_total_calls() -> None:
    assert tau([chain_cycle(5, 5), chain_cycle(5, 0), chain_cycle(5, 1)]) == 9 / 3
    assert tau([]) is None


def test_alphas_count_only_positions_that_were_tried() -> None:
    cycles = [chain_cycle(3, 3), chain_cycle(3, 1), chain_cycle(3, 0), chain_cycle(1, 1)]
    assert measures.alphas(cycles) == [3 / 4, 1 / 2, 1 / 1]  # the chain of one was not tried at position 1


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_tau_of_equal_chains_is_one_plus_the_products_of_their_alphas(accepted: list[int]) -> None:
    cycles = [chain_cycle(4, count) for count in accepted]
    products = np.cumprod(measures.alphas(cycles))
    assert tau(cycles) == pytest.approx(1 + products.sum())


def test_alphas_of_branching_trees_and_of_plain_decoding_do_not_exist() -> None:
    fork = DraftTree((0, 1, 2), (-1, 0, 0), (0.0, -1.0, -2.0))
    assert measures.alphas([chain_cycle(2, 1), Cycle((1, 4), 1, fork, (0, 1), None)]) is None
    assert measures.alphas([Cycle((1,), 0, None, (), None)]) is None


def test_the_interval_resamples_files() -> None:
    low, high = measures.bootstrap([start("a", 2), start("b", 4)], seed=0)
    assert (low, high) == (2, 4)  # both files, or one of them twice: 2, 3 or 4
    one_file = [start("a", 1), start("a", 9), start("a", 2)]
    assert measures.bootstrap(one_file, seed=0) == (4, 4)  # one file has nothing to resample
    level = measures.bootstrap([start("a", 2), start("b", 4)], seed=0, level=0.0)
    assert level == (3, 3)  # the median


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), min_size=1, max_size=20), st.integers(0, 9))
def test_the_interval_lies_between_the_files(counts: list[tuple[str, int]], seed: int) -> None:
    starts = [start(file, count) for file, count in counts]
    files = {file: [count for name, count in counts if name == file] for file, _ in counts}
    means = [sum(values) / len(values) for values in files.values()]
    low, high = measures.bootstrap(starts, seed)
    assert min(means) - 1e-12 <= low <= high <= max(means) + 1e-12
    assert (low, high) == measures.bootstrap(starts, seed)


def test_distinct_and_nodes() -> None:
    texts = [Generation([7, 7, 7, 7], "length", []), Generation([1, 2], "length", []), Generation([], "length", [])]
    assert measures.distinct(texts) == (1 / 4 + 1) / 2
    assert measures.mean_nodes([chain_cycle(3, 0), Cycle((1,), 0, None, (), None)]) == (4 + 1) / 2


def test_calibration_counts_nodes_below_accepted_ones() -> None:
    tree = DraftTree((0, 1, 2, 3, 4), (-1, 0, 0, 1, 2), tuple(map(math.log, (1, 0.62, 0.31, 0.62 * 0.95, 0.31 * 0.5))))
    bins = calibration([Cycle((1, 9), 1, tree, (0, 1), None)])  # node 4 hangs below a refused one
    assert [part.num_tried for part in bins] == [0, 0, 0, 1, 0, 0, 1, 0, 0, 1]
    assert [part.acceptance for part in bins if part.num_tried] == [0, 1, 0]
    assert bins[9].mean_probability == pytest.approx(0.95)
    assert bins[0] == (0.0, 0.1, 0, None, None)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4), st.floats(0.05, 1)), max_size=10))
def test_calibration_loses_no_tried_node(chains: list[tuple[int, int, float]]) -> None:
    cycles = [chain_cycle(length, min(length, right), p) for length, right, p in chains]
    bins = calibration([*cycles, Cycle((1,), 0, None, (), None)])
    accepted = sum(min(length, right) for length, right, _ in chains)
    assert sum(part.num_tried for part in bins) == accepted + sum(right < length for length, right, _ in chains)
    assert sum(part.num_tried * (part.acceptance or 0) for part in bins) == pytest.approx(accepted)
    for part in bins:
        assert part.num_tried == 0 or part.low - 1e-9 <= part.mean_probability <= part.high + 1e-9


# ---- prefixes, cycles, turns ----


@given(st.lists(st.integers(20, 90), min_size=1, max_size=5), st.integers(0, 50), st.integers(32, 80))
def test_a_prefix_is_a_stretch_of_its_file(sizes: list[int], seed: int, longest: int) -> None:
    documents = [(f"file {i}", "".join(chr(32 + (i + j) % 90) for j in range(size))) for i, size in enumerate(sizes)]
    if max(sizes) + 1 < prefixes.SHORTEST:
        with pytest.raises(ValueError, match="files of 32 tokens or more must be at least 1"):
            prefixes.held_out_prefixes("code", documents, BYTES, 5, seed, longest)
        return
    found = prefixes.held_out_prefixes("code", documents, BYTES, 40, seed, longest)
    assert len(found) == 40 and found == prefixes.held_out_prefixes("code", documents, BYTES, 40, seed, longest)
    texts = {name: [256, *text.encode()] for name, text in documents}
    for file, ids in found:
        whole = texts[file]
        assert prefixes.SHORTEST <= len(ids) <= min(longest, len(whole))
        assert any(whole[i : i + len(ids)] == ids for i in range(len(whole)))


def test_every_file_is_as_likely_as_a_longer_one() -> None:
    documents = [("short", "x" * 40), ("long", "".join(map(str, range(1000, 2000))))]
    cuts = prefixes.held_out_prefixes("code", documents, BYTES, 600, seed=1)
    assert abs(Counter(cut.file for cut in cuts)["short"] - 300) < 60  # five standard deviations
    assert len({tuple(cut.ids[:8]) for cut in cuts if cut.file == "long"}) > 200  # not all from its beginning


def test_sheets_use_each_line_once_in_an_order_of_their_own() -> None:
    lines = [(f"sums/{i}", f"{i} + 1 = {i + 1}") for i in range(40)]
    pages = prefixes.sheets(lines, np.random.default_rng(0))
    assert sorted("\n".join(text for _, text in pages).split("\n")) == sorted(text for _, text in lines)
    assert [text.count("\n") + 1 for _, text in pages] == [12, 12, 12, 4]
    assert pages != prefixes.sheets(lines, np.random.default_rng(1))


def test_first_cycles_are_those_of_a_whole_text() -> None:
    cuts = [prefixes.Prefix("a", [1, 2, 3]), prefixes.Prefix("b", [5, 0])]
    starts = measures.first_cycles(random_target(), random_drafter(), cuts, 1.0, seed=4)
    for place, (cut, got) in enumerate(zip(cuts, starts, strict=True)):
        whole = generate(random_target(), cut.ids, random_drafter(), max_new_tokens=30, temperature=1.0, seed=4 + place)
        assert got.file == cut.file
        assert [cycle.tokens for cycle in got.cycles] == [cycle.tokens for cycle in whole.cycles[1:3]]


def test_decoders_take_turns_and_decode_the_same_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def recorded(target, prompt, drafter=None, **options):
        calls.append((drafter is None, options["max_new_tokens"], options.get("seed")))
        return generate(target, prompt, drafter, **options)

    monkeypatch.setattr(timing, "generate", recorded)
    everyone = {"plain": None, "drafted": random_drafter()}
    runs = timing.in_turn(random_target(), everyone, [[1], [2, 3], [4]], 5, 1.0, seed=7)
    assert [plain for plain, *_ in calls] == [True, False, True, False, False, True, True, False]
    assert calls[2:] == [(plain, 5, seed) for plain, seed in [(1, 7), (0, 7), (0, 8), (1, 8), (1, 9), (0, 9)]]
    assert [a.text.tokens for a in runs["plain"]] == [b.text.tokens for b in runs["drafted"]]
    with pytest.raises(ValueError, match="max_new_tokens must be at least 1"):
        timing.in_turn(random_target(), everyone, [[1]], 0, 0.0, seed=0)


def test_seconds_per_token_and_the_spread_of_the_ratio() -> None:
    def runs(*pairs: tuple[int, float]) -> list[timing.Timed]:
        return [timing.Timed(Generation([1] * count, "length", []), seconds) for count, seconds in pairs]

    plain, fast = runs((10, 10.0), (10, 10.0), (1, 4.0)), runs((10, 5.0), (20, 5.0), (1, 4.0))
    assert timing.seconds_per_token(plain) == 24 / 21
    assert timing.quartiles(plain, fast) == (1.5, 3.0)  # ratios 1, 2, 4


# ---- the commands, on a small random set of models ----


@pytest.fixture(scope="module")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random target and two random heads, and a vocabulary of bytes."""
    folder = tmp_path_factory.mktemp("set")
    shape = ModelConfig(vocab_size=257, width=8, num_layers=1, num_heads=2, hidden=8, context=512)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        digest = save_model(GPT(shape), folder, "target", {"tokenizer_sha256": BYTES.sha256})
        for name in ("eagle", "other"):
            save_model(EagleHead(shape), folder, name, {"target_sha256": digest})
    save_vocabulary(BYTES.vocabulary, folder / "tokenizer.ranks")
    return folder


@pytest.fixture
def small_text(monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Two held-out documents a domain instead of the installed packages."""
    texts = {domain: [(f"{domain}/{i}", f"{domain} {i} " * 20) for i in range(2)] for domain in ("code", "prose")}
    corpus = Corpus({}, {**texts, "sums": [(f"sums/{a}", f"{a} + 9 = {a + 9}") for a in range(30)]})
    for module in (compare, bench):
        monkeypatch.setattr(module, "load_held_out", lambda: corpus)
    return corpus


def options(command, *words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args([str(word) for word in words])


def test_compare_stores_a_row_for_each_drafter_domain_and_temperature(
    small_set: Path, small_text: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "new folder" / "compare.json"
    monkeypatch.setattr(timing, "WARM_UP_TOKENS", 2)
    words = ("--drafters", "chain,eagle2@other", "--domains", "code,sums", "--temperatures", "0,1", "--quick")
    words += ("--prefixes", 4, "--max-new-tokens", 6)  # what is given goes before what a trial run has
    assert compare.run(options(compare, "--model", small_set, *words, "--json", path)) == 0
    rows = json.loads(path.read_text())
    places = [(row["domain"], row["temperature"], row["drafter"]) for row in rows]
    assert places == [(d, t, n) for d in ("code", "sums") for t in (0, 1) for n in ("chain", "eagle2@other")]
    for row in rows:
        assert ISSUED <= set(row)
        assert row["tau_low"] <= row["tau"] <= row["tau_high"] and row["tau"] >= 1
        assert (row["alphas"] is None) == (row["drafter"] != "chain")
        assert row["ratio"] == pytest.approx(row["seconds_plain"] / row["seconds_speculative"])
        assert row["num_prefixes"] == 4 and row["num_identical"] == row["num_prompts"] == 2
        assert row["corpus_sha256"] == small_text.fingerprint()
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(rows)


def test_bench_stores_every_figure_it_was_asked_for(
    small_set: Path, small_text: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)  # as if it were not installed
    monkeypatch.setattr(bench.costs, "GENERATED", 4)
    monkeypatch.setattr(timing, "WARM_UP_TOKENS", 2)
    words = ("--rounds", 1, "--prefixes", 3, "--json", tmp_path / "bench.json")
    assert bench.run(options(bench, "--model", small_set, *words)) == 0
    rows = json.loads((tmp_path / "bench.json").read_text())
    wanted = set(bench.FIGURES) - {"transformers"}
    assert {row["figure"] for row in rows} == wanted
    assert "skipped: transformers is not installed" in capsys.readouterr().err
    values = {(row["figure"], row["setting"]): row["value"] for row in rows}
    head, target = values["parameters", "head"], values["parameters", "target"]
    assert values["parameters", "head / target"] == pytest.approx(head / target)
    assert values["calls", "1 nodes / 1 node"] == 1
    bins = [row for row in rows if row["figure"] == "calibration"]
    assert len(bins) == 20 and all((row["value"] is None) == (row["num_tried"] == 0) for row in bins)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--drafters", "eagle9"], f"drafter must be one of none, {', '.join(EAGLE_DRAFTERS)}, got 'eagle9'"),
        (["--drafters", ""], f"drafter must be one of none, {', '.join(EAGLE_DRAFTERS)}, got ''"),
        (["--domains", "code,verse"], "domain must be one of code, prose, sums, got 'verse'"),
        (["--temperatures", "0,-1"], "temperature must be finite and at least 0, got -1.0"),
        (["--temperatures", "nan"], "temperature must be finite and at least 0, got nan"),
        (["--temperatures", "warm"], "temperature must be finite and at least 0, got 'warm'"),
        (["--prefixes", "0"], "prefixes must be at least 1, got 0"),
        (["--prompts", "-1"], "prompts must be at least 1, got -1"),
        (["--max-new-tokens", "0"], "max_new_tokens must be at least 1, got 0"),
        (["--seed", "-1"], "seed must be at least 0, got -1"),
        (["--json", "/dev/null/x.json"], "--json must be a file in a folder that can be written to"),
        (["--json", "/"], "--json must be a file in a folder that can be written to, got '/'"),
        (["--head", "none-such"], "no model 'none-such'"),
        (["--model", "none-such"], "no models 'none-such'"),
    ],
)
def test_compare_refuses_a_bad_option_in_one_line(small_set: Path, words: list[str], message: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        compare.run(options(compare, "--model", small_set, *words))
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--figures", "speed"], "figure must be one of parameters, step, "),
        (["--rounds", "0"], "rounds must be at least 1, got 0"),
        (["--prefixes", "0"], "prefixes must be at least 1, got 0"),
        (["--seed", "-1"], "seed must be at least 0, got -1"),
    ],
)
def test_bench_refuses_a_bad_option_in_one_line(small_set: Path, words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bench.run(options(bench, "--model", small_set, *words))


# ---- stored rows and the README ----

ORIGIN = {"command": "python -m eagle_min x", "commit": "c" * 40, "machine": "a|b, 2 cores", "date": "2026-01-02T03:04"}


def bench_rows(value: float) -> list[dict]:
    return [{"figure": name, "setting": "s", "value": value, "unit": "ms", **ORIGIN} for name in ("step", "calls")]


def test_the_readme_says_what_is_stored_and_only_its_tables_change(tmp_path: Path) -> None:
    page, results = tmp_path / "README.md", tmp_path / "results"
    before = "# Top\n<!-- results:begin bench.step -->\nold\n<!-- results:end bench.step -->\nmiddle\n"
    page.write_text(before + "<!-- results:begin bench -->\n<!-- results:end bench -->\nend\n")
    record.write_rows(results / "bench.json", bench_rows(1.5))
    assert readme.stale(page, results) == ["bench.step", "bench"]
    assert readme.run(options(readme, "--readme", page, "--results", results)) == 0
    assert readme.stale(page, results) == []
    text = page.read_text()
    assert [text.count(word) for word in ("old", "| step | s | 1.500 | ms |", "| calls |")] == [0, 2, 1]
    assert text.startswith("# Top\n<!-- results:begin bench.step -->\n| figure |") and text.endswith("-->\nend\n")
    record.write_rows(results / "bench.json", bench_rows(1.6))
    assert readme.stale(page, results) == ["bench.step", "bench"]


def test_a_table_can_come_from_the_card_of_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = {"held_out_bits_per_byte": {"code": 1.1}, "rivals_on_held_out_code": {"lzma": 1.5}}
    save_model(GPT(ModelConfig(5, 4, 1, 1, 4, 8)), tmp_path, "target", {**card, "command": "python -m eagle_min y"})
    monkeypatch.setattr(readme, "CARD", tmp_path / "target.json")
    page = tmp_path / "README.md"
    page.write_text("<!-- results:begin target -->\n<!-- results:end target -->\n")
    assert readme.stale(page, tmp_path) == ["target"]
    readme.run(options(readme, "--readme", page, "--results", tmp_path))
    assert readme.stale(page, tmp_path) == []
    cells = [line.split(" | ")[1:3] for line in page.read_text().splitlines() if line.startswith("| held-out")]
    assert cells == [["code: target", "1.100"], ["code: lzma", "1.500"]]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- results:begin bench -->\n", "markers in the README must be begin NAME, end NAME"),
        ("<!-- results:begin bench -->\n<!-- results:end other -->\n", "markers in the README must be begin NAME"),
        ("no marker\n", "markers in README.md must be some for bench, got"),
        ("<!-- results:begin bench.x -->\n<!-- results:end bench.x -->\n", "rows for the table bench.x must be at"),
    ],
)
def test_a_readme_that_does_not_fit_is_left_alone(tmp_path: Path, page: str, message: str) -> None:
    path = tmp_path / "README.md"
    path.write_text(page)
    record.write_rows(tmp_path / "bench.json", bench_rows(1.0))
    with pytest.raises(ValueError) as caught:
        readme.update(path, tmp_path / "bench.json")
    assert message in str(caught.value) and path.read_text() == page


@pytest.mark.parametrize("content", ["", "{}", "[]", "[1]", "nonsense"])
def test_a_file_that_holds_no_rows_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(content)
    with pytest.raises(ValueError) as caught:
        record.read_rows(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="results must be a readable file"):
        record.read_rows(tmp_path / "missing.json")


def test_rows_are_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    record.write_rows(path, [{"value": 1.0}])
    with pytest.raises(ValueError):
        record.write_rows(path, [{"value": math.nan}])
    assert record.read_rows(path) == [{"value": 1.0}] and list(tmp_path.iterdir()) == [path]


def test_the_tables_pad_columns_and_escape_bars() -> None:
    columns = [("a", lambda row: row["a"]), ("number", record.number("n", 1))]
    rows = [{"a": "x|y", "n": 1.25}, {"a": "z", "n": None}]
    assert record.text_table(columns, rows) == "a    number\nx|y  1.2\nz"
    assert record.markdown_table(columns, rows) == "| a | number |\n| --- | --- |\n| x\\|y | 1.2 |\n| z |  |"


def test_the_readme_of_this_repository_equals_its_stored_results() -> None:
    if not readme.RESULTS.is_dir():
        pytest.skip("tinymodels/results is not there: nothing has been measured")
    assert readme.stale(SHIPPED.parent / "README.md") == []


def test_the_held_out_text_is_the_one_the_target_was_measured_on() -> None:
    card = json.loads((eagle_min.load("tiny").folder / "target.json").read_text())
    if card.get("versions") is None:
        pytest.skip("the card of the target names no versions")
    if card["versions"] != record.versions():
        pytest.skip("other versions of Python or the packages than the target was trained with")
    assert load_held_out().fingerprint() == card["corpus_sha256"]
