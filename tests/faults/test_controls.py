"""No right sampler is refuted: the script that says so in many worlds, here in few."""

import json
import re

import controls
import pytest
import samplers

from eagle_min.exactness.judge.kinds import KINDS


def test_all_right_samplers_are_among_them():
    found = {name: (kind, exact) for name, kind, _, exact in controls.right_ones()}
    assert {f"samplers.py: {name}" for _, name in samplers.RIGHT} < set(found)
    assert sum(exact for _, exact in found.values()) >= 15 and {kind for kind, _ in found.values()} == {
        *("chain", "tree", "tree-sampled", "tree-iid", "batch", "loop")
    }


def few(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    chosen = [right for right in controls.right_ones() if right[0] in names]
    monkeypatch.setattr(controls, "right_ones", lambda: iter(chosen))


def test_the_script_prints_and_stores_what_it_found(tmp_path, monkeypatch, capsys):
    few(monkeypatch, "samplers.py: chain_generator", "samplers.py: match")
    file = tmp_path / "controls.json"
    assert controls.main(["--worlds", "6", "--json", str(file)]) == 0
    rows = json.loads(file.read_text(encoding="utf-8"))
    assert [row["certified"] for row in rows] == ["samplers.py: chain_generator", "samplers.py: match"]
    counts = [6 + len(KINDS[kind].always_tried) for kind in ("chain", "tree")]
    assert [(row["num_worlds"], row["status"]) for row in rows] == [(count, "exact") for count in counts]
    assert rows[0]["command"] == f"python tests/faults/controls.py --worlds 6 --json {file}"
    assert re.search(r"samplers.py: match +tree +exact +within 1e-6 +6 ", capsys.readouterr().out)


def test_one_that_is_refuted_is_shown_and_makes_the_script_fail(monkeypatch, capsys):
    monkeypatch.setattr(controls, "right_ones", lambda: iter([("wrong", "chain", lambda *_: [0], True)]))
    assert controls.main([]) == 1
    captured = capsys.readouterr()
    assert re.search(r"^wrong +chain +refuted", captured.out, re.MULTILINE)
    assert "REFUTED: the law of the output is not the target's" in captured.err


def test_no_worlds_are_refused(capsys):
    assert controls.main(["--worlds", "0"]) == 2
    assert capsys.readouterr().err == "error: worlds must be at least 1, got 0\n"
