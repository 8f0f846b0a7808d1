"""The bank of faulty samplers: each makes the law it is known for, each is refuted, the controls are not.

The tables are `python tests/faults/bank.py`.
"""

import json
import re
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from math import inf, prod, sqrt

import bank
import pytest
from faulty_samplers import CONTROLS, FAULTS
from faulty_samplers.row import KNOWN_FIGURE, Faulty
from properties import (
    PROPERTIES,
    chance_of,
    in_contexts,
    laws_over,
    noticed_by,
    num_accepted,
    num_samples,
    own_laws,
    without_zeros,
)

from eagle_min.exactness import certify
from eagle_min.exactness.judge.kinds import KINDS
from eagle_min.exactness.judge.report import report

# What a code is: see bank.py.
CODES = """A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A13 A14 A16 B1 B3 B6 C1 C5 C7 C8 C11 F2 F3 G-a G-c
    r1 r3 r8 r18 r20 r21 r22 r23 r24 r26 r40 r41 r44 r45 r46 r47 r49 r51 r52 r54 r56 r58 r65 r67
    hot late typical siblings repeats one-coin one-coin-rows first-rows wide"""
CONTROL_CODES = """A0 A3' A5' A12 C0 C2' C3 C4 C6 F1
    block traversal K-SEQ one-hot-rule any-order match loop"""
QUICK = ("C1", "r44")  # certified every day, the others in the ci tier


def by_name(rows: Iterable[Faulty]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=lambda row: f"{row.code}: {row.name}")


def fault(code: str) -> Faulty:
    return next(row for row in FAULTS if row.code == code)


def test_no_case_is_missing_and_none_is_there_twice():
    assert {row.code for row in FAULTS} == set(CODES.split())
    assert sorted(row.code for row in CONTROLS) == sorted(CONTROL_CODES.split())
    names = [row.name for row in (*FAULTS, *CONTROLS)]
    assert len(names) == len(set(names)) and all(row.origin for row in (*FAULTS, *CONTROLS))
    assert {known.name for kind in KINDS.values() for known in kind.known_faults} <= set(names)


@by_name(FAULTS)
def test_a_fault_makes_the_law_it_is_known_for(row):
    """With ==; and the figure is not what the target gives."""
    assert row.law and (row.source == KNOWN_FIGURE or row.source.startswith("by hand: "))
    got, wanted = own_laws(row)
    assert {beginning: chance_of(beginning, got) for beginning in row.law} == row.law
    assert any(chance_of(beginning, wanted) != chance for beginning, chance in row.law.items())
    assert sum(got.values()) == sum(wanted.values()) == 1


@by_name(CONTROLS)
def test_a_control_has_the_law_of_the_target(row):
    assert not row.law
    got, wanted = laws_over(row, row.world, 2)
    assert without_zeros(got) == wanted


def test_the_published_distance_of_two_tokens_behind_a_dropped_draft():
    got, wanted = own_laws(fault("F2"))
    pairs = list(product(range(3), repeat=2))
    assert sum(abs(chance_of(pair, got) - chance_of(pair, wanted)) for pair in pairs) / 2 == Fraction(84, 625)


def test_published_figures_of_acceptance():
    """On the base pair; the rule for drafts that were not drawn is exact for drawn ones and accepts less."""
    published = {"A0": ".7", "one-hot-rule": ".31", "block": "1.25", "G-c": "87/140"}  # .62 in print
    rows = {row.code: row for row in (*FAULTS, *CONTROLS)}
    assert {code: num_accepted(rows[code]) for code in published} == {c: Fraction(x) for c, x in published.items()}


def refute(row: Faulty) -> None:
    verdict = certify(row.sampler, row.kind, exact=True, bits=row.bits)
    assert verdict.status == "refuted", report(verdict)


@by_name([fault(code) for code in QUICK])
def test_the_certifier_refutes_a_sample(row):
    refute(row)


TO_CERTIFY = {  # a fault stands on several pairs, and the certifier looks for its own
    (row.sampler, row.kind, row.bits): row for row in FAULTS if row.kind != "step" and row.code not in QUICK
}


@pytest.mark.ci
@by_name(TO_CERTIFY.values())
def test_the_certifier_refutes_every_fault(row):
    refute(row)


@pytest.mark.ci
@by_name([row for row in FAULTS if row.bits])
def test_what_only_coins_of_few_bits_show_is_exact_on_real_numbers(row):
    assert certify(row.sampler, row.kind, exact=True, num_worlds=10).status == "exact"


@pytest.mark.ci
@by_name(CONTROLS)
def test_no_property_and_no_world_speaks_against_a_control(row):
    assert not any(noticed_by(row).values())
    assert len(list(in_contexts(row))) >= 3
    if row.kind != "step":
        verdict = certify(row.sampler, row.kind, exact=True, num_worlds=8)
        assert verdict.status == "exact", report(verdict)


# What a property must see, and what it cannot: first token, marginals, one cycle, two cycles, support, above bound,
# residual on one token; "?" where it does not matter here.
SEEN = {
    "A8": "yyyyyyy",
    "B6": "----y--",  # a coin of exactly 0 has no probability
    "C5": "yyyy---",  # exact where the residual is one token
    "C11": "-yyyy-y",  # the first token is right
    "one-coin-rows": "--yy-?y",  # each sequence alone is right
    "r41": "---yy?-",  # a law that does not depend on the text hides which text was read
    "r1": "yyyyyyy",
}
SLOWER = {"F3": "---yyy-", "B1": "yyyy---", "r47": "---yy--", "r18": "-yyy---", "A1": "yyyy--y"}


def check_what_is_seen(code: str, marks: str) -> None:
    answers = noticed_by(fault(code))
    assert list(answers) == list(PROPERTIES)
    found = "".join({True: "y", False: "-", None: "?"}[answer] for answer in answers.values())
    assert found == marks


@pytest.mark.parametrize("code", SEEN)
def test_properties_see_what_they_can(code):
    check_what_is_seen(code, SEEN[code])


@pytest.mark.ci
@pytest.mark.parametrize("code", SLOWER)
def test_properties_see_what_they_can_in_longer_chains(code):
    check_what_is_seen(code, SLOWER[code])


@pytest.mark.ci
@by_name(FAULTS)
def test_each_fault_is_noticed_by_some_property(row):
    answers = noticed_by(row)
    assert any(answers.values())
    if row.bits is None:
        assert answers["two cycles"]  # the property that sees all but what only coins of few bits show
    assert answers["marginals"] or not answers["first token"]  # what sees less is silent where more is
    assert answers["one cycle"] or not answers["marginals"]


# --- power ---


def test_samples_of_a_coin_by_hand():
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    fair, other = {0: half, 1: half}, {0: 3 * quarter, 1: quarter}
    assert num_samples(other, fair) == pytest.approx(5 * sqrt(2) / 0.25)
    assert num_samples(fair, fair) == inf
    assert num_samples({0: half, 1: 3 * quarter / 2, 2: quarter / 2}, fair) == 8  # 2 is forbidden
    assert num_samples({0: quarter, 1: 3 * quarter}, {0: Fraction(1)}) == pytest.approx(4 / 3)


def test_the_mean_of_the_statistic_is_the_one_that_the_number_of_samples_rests_on():
    """By going through all sequences of N samples: mean = N shift + sum of g (1 - g) / w."""
    w, g, size = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)), (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)), 4
    mean = Fraction(0)
    for drawn in product(range(3), repeat=size):
        statistic = sum((drawn.count(cell) - size * w[cell]) ** 2 / (size * w[cell]) for cell in range(3))
        mean += prod(g[cell] for cell in drawn) * statistic
    shift = 5 * sqrt(2 * 2) / num_samples(dict(enumerate(g)), dict(enumerate(w)))
    assert float(mean - sum(b * (1 - b) / a for a, b in zip(w, g))) == pytest.approx(size * shift)


# --- the command ---


def test_the_command_prints_what_was_found_and_stores_what_it_rests_on(tmp_path, capsys):
    file = tmp_path / "bank.json"
    assert bank.main(["r58", "A3", "C1", "--json", str(file)]) == 0
    faults, power, refuted = capsys.readouterr().out.split("\n\n")
    assert len(faults.splitlines()) == len(power.splitlines()) == 5  # A3 stands on two pairs
    assert all(name in faults for name in PROPERTIES) and "samples for 5 sigma" in power
    assert re.fullmatch(r"the certifier refutes 1 of the 1 rows .*: median [\d.]+ s, at most [\d.]+ s\n", refuted)
    rows = json.loads(file.read_text(encoding="utf-8"))
    assert [row["code"] for row in rows] == ["C1", "A3", "A3", "r58"]
    assert [row["seconds_to_refute"] is None for row in rows] == [False, True, True, True]  # steps cannot be called
    assert rows[3]["total_variation"] == 0.5
    assert rows[3]["command"] == f"python tests/faults/bank.py r58 A3 C1 --json {file}"
    assert {"commit", "machine", "versions", "date", *PROPERTIES} <= set(rows[0])


def test_the_command_speaks_markdown(capsys):
    assert bank.main(["r58", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| code | fault | kind | first token |")


def test_a_code_that_does_not_exist_is_one_line(capsys):
    assert bank.main(["A99"]) == 2
    assert re.fullmatch(r"error: code must be one of A1, .*, got 'A99'\n", capsys.readouterr().err)
