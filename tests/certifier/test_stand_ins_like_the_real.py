"""What real generators and functions do that is easily overlooked: their stand-ins do it too, or say nothing.

Each case here was a wrong verdict once, or is of the kind of one.
"""

import copy
import itertools
import random
import re

import numpy as np
import pytest
import samplers
import torch
from draws import probabilities
from hypothesis import given
from hypothesis import strategies as st

from eagle_min.exactness import certify
from eagle_min.exactness.law import Limits
from eagle_min.exactness.no_verdict import Undecided
from eagle_min.exactness.undrawn.watch import watched

LONG = torch.tensor([1, 1])


def whole_buffer() -> bool:
    coins = torch.zeros(2, dtype=torch.long)
    coins[:] = torch.rand(2)
    return bool((coins < 0.5).all())


WHOLE = {
    "written": whole_buffer,
    "copied": lambda: LONG.clone().copy_(torch.rand(2)),
    "made of numbers": lambda: torch.tensor([random.random()], dtype=torch.long),
    "made of an array": lambda: torch.tensor(np.random.rand(2), dtype=torch.int32),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_tensor_of_whole_numbers_does_not_keep_a_coin(name):
    with pytest.raises(Undecided, match="is put into a tensor of int"):
        probabilities(WHOLE[name])


def draws_of(generator: object) -> bool:
    return bool(generator.random() < 0.5)


def pair(*made: object) -> tuple:
    return made


TWINS = {  # two generators that begin alike
    "of one seed": lambda: pair(np.random.default_rng(0), np.random.default_rng(0)),
    "of python": lambda: pair(random.Random(3), random.Random(3)),
    "of RandomState": lambda: pair(np.random.RandomState(1), np.random.RandomState(1)),
    "of bit generators": lambda: pair(*(np.random.Generator(np.random.PCG64(5)) for _ in range(2))),
    "of one SeedSequence": lambda: (
        lambda seeds: pair(*(np.random.Generator(np.random.PCG64(seeds)) for _ in range(2)))
    )(np.random.SeedSequence(7)),
    "a copy": lambda: (lambda generator: pair(generator, copy.deepcopy(generator)))(np.random.default_rng()),
}
OTHERS = {  # two that do not
    "of two seeds": lambda: pair(np.random.default_rng(0), np.random.default_rng(1)),
    "of no seed": lambda: pair(np.random.default_rng(), np.random.default_rng()),
    "of one bit generator": lambda: (lambda bits: pair(np.random.Generator(bits), np.random.Generator(bits)))(
        np.random.PCG64(0)
    ),
    "one and itself": lambda: (lambda generator: pair(generator, np.random.default_rng(generator)))(
        np.random.default_rng(0)
    ),
    "of two kinds": lambda: pair(random.Random(0), np.random.default_rng(0)),
}


def both(make) -> dict:
    with watched():
        first, second = make()
    return probabilities(lambda: (draws_of(first), draws_of(second)))


@pytest.mark.parametrize("name", TWINS)
def test_two_generators_that_begin_alike_are_not_independent(name):
    with pytest.raises(Undecided, match="draw the same numbers"):
        both(TWINS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_other_generators_are(name):
    assert set(both(OTHERS[name]).values()) == {0.25}


RESEEDED = {
    "manual_seed": lambda generator: generator.manual_seed(0),
    "get_state": lambda generator: generator.get_state(),
    "set_state": lambda generator: generator.set_state(torch.zeros(1)),
    "seed": lambda generator: generator.seed(),
}


@pytest.mark.parametrize("name", RESEEDED)
def test_a_generator_of_torch_is_not_seeded_in_a_run(name):
    with watched():
        generator = torch.Generator()
        generator.manual_seed(1)
    with pytest.raises(Undecided, match=f"torch.Generator.{name} cannot be enumerated"):
        probabilities(lambda: RESEEDED[name](generator))


def test_generators_of_torch_have_one_seed_unless_they_are_given_others():
    """An unseeded one always begins with the same number."""
    with watched():
        first, second, third = torch.Generator(), torch.Generator(), torch.Generator().manual_seed(1)

    def coins(*generators) -> tuple:
        return tuple(bool(torch.rand(1, generator=each) < 0.5) for each in generators)

    assert set(probabilities(coins, first, third).values()) == {0.25}
    with pytest.raises(Undecided, match="draw the same numbers"):
        probabilities(coins, first, second)


bounds = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, float("nan")]), min_size=1, max_size=7)


@given(bounds, st.sampled_from([0.1, 0.3, 0.6, 0.9]), st.booleans())
def test_a_search_among_boundaries_that_do_not_rise_is_that_of_torch(row, number, right):
    """The law has the real answer at a number wherever that number can lie."""
    row = torch.tensor(row, dtype=torch.float64)
    found = probabilities(lambda: int(torch.searchsorted(row, torch.rand(1, dtype=torch.float64), right=right)))
    real = {}
    grid = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    for answer in torch.searchsorted(row, grid, right=right).tolist():
        real[answer] = real.get(answer, 0) + 0.001
    assert found == pytest.approx(real, abs=1e-9)
    assert int(torch.searchsorted(row, torch.tensor([number], dtype=torch.float64), right=right)) in found


IMPOSSIBLE = {
    "rand_like": (lambda: torch.rand_like(LONG), NotImplementedError),
    "uniform_": (lambda: LONG.clone().uniform_(), NotImplementedError),
    "bernoulli": (lambda: torch.bernoulli(LONG), NotImplementedError),
    "multinomial": (lambda: torch.multinomial(LONG, 1), RuntimeError),
    "choice": (lambda: np.random.choice(3, p=torch.tensor([0.1, 0.2, 0.7001])), ValueError),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_the_real_one_refuses_is_refused_with_its_error(name):
    draw, kind = IMPOSSIBLE[name]
    for source in (lambda draw: draw(), probabilities):
        with pytest.raises(kind):
            source(draw)


def test_tolerance_of_a_choice_is_that_of_arrays_and_not_of_tensors():
    rounded = np.array([0.1, 0.2, 0.7], dtype=np.float32) * np.float32(1 + 1e-5)
    assert set(probabilities(lambda: int(np.random.choice(3, p=rounded)))) == {0, 1, 2}
    with pytest.raises(ValueError):
        np.random.choice(3, p=torch.tensor(rounded))
    with pytest.raises(ValueError):
        probabilities(lambda: np.random.choice(3, p=torch.tensor(rounded)))


def coins_of(name: str) -> torch.Tensor:
    """(2,) booleans, each True with probability 1/4 and independent; or of a law named in the test."""
    u = torch.rand(2)
    return {
        "cat": lambda: torch.cat([u[:1], torch.rand(1)]) < 0.25,
        "stack": lambda: torch.stack([u[0], u[1]]) < 0.25,
        "stack of columns": lambda: torch.stack([u, torch.ones(2)], dim=1)[:, 0] < 0.25,
        "clamp": lambda: u.clamp(min=0.1, max=0.9) < 0.25,
        "clip of a tensor": lambda: torch.clip(u, torch.tensor([0.1, 0.2])) < 0.25,
        "clamp_min": lambda: u.clamp_min(0.1) < 0.25,
        "log1p": lambda: torch.log1p(u) < np.log(1.25),
        "floor": lambda: torch.floor(u * 4) < 1,
        "a copy": lambda: copy.deepcopy(np.random.rand(2)) < 0.25,
        "zeros like": lambda: torch.zeros_like(u) + u < 0.25,
    }[name]()


NAMES = ["cat", "stack", "stack of columns", "clamp", "clip of a tensor", "clamp_min", "log1p", "floor", "a copy"]


@pytest.mark.parametrize("name", [*NAMES, "zeros like"])
def test_what_samplers_do_with_coins_has_the_law_of_the_coins(name):
    found = probabilities(lambda: tuple(bool(coin) for coin in coins_of(name)))
    assert found == pytest.approx(
        dict(zip(itertools.product([True, False], repeat=2), [1 / 16, 3 / 16, 3 / 16, 9 / 16]))
    )


def test_equal_of_torch_is_one_answer():
    assert probabilities(lambda: torch.equal(torch.rand(2), torch.full((2,), -1.0))) == {False: 1}
    assert probabilities(lambda: torch.equal(torch.rand(0), torch.zeros(0))) == {True: 1}
    assert probabilities(lambda: torch.equal(torch.rand(2), torch.zeros(3))) == {False: 1}


def with_coin(check) -> object:
    def sampler(draft_tokens, draft_probs, target_probs):
        check()
        return samplers.chain_numpy(draft_tokens, draft_probs, target_probs)

    return sampler


def asserts_a_tensor() -> None:
    assert isinstance(torch.rand(1), torch.Tensor)


def wants_a_float() -> None:
    coin = random.random()
    if not isinstance(coin, float):
        raise TypeError("coin must be a float")


@pytest.mark.parametrize("check", [asserts_a_tensor, wants_a_float])
def test_a_sampler_that_asks_for_types_is_not_refuted(check):
    verdict = certify(with_coin(check), "chain", num_worlds=2)
    assert verdict.status == "undecided" and re.search("type of a random number|UndrawnTensor", verdict.reason)


def floats_only(draft_tokens, draft_probs, target_probs):
    q, p = (np.asarray(each, dtype=float) for each in (draft_probs, target_probs))
    return samplers.chain_numpy(draft_tokens, q, p)


def logarithms(draft_tokens, draft_probs, target_probs):
    np.log(np.asarray(target_probs))
    return samplers.chain_numpy(draft_tokens, draft_probs, target_probs)


@pytest.mark.parametrize(
    ("sampler", "reason"), [(floats_only, "computes with floats"), (logarithms, "of type Fraction")]
)
def test_one_that_computes_in_floats_is_not_refuted_for_it(sampler, reason):
    assert certify(sampler, "chain", num_worlds=3).status == "exact"
    verdict = certify(sampler, "chain", exact=True, num_worlds=3)
    assert verdict.status == "undecided" and reason in verdict.reason


def test_what_is_wrong_for_a_while_only_is_hidden_state():
    calls = itertools.count()

    def sampler(draft_tokens, draft_probs, target_probs):
        return [0] if next(calls) < 60 else samplers.chain_numpy(draft_tokens, draft_probs, target_probs)

    verdict = certify(sampler, "chain")
    assert verdict.status == "undecided" and verdict.reason.startswith("hidden state")


class Strange:
    def __array__(self, *_: object, **__: object) -> None:
        raise KeyError("no array")


RETURNED = {
    "a tensor that wants gradients": lambda: torch.tensor([0.0], requires_grad=True),
    "no array": Strange,
    "no end": lambda: itertools.repeat(0),
    "a tensor without memory": lambda: torch.zeros(1, device="meta"),
}


@pytest.mark.parametrize("name", RETURNED)
def test_whatever_is_returned_is_a_verdict(name):
    verdict = certify(lambda *_: RETURNED[name](), "chain", num_worlds=2)
    assert verdict.status == "refuted" and verdict.counterexample.broken.startswith("returned")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_worlds": 1.5}, "worlds must be an integer of at least 1, got 1.5"),
        ({"num_worlds": "3"}, "worlds must be an integer of at least 1, got '3'"),
        ({"bits": 2.5}, "bits must be an integer between 1 and 24, got 2.5"),
        ({"limits": 3}, "limits must be Limits, got 3"),
    ],
)
def test_options_out_of_range_are_one_line(options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        certify(samplers.chain_numpy, "chain", **options)
    assert certify(samplers.chain_numpy, "chain", num_worlds=1, limits=Limits()).status == "exact"


def test_a_function_whose_parameters_cannot_be_told_is_one_line():
    with pytest.raises(ValueError, match="^function must be written in Python, or wrapped in a function that is, got"):
        certify(torch.multinomial, "chain")


@pytest.mark.parametrize(
    ("kind", "count", "function"),
    [
        ("chain", 3, lambda tokens, q: [0]),
        ("chain", 3, lambda tokens, q, p, *, temperature: [0]),
        ("tree", 3, lambda tokens, parents, q, p: [0]),
        ("tree-sampled", 4, lambda tokens, parents, p: [0]),
        ("tree-iid", 4, lambda tokens, parents, p: [0]),
        ("batch", 3, lambda tokens, q, p, sizes: [0]),
        ("loop", 6, samplers.chain_numpy),
    ],
)
def test_a_function_of_other_arguments_is_one_line(kind, count, function):
    with pytest.raises(ValueError, match=f"^function must be one that {count} arguments .* kind {kind} does, got .*$"):
        certify(function, kind)
