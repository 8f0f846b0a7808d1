"""The stand-ins for random sources: none is missing, and what one does not understand is undecided, by name."""

import contextlib
import inspect
import math
import random
import re
import secrets
import uuid

import numpy as np
import pytest
import samplers
import torch
from draws import probabilities

from eagle_min.exactness import certify
from eagle_min.exactness.law import EnumeratingDice
from eagle_min.exactness.no_verdict import Undecided, none_lost
from eagle_min.exactness.undrawn.torch_draws import MAY_DRAW, REFUSED, TorchSource
from eagle_min.exactness.undrawn.torch_tensor import ANSWERS
from eagle_min.exactness.undrawn.watch import DRAW_NOTHING, ENTROPY, drawing_from, watched

UNDECIDED = {  # what is not understood, and what is said about it
    "^% of": lambda: np.random.rand() % 1 < 0.5,
    "// of": lambda: torch.rand(1) // 1,
    r"\*\* of": lambda: random.random() ** 2 < 0.5,
    "round of": lambda: round(random.random()),
    "sqrt of": lambda: np.sqrt(np.random.rand()),
    "numpy.isnan of": lambda: np.isnan(np.random.rand(2)),
    "numpy.multiply of": lambda: np.multiply(np.random.rand(2), 0.5, out=np.empty(2)),
    r"numpy.multiply\(where=...\)": lambda: np.multiply(np.random.rand(2), 0.5, where=np.array([True, False])),
    "numpy.minimum of a random number and NaN": lambda: np.minimum(math.nan, np.random.rand()),
    "two random numbers are added": lambda: np.random.rand(2).cumsum(),
    "two random numbers are compared": lambda: np.argsort(np.random.rand(2)),
    "torch.argmax of": lambda: torch.rand(2).argmax(),
    "torch.sort of": lambda: torch.sort(torch.rand(2)),
    "torch.cumsum of": lambda: torch.rand(2).cumsum(0),
    "torch.sqrt of": lambda: torch.rand(2).sqrt(),
    r"torch.div\(rounding_mode=...\)": lambda: torch.div(torch.rand(1), 2, rounding_mode="floor"),
    r"torch.lt\(out=...\)": lambda: torch.lt(torch.rand(1), 0.5, out=torch.empty(1, dtype=torch.bool)),
    "an element in several places": lambda: torch.rand(1).expand(2).mul_(2),
    "float64 among torch.float32|float32 among torch.float64": lambda: torch.searchsorted(
        torch.ones(1, dtype=torch.float64), torch.rand(1)
    ),
    "rounds the random number to bfloat16": lambda: torch.rand(1).to(torch.bfloat16),
    "rounds the random number to float16": lambda: torch.rand(1).half(),
    "number to float16": lambda: np.random.rand(2).astype(np.float16),
    "number to bfloat16": lambda: torch.rand(1, dtype=torch.bfloat16),
    "rounds the random number to half|number to float16": lambda: torch.empty(1, dtype=torch.half).uniform_(),
    "to float16": lambda: random.random() * torch.ones(2, dtype=torch.half),
    "to bool": lambda: torch.rand(1).bool(),
    r"numpy.random.Generator.integers\(strange=...\)": lambda: np.random.default_rng().integers(3, strange=1),
    r"numpy.random.choice\(axis=...\)": lambda: np.random.choice(3, axis=0),
    r"torch.rand\(out=...\)|this use of torch.rand": lambda: torch.rand(1, out=torch.empty(1)),
    r"torch.multinomial\(out=...\)": lambda: torch.multinomial(torch.ones(2), 1, out=torch.empty(1)),
    "this use of numpy.random.uniform": lambda: np.random.uniform(0, np.ones(2)),
    "numpy.random.beta": lambda: np.random.beta(1, 1),
    "numpy.random.Generator.dirichlet": lambda: np.random.default_rng().dirichlet([1, 1]),
    "random.betavariate": lambda: random.Random().betavariate(1, 1),
    "secrets.randbelow": lambda: secrets.randbelow(2),
    "os.urandom|uuid.uuid4": lambda: uuid.uuid4(),
    "torch.geometric_": lambda: torch.empty(1).geometric_(0.5),
    "torch.dropout": lambda: torch.nn.functional.dropout(torch.ones(2), 0.5),
    "from a seed": lambda: np.random.default_rng(0).random(),
    "made in the call from a seed": lambda: random.Random(0).random(),
    "torch.Generator is made": lambda: torch.Generator().manual_seed(0),
    "not watched": lambda: REAL_RANDOM(),
    "looks at the random number": lambda: float(torch.rand(1)),
    "looks at the random number itself": lambda: np.asarray(torch.rand(1)),
}
REAL_RANDOM = random.random  # bound before anything is watched


@pytest.mark.parametrize("reason", UNDECIDED)
def test_what_is_not_understood_is_undecided_and_named(reason):
    with pytest.raises(Undecided, match=reason) as caught:
        probabilities(UNDECIDED[reason])
    assert reason == "not watched" or re.search(r"\(test_random_sources.py:\d+\)$", str(caught.value))


SWALLOWING = {
    "an exception": lambda: swallowed(Exception),
    "everything": lambda: swallowed(BaseException),
    "a return at the end": lambda: returns_at_the_end(),
}


def swallowed(kind: type) -> float:
    try:
        return float(np.random.rand())
    except kind:
        return 0.0


def returns_at_the_end() -> float:
    try:
        return float(np.random.rand())
    finally:
        return 0.0  # noqa: B012


@pytest.mark.parametrize("name", SWALLOWING)
def test_a_reason_that_is_swallowed_stays_a_reason(name):
    def sampler(draft_tokens, draft_probs, target_probs):
        SWALLOWING[name]()
        return samplers.chain_numpy(draft_tokens, draft_probs, target_probs)

    verdict = certify(sampler, "chain", num_worlds=1)
    assert verdict.status == "undecided" and "looks at the random number itself" in verdict.reason


AFTERWARDS = {
    "a right law": lambda right: right,
    "a wrong law": lambda right: [0],
    "an error": lambda right: 1 / 0,
    "no token": lambda right: [],
}


@pytest.mark.parametrize("name", AFTERWARDS)
def test_a_draw_that_nobody_watched_is_the_reason_whatever_came_of_it(name):
    def sampler(draft_tokens, draft_probs, target_probs):
        REAL_RANDOM()
        return AFTERWARDS[name](samplers.chain_numpy(draft_tokens, draft_probs, target_probs))

    verdict = certify(sampler, "chain", num_worlds=1)
    assert verdict.status == "undecided" and "not watched" in verdict.reason


def test_of_several_reasons_the_first_is_given_at_each_level():
    with pytest.raises(Undecided, match="first"), none_lost():
        with contextlib.suppress(Undecided), none_lost(), contextlib.suppress(Undecided):
            raise Undecided("first")
        with contextlib.suppress(Undecided), none_lost():
            raise Undecided("second")


def test_a_reason_that_is_swallowed_while_a_program_is_imported_stays_one_too():
    with pytest.raises(Undecided, match="while the program is imported"), watched():
        swallowed(BaseException)


def test_what_the_real_source_refuses_is_the_fault_of_the_code_under_test():
    """With the error of the real one, so that code which expects it goes on."""
    for kind, draw in {
        ValueError: lambda: np.random.choice(2, p=[0.5, 0.4]),
        RuntimeError: lambda: torch.multinomial(torch.zeros(2), 1),
        IndexError: lambda: random.choice([]),
        AttributeError: lambda: np.random.default_rng().rand(),
    }.items():
        with pytest.raises(kind), watched(), drawing_from(EnumeratingDice([]), []):
            draw()


def test_every_function_of_the_random_modules_is_replaced():
    before = {
        (module, name): getattr(module, name)
        for module in (random, np.random, secrets)
        for name in dir(module)
        if not name.startswith("_") and callable(getattr(module, name)) and name not in DRAW_NOTHING[module.__name__]
    }
    before |= {(module, name): getattr(module, name) for module, name in ENTROPY if hasattr(module, name)}
    with watched():
        assert [f"{m.__name__}.{name}" for (m, name), real in before.items() if getattr(m, name) is real] == []
    assert all(getattr(module, name) is real for (module, name), real in before.items())


def drawing_operations() -> set[str]:
    """Operations of torch that it says depend on its generator, under their public names."""
    names = set()
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        packet = getattr(torch.ops.aten, name, None) if space == "aten" else None
        operation = getattr(packet, schema.overload_name or "default", None)
        if operation is not None and torch.Tag.nondeterministic_seeded in operation.tags:
            names.add(name)
    public = (torch, torch.Tensor, torch.nn.functional)
    return {
        name
        for name in names
        if not name.startswith("_") and any(callable(getattr(where, name, None)) for where in public)
    }


OF_OTHER_MACHINES = {"miopen_rnn"}


def test_every_operation_of_torch_that_draws_is_known():
    found = drawing_operations()
    assert len(found) > 30
    assert found - set(TorchSource().draws) - set(REFUSED) - MAY_DRAW == OF_OTHER_MACHINES


def test_answers_are_functions_of_torch():
    known = (torch, torch.Tensor)
    assert [name for name in ANSWERS if not any(hasattr(where, name) for where in known)] == []
    assert all(len(inspect.signature(draw).parameters) > 1 for draw in TorchSource().draws.values())
