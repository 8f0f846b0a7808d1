"""Profiles and marks.

EAGLE_MIN_PROFILE chooses how long the properties search: `fast` (the default, the same few
examples each time), `ci` (more of them, and the tests marked ci) or `thorough` (many, new ones
each time, and the tests marked ci or thorough).
"""

import os
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, is_hypothesis_test, settings

TESTS = Path(__file__).resolve().parent
sys.path[:0] = map(str, (TESTS.parent, TESTS / "support", TESTS / "faults"))  # the package, and what tests share

PROFILE = os.environ.get("EAGLE_MIN_PROFILE", "fast")
MARKS = {"fast": set(), "ci": {"ci"}, "thorough": {"ci", "thorough"}}  # profile -> slow marks it runs
SLOW = [HealthCheck.too_slow]  # a loaded machine is no fault of a test

if PROFILE not in MARKS:
    raise pytest.UsageError(f"EAGLE_MIN_PROFILE must be one of {', '.join(MARKS)}, got {PROFILE!r}")
# No deadline: no test depends on the clock. No database: a run depends on nothing but the code.
common = {"deadline": None, "database": None, "suppress_health_check": SLOW}
settings.register_profile("fast", max_examples=30, derandomize=True, **common)
settings.register_profile("ci", max_examples=100, derandomize=True, **common)
settings.register_profile("thorough", max_examples=1500, print_blob=True, **common)
settings.load_profile(PROFILE)
# The models are too small to gain from a second thread, and waiting threads spin on a busy machine.
torch.set_num_threads(1)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "ci: slow; runs with EAGLE_MIN_PROFILE=ci or thorough")
    config.addinivalue_line("markers", "thorough: very slow; runs with EAGLE_MIN_PROFILE=thorough")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--beyond-fast", action="store_true", help="leave out what the fast profile runs in the same way")


def pytest_report_header() -> str:
    return f"EAGLE_MIN_PROFILE: {PROFILE} ({settings.default.max_examples} examples a property)"


def is_alike_in_every_profile(item: pytest.Item) -> bool:
    """Whether a test is neither marked slow nor tries examples: a property, or a function with one inside."""
    if isinstance(item, pytest.Function) and not any(map(item.get_closest_marker, ("ci", "thorough"))):
        return not is_hypothesis_test(item.obj) and "given" not in item.obj.__code__.co_names
    return False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--beyond-fast", default=False):
        alike = [item for item in items if is_alike_in_every_profile(item)]
        config.hook.pytest_deselected(items=alike)
        items[:] = [item for item in items if item not in set(alike)]
    for item in items:
        for mark in {"ci", "thorough"} - MARKS[PROFILE]:
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=f"EAGLE_MIN_PROFILE is {PROFILE}; marked {mark}"))
