"""A counted drafter drafts the same trees, and what is noted about it is what it did."""

import pytest
from networks import drafter_of, random_target

from eagle_min import generate
from eagle_min.config import TreeConfig
from eagle_min.drafters.registry import REGISTRY
from eagle_min.lab.instruments import counted
from eagle_min.lab.instruments.counted import CountedDrafter

HOW = {"max_new_tokens": 12, "temperature": 1.0, "seed": 4}


@pytest.mark.parametrize("name", REGISTRY)
def test_the_cycles_are_those_of_the_drafter_itself(name):
    plain = generate(random_target(0), [1, 2, 1], drafter_of(name), **HOW)
    drafter = CountedDrafter(drafter_of(name))
    assert generate(random_target(0), [1, 2, 1], drafter, **HOW).cycles == plain.cycles
    assert drafter.seconds > 0


def test_passes_are_counted_with_the_one_over_true_rows():
    """A chain of four tokens asks four times: once what the true rows said, and three times one row further on."""
    drafter = CountedDrafter(drafter_of("chain", tree=TreeConfig(num_nodes=5, depth=4)))
    text = generate(random_target(0), [1], drafter, max_new_tokens=20)
    depths = [len(cycle.tree) - 1 for cycle in text.cycles[1:] if len(cycle.tree) > 1]
    assert drafter.num_passes == sum(depths) and drafter.num_cycles == len(depths)
    assert drafter.per_cycle[1] == sum(depths) / len(depths)


def test_heads_that_guess_at_once_take_one_pass_and_look_up_none():
    for name, passes in (("medusa", 1), ("lookup", 0), ("lookahead", 0)):
        drafter = CountedDrafter(drafter_of(name))
        generate(random_target(0), [1, 2], drafter, max_new_tokens=9)
        assert drafter.num_cycles > 0 and drafter.per_cycle[1] == passes


def test_nothing_was_asked_yet():
    assert CountedDrafter(drafter_of("eagle2")).per_cycle == (0, 0)


def test_time_is_that_of_start_learn_and_propose(monkeypatch):
    """A clock that goes on by one second each time it is read: two readings, one second, for each of the calls."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(counted.time, "perf_counter", lambda: next(ticks))
    drafter = CountedDrafter(drafter_of("lookup"))
    generate(random_target(0), [1, 2], drafter, max_new_tokens=9)
    assert drafter.seconds == 1 + 2 * drafter.num_cycles
