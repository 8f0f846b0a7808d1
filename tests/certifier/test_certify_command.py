"""The command `certify`: whose function it calls and what it leaves behind, its options, and what its report shows."""

import random
import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest
import samplers

from eagle_min.__main__ import main
from eagle_min.config import SamplingConfig
from eagle_min.exactness import certify
from eagle_min.exactness.judge.command import load_function
from eagle_min.exactness.judge.report import MOST_LAWS, report
from eagle_min.exactness.judge.verdict import Counterexample, Verdict
from eagle_min.exactness.worlds.decodings import SAMPLINGS, Decoding, in_words
from eagle_min.exactness.worlds.tables import Table, World, batch

FILE = Path(samplers.__file__)


@pytest.mark.parametrize(
    ("name", "kind", "status"), [("match", "tree", 0), ("one_coin", "chain", 1), ("races", "chain", 3)]
)
def test_the_command_reports_and_its_status_is_the_verdict(name, kind, status, capsys):
    assert main(["certify", f"{FILE}:{name}", "--kind", kind, "--worlds", "6"]) == status
    out = capsys.readouterr().out
    assert out.startswith(("exact within 1e-6", "REFUTED", "bad input", "undecided")[status])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.py:f", "--kind", "chain"], "no file 'nowhere.py'"),
        (["f", "--kind", "chain"], "function must be FILE.py:FUNCTION, got 'f'"),
        ([f"{FILE}:fly", "--kind", "chain"], "function must be one of .*chain_numpy.*, got 'fly'"),
        ([f"{FILE}:match", "--kind", "forest"], "kind must be one of chain, tree, .*, got 'forest'"),
        ([f"{FILE}:match", "--kind", "tree", "--worlds", "0"], "worlds must be an integer of at least 1, got 0"),
        ([f"{FILE}:match", "--kind", "tree", "--max-seconds", "0"], "max_seconds must be above 0, got 0.0"),
    ],
)
def test_a_bad_command_line_is_one_line(words, message, capsys):
    assert main(["certify", *words]) == 2
    assert re.fullmatch(f"error: {message}\n", capsys.readouterr().err)


# --- someone's file ---

SAMPLER = """
import random
from dataclasses import dataclass

import its_neighbour

@dataclass
class Settings:
    count: int = 0

def match(draft_tokens, draft_probs, target_probs):
    import its_late_neighbour, wsgiref
    assert its_neighbour.ONE == its_late_neighbour.ONE == 1 and hasattr(wsgiref, "__path__")
    return [random.choices(range(target_probs.shape[1]), weights=target_probs[0])[0]]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with neighbours, none of which is known yet; one has the name of a module that nobody has imported."""
    for name in ("its_neighbour", "its_late_neighbour", "wsgiref"):
        (tmp_path / f"{name}.py").write_text("ONE = 1")
    monkeypatch.setattr(sys, "modules", {k: v for k, v in sys.modules.items() if k.partition(".")[0] != "wsgiref"})
    return tmp_path


@pytest.mark.parametrize("name", ["copy", "random", "numpy", "wsgiref", "sampler"])
@pytest.mark.parametrize("sample", [[], ["--sample", "5"]])
def test_a_file_may_import_its_neighbours_and_replaces_no_module(name, sample, folder, capsys):
    path, modules = list(sys.path), dict(sys.modules)
    (folder / f"{name}.py").write_text(SAMPLER)
    status = main(["certify", f"{folder / name}.py:match", "--kind", "chain", "--worlds", "3", *sample])
    assert status == (3 if sample else 0), capsys.readouterr()
    assert sys.path == path and {key: sys.modules[key] for key in modules} == modules
    assert str(folder) not in str(sys.modules["wsgiref"]) and sys.modules["random"] is random
    assert not [key for key in set(sys.modules) - set(modules) if key == name != "wsgiref"]


def test_a_file_that_cannot_be_imported_leaves_nothing_behind(tmp_path):
    path = list(sys.path)
    (tmp_path / "broken.py").write_text("import its_missing_neighbour")
    with pytest.raises(ValueError, match="broken.py cannot be imported: ModuleNotFoundError: .*its_missing_neighbour"):
        load_function(f"{tmp_path / 'broken.py'}:f")
    assert sys.path == path


# --- the report ---

P, Q, R = (tuple(Fraction(w, 10) for w in ws) for ws in ((5, 3, 2), (2, 5, 3), (1, 8, 1)))
WORLD = World(Table((P, R)), Table((Q,)), (-1, 0), (0, 0))


def shown(world: World | Decoding, *texts: tuple) -> list[str]:
    """Behind what the report of a refutation shows laws, when the probability of `texts` is wrong."""
    got = dict.fromkeys(texts, Fraction(1, len(texts)))
    text = report(Verdict("chain", True, status="refuted", counterexample=Counterexample(world, got, {})))
    return re.findall(r"^behind (.*?) +p =", text, re.MULTILINE)


def test_laws_are_shown_behind_what_comes_before_a_wrong_token():
    assert shown(WORLD, (0, 1, 2), (0, 2, 2)) == ["nothing", "0", "0 1", "0 2"]
    assert shown(Decoding(WORLD, (1, 2), 2, frozenset(), SAMPLINGS[0], False), (0, 1)) == ["1 2", "1 2 0"]
    in_a_batch = batch(WORLD.target, WORLD.draft, (1, 0))
    assert shown(in_a_batch, ((0, 1), (1, 1)), ((2, 1), (1, 1))) == ["0", "1", "0 0", "0 2", "1 1"]


def test_laws_that_are_shown_are_a_handful():
    texts = [(a, b, c) for a in range(2) for b in range(2) for c in range(2)]
    assert len(shown(WORLD, *texts)) == MOST_LAWS == 6 and shown(WORLD, *texts)[:3] == ["nothing", "0", "1"]


@pytest.mark.ci
def test_a_refutation_of_a_batch_shows_both_texts():
    verdict = certify(samplers.batch_with_one_coin, "batch")
    assert re.search(r"^\d \d \| \d \d? +\S+ +\S+$", report(verdict), re.MULTILINE)


def test_a_breach_shows_the_laws_of_a_first_cycle():
    verdict = certify(lambda draft_tokens, draft_probs, target_probs: [7], "chain")
    assert re.findall(r"^behind (.*?) +p =", report(verdict), re.MULTILINE) == ["nothing", "0", "1"]


def test_the_report_names_the_samplings_that_were_tried():
    verdict = certify(samplers.decoder, "loop")
    assert verdict.status == "exact" and set(verdict.samplings) == {in_words(sampling) for sampling in SAMPLINGS}
    [line] = re.findall("^samplings tried: (.*)$", report(verdict), re.MULTILINE)
    assert re.sub(r" \d+ %", "", line).split(", ") == sorted(verdict.samplings)
    assert in_words(SamplingConfig(0.5, top_k=2, top_p=0.65)) == "temperature 0.5 top_k 2 top_p 0.65"
    assert "samplings" not in report(certify(samplers.match, "tree", num_worlds=3))
