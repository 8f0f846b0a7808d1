"""What is measured: tau, alphas, intervals, calibration, prefixes, clocks."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import random_drafter, random_target

from eagle_min.config import ModelConfig
from eagle_min.decode import Cycle, Generation, generate, tau
from eagle_min.lab.experiments import compare
from eagle_min.lab.instruments import costs, measures, prefixes, timing
from eagle_min.lab.instruments.calibration import calibration
from eagle_min.model import GPT
from eagle_min.tokenizer import Tokenizer
from eagle_min.tree import DraftTree

BYTES = Tokenizer([bytes([byte]) for byte in range(256)])


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
    uneven = measures.bootstrap([start("a", 1, 1, 1), start("b", 9)], seed=0, level=0.0)
    assert uneven == (3, 3)  # 12 tokens over 4 calls: a ratio of totals, not the mean of 1 and 9


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


def test_a_stop_token_ends_a_text_that_is_timed() -> None:
    whole = timing.in_turn(random_target(), {"plain": None}, [[1]], 9, 1.0, seed=7)["plain"][0].text.tokens
    cut = timing.in_turn(random_target(), {"plain": None}, [[1]], 9, 1.0, seed=7, stop={whole[3]})["plain"][0].text
    assert cut.tokens == whole[: whole.index(whole[3]) + 1] and cut.finish_reason == "stop"


def test_the_first_round_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, steps = [0.0], iter([100.0, 1.0, 3.0, 2.0])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    assert timing.medians({"call": lambda: now.__setitem__(0, now[0] + next(steps))}, 3) == {"call": 2.0}


def test_each_reading_of_a_tree_starts_behind_the_same_tokens() -> None:
    shape = ModelConfig(vocab_size=16, width=8, num_layers=1, num_heads=1, hidden=8, context=costs.CACHED + 8)
    session = costs.full_session(GPT(shape), 8)
    read = costs.reader(session, 5)
    lengths = [(read(), session.length)[1] for _ in range(3)]
    assert lengths == [costs.CACHED] * 3


def test_tau_of_free_running_text_leaves_out_the_prefill() -> None:
    cycles = [Cycle((0,), 0, None, (), None), chain_cycle(3, 3), chain_cycle(3, 1)]
    runs = [timing.Timed(Generation([0] * 7, "length", cycles), 1.0)]
    assert compare.text_figures(runs, runs)["tau_free"] == 3.0


def test_seconds_per_token_and_the_spread_of_the_ratio() -> None:
    def runs(*pairs: tuple[int, float]) -> list[timing.Timed]:
        return [timing.Timed(Generation([1] * count, "length", []), seconds) for count, seconds in pairs]

    plain, fast = runs((10, 10.0), (10, 10.0), (1, 4.0)), runs((10, 5.0), (20, 5.0), (1, 4.0))
    assert timing.seconds_per_token(plain) == 24 / 21
    spread = {"ratio_low": 1.5, "ratio_high": 3.0}  # of 2, 4 and 1
    assert timing.ratio_figures(plain, fast) == {"ratio": (24 / 21) / (14 / 31), **spread}
