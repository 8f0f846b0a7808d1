"""The tests are tested: planted faults must turn their named test red, neutral variants must not.

Each day a small sample; all of them with EAGLE_MIN_PROFILE=ci. Run pytest with
`-s` to see the table, or `python tests/faults/mutation.py`.
"""

import ast
import functools
import random
from collections import Counter
from dataclasses import replace

import mutation
import pytest
from fault import ROOT, Fault
from neutral import NEUTRAL
from planted import FAMILIES, FAULTS

ALL = (*FAULTS, *NEUTRAL)
SEED = 7  # of the sample
CORE = "tree sampling dice verify grow cache model head decode tokenizer checkpoint train.head".split()


def check_all(faults) -> None:
    """Run them, print the table, and show every row that is not as it should be."""
    wrong = []
    for result in mutation.run(faults):
        print(mutation.row(result, markdown=False))
        if not result.as_wanted:
            wrong.append(f"{result.fault.name}: {result.verdict} ({result.reason})\n{result.output[-3000:]}")
    assert not wrong, "\n".join(wrong)


@functools.cache
def top_level_names(file: str) -> set[str]:
    """Functions of a test file, and names it assigns, such as `TestCacheMachine`."""
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    names = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    return names | {ast.unparse(target) for node in body if isinstance(node, ast.Assign) for target in node.targets}


def test_every_row_has_one_place_and_names_tests_that_exist():
    for fault in ALL:
        compile(fault.source(), fault.name, "exec", dont_inherit=True)  # ValueError unless there is one place
        assert fault.killers and fault.origin
        for killer in fault.killers:
            file, _, name = killer.partition("::")
            assert name or fault.neutral, f"{fault.name}: a fault names a test, not a file"
            assert not name or name in top_level_names(file), f"{fault.name}: there is no {killer}"


def test_names_are_unique_and_every_module_of_the_core_has_faults():
    assert all(count == 1 for count in Counter(fault.name for fault in ALL).values())
    assert not any(fault.neutral for fault in FAULTS) and all(fault.neutral for fault in NEUTRAL)
    assert {fault.module for fault in FAULTS} >= {f"eagle_min.{module}" for module in CORE}
    assert len(NEUTRAL) >= 8


KILLER = "tests/same_law/test_tree.py::test_a_node_sees_itself_and_its_ancestors_only"
MASK = "mask[node] |= mask[parents[node]]"


def planted(old: str, new: str, killer: str = KILLER) -> Fault:
    return Fault("example", "eagle_min.tree", old, new, killer, "here")


EXAMPLES = [  # what the runner must tell apart
    ("killed", planted(MASK, "pass")),
    ("survived", planted(MASK, MASK + "  # the same")),
    ("error", planted("no such snippet", "")),  # no place
    ("error", planted("mask", "musk")),  # many places
    ("error", planted(MASK, MASK)),  # no change
    ("error", planted(MASK, "mask[node |= 1")),  # no Python
    ("error", planted(MASK, "mask[node] |= mask[parent]")),  # a name error shows nothing about a test
    ("error", planted(MASK, "pass", "tests/same_law/test_tree.py::test_that_was_renamed")),
    ("error", Fault("never imported", "eagle_min.exactness.law", "(RuntimeError)", "(Exception)", KILLER, "here")),
]


def test_the_runner_calls_killed_only_what_a_failing_test_killed():
    faults = [replace(fault, name=f"example {number}") for number, (_, fault) in enumerate(EXAMPLES)]
    results = {result.fault.name: result for result in mutation.run(faults)}
    for number, (verdict, _) in enumerate(EXAMPLES):
        assert results[f"example {number}"].verdict == verdict, results[f"example {number}"]


@pytest.mark.ci
def test_a_fault_that_hangs_is_killed_by_the_time_limit_and_says_so():
    [result] = mutation.run([planted(MASK, "while True: pass")], limit=3)
    assert (result.verdict, result.reason) == ("killed", "time limit of 3 s")


def test_a_sample_of_faults_is_noticed():
    """One of each of three families: the files of `planted/`."""
    rng = random.Random(SEED)
    check_all(rng.choice(family.FAULTS) for family in rng.sample(FAMILIES, 3))


def test_a_sample_of_neutral_variants_stays_green():
    small = [fault for fault in NEUTRAL if len(fault.killers) == 1]  # the whole files of the others take longer
    check_all(random.Random(SEED).sample(small, 1))


@pytest.mark.ci
def test_every_fault_is_noticed():
    check_all(FAULTS)


@pytest.mark.thorough  # minutes; a sample is in every tier
def test_every_neutral_variant_stays_green():
    check_all(NEUTRAL)
