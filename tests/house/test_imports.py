"""The exact law of a rule of verification needs neither torch nor Hypothesis; what does is there when asked for."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import eagle_min
import eagle_min.exactness

ROOT = Path(__file__).resolve().parents[2]

# Grows a chain 1, 2 behind the token 0 and enumerates what the match walk makes of it. By hand: 0 and 2 are drawn first
# with p(0) and p(2) and end the walk; behind 1 comes 0 or 1 and ends it; behind 1, 2 any token is the bonus.
WITHOUT_BOTH = """
import sys
sys.modules["torch"] = sys.modules["hypothesis"] = None  # so that importing one of them fails

from fractions import Fraction

import numpy as np

import eagle_min, eagle_min.exactness
from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.dice import SeededDice
from eagle_min.exactness.law import law
from eagle_min.grow import chain
from eagle_min.sampling import next_token_law
from eagle_min.tree import path_to
from eagle_min.verify import match_walk

logits = np.log(np.array([[1.0, 5.0, 2.0], [1.0, 2.0, 5.0]]))  # behind 0, behind 1
tree = chain(0, lambda tokens, parents, nodes: logits[[tokens[node] for node in nodes]], TreeConfig(num_nodes=3), 2)
assert tree.tokens == (0, 1, 2) and path_to(tree.parents, 2) == [0, 1, 2]

weights = np.array([Fraction(weight) for weight in (3, 2, 1)], dtype=object)
p = next_token_law(weights, SamplingConfig(temperature=1.0))
a, b, c = Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)
assert tuple(p) == (a, b, c)

def walk(dice):
    path, bonus = match_walk(tree, lambda node: p, dice, 1)
    return tuple(path), bonus

below = {((0, 1, 2), 0): b * c * a, ((0, 1, 2), 1): b * c * b, ((0, 1, 2), 2): b * c * c}
found = law(walk)
assert found == {((0,), 0): a, ((0,), 2): c, ((0, 1), 0): b * a, ((0, 1), 1): b * b, **below}, found
assert walk(SeededDice(0)) in found
assert eagle_min.exactness.total_variation(found, found) == 0
print("used")
"""

NOTHING_HEAVY = """
import sys
import eagle_min, eagle_min.exactness
print(sorted({"torch", "hypothesis"} & set(sys.modules)))
"""

PUBLIC_NAMES = """
import eagle_min, eagle_min.exactness
from eagle_min import load, generate, Cycle
from eagle_min.exactness import certify
for package in (eagle_min, eagle_min.exactness):
    for name in package.__all__:
        assert callable(getattr(package, name)), name
assert load is eagle_min.load and certify.__name__ == "certify"
assert load.__module__ == "eagle_min.drafters.model_set"
print("there")
"""


@pytest.mark.parametrize(
    ("program", "printed"), [(WITHOUT_BOTH, "used"), (NOTHING_HEAVY, "[]"), (PUBLIC_NAMES, "there")]
)
def test_torch_and_hypothesis_are_loaded_when_they_are_needed_and_not_before(program, printed):
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (result.stdout.strip(), result.stderr) == (printed, "")


@pytest.mark.parametrize("package", [eagle_min, eagle_min.exactness])
def test_a_name_that_no_package_has_is_an_attribute_error(package: ModuleType):
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'fly'"):
        _ = package.fly
