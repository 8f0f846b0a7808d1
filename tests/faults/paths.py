"""Puts the package and what the tests share on the path, for scripts here that are run by hand."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = map(str, (TESTS.parent, TESTS / "support", TESTS / "faults"))
