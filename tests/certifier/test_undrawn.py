"""Numbers that nobody has drawn, in the hands of numpy and torch: what is done with them has its true law.

A coin here is what accepts a draft, with probability min(1, p / q), in a style of its own.
"""

import math
import random
from bisect import bisect
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import torch
from draws import accepts_as_it_should, probabilities
from hypothesis import given
from hypothesis import strategies as st

from eagle_min.exactness import certify
from eagle_min.exactness.law import law
from eagle_min.exactness.no_verdict import Undecided
from eagle_min.exactness.undrawn.number import UndrawnNumber
from eagle_min.exactness.undrawn.uniform import LatticeUniform, Uniform


def idiv(u, q):
    u /= 1 / q


def imul(u, q):
    u *= q


def imul_view(u, q):
    view = u.view(-1)
    view *= q


def imul_slice(u, q):
    u[:1].mul_(q)


def set_item(u, q):
    u[0] = u[0] * q


def out_of(u, q):
    np.multiply(u, q, out=u)


WRITES = {  # changes of u in place, by q
    "mul_": lambda u, q: u.mul_(q),
    "div_": lambda u, q: u.div_(1 / q),
    "*=": imul,
    "/=": idiv,
    "a view": imul_view,
    "a slice": imul_slice,
    "an item": set_item,
    "logarithms": lambda u, q: u.log_().add_(math.log(q)).exp_(),
    "copy_": lambda u, q: u.copy_(u * q),
    "detached": lambda u, q: u.detach().mul_(q),
}
BUFFERS = {
    "rand": lambda: torch.rand(1),
    "uniform_": lambda: torch.empty(1).uniform_(),
    "a part of a buffer": lambda: torch.empty(3).narrow(0, 1, 1).uniform_(),
}


def filled_slice():
    buffer = torch.zeros(3)
    first = buffer[:1]
    buffer[:2].uniform_()
    return first


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_in_place_shows_under_every_name(name, buffer):
    def coin(p, q, factor=1.0):
        u = BUFFERS[buffer]()
        WRITES[name](u, float(q) * factor)
        return u < p

    assert accepts_as_it_should(coin)
    assert not accepts_as_it_should(lambda p, q: coin(p, q, 0.5))


@pytest.mark.parametrize("name", ["*=", "/=", "an item", "out="])
def test_arrays_of_numpy_are_written_in_place_too(name):
    def coin(p, q):
        u = np.random.rand(1)
        same = u[:]
        {**WRITES, "out=": out_of}[name](u, q)
        return same < p

    assert accepts_as_it_should(coin)


def true_tensor_times(p, q):
    x = torch.full((1,), float(q))
    x.mul_(torch.rand(1))
    return bool(x < p)


def a_buffer_before_its_view_is_filled(p, q):
    return bool(filled_slice() * float(q) < p)


def named_bounds(p, q):
    return bool(torch.empty(1).uniform_(0, float(q)) < p)


def stacked_where(p, q):
    u = torch.rand(2)
    return bool(torch.where(torch.tensor([True, False]), u, torch.tensor(2.0))[0] * float(q) < p)


def scaled_addition(p, q):
    return bool(torch.add(torch.zeros(1), torch.rand(1), alpha=float(q)) < p)


def searched_one_by_one(p, q):
    return np.searchsorted(np.array([min(p / q, 1.0), 2.0]), np.random.rand(2), side="right")[0] == 0


COINS = {  # right, in ordinary and less ordinary styles
    "numpy scalar": lambda p, q: np.random.rand() * q < p,
    "array of one": lambda p, q: (np.random.rand(1) * q < p).all(),
    "a scalar against a row": lambda p, q: bool((np.random.rand() * np.array([q, q]) < p).all()),
    "a row against a scalar": lambda p, q: bool((np.array([q, q]) * np.random.rand() < np.array([p, p])).all()),
    "np.less": lambda p, q: bool(np.less(np.multiply(np.random.rand(1), q), p)),
    "size, dtype, out": lambda p, q: np.random.default_rng().random(size=(1,), dtype=np.float32, out=None)[0] * q < p,
    "astype": lambda p, q: np.random.rand(1).astype(np.float32)[0] * q < p,
    "item": lambda p, q: torch.rand(1).item() * q < p,
    "float32 to float64": lambda p, q: bool(torch.rand(1).to(torch.float64) * float(q) < p),
    "double": lambda p, q: bool(torch.rand(1).double().cpu() * float(q) < p),
    "to another": lambda p, q: bool(torch.rand(1).to(torch.ones(1)) * float(q) < p),
    "size=": lambda p, q: bool(torch.rand(size=(1,), device="cpu", dtype=torch.float32) * float(q) < p),
    "generator=": lambda p, q: bool(torch.rand((1, 1), generator=None, pin_memory=False) * float(q) < p),
    "rand_like": lambda p, q: bool(torch.rand_like(torch.ones(2, 1), dtype=torch.float64)[1] * float(q) < p),
    "uniform_ of a true tensor": named_bounds,
    "a true tensor times coins": true_tensor_times,
    "a slice is filled": a_buffer_before_its_view_is_filled,
    "random with a tensor": lambda p, q: bool(random.random() * torch.tensor([float(q)]) < torch.tensor([float(p)])),
    "a tensor with random": lambda p, q: bool(torch.tensor([float(p)]) > random.random() * float(q)),
    "from_numpy": lambda p, q: bool(torch.from_numpy(np.random.rand(1)) * float(q) < p),
    "as_tensor": lambda p, q: bool(torch.as_tensor(np.random.rand(1), dtype=torch.float32) * float(q) < p),
    "to numpy": lambda p, q: (torch.rand(2).numpy() * q < p)[1],
    "where": stacked_where,
    "alpha": scaled_addition,
    "le with keywords": lambda p, q: bool(torch.le(input=torch.rand(1) * float(q), other=float(p))),
    "abs": lambda p, q: abs(2 * random.random() - 1) * q < p,
    "one over": lambda p, q: 1 / random.random() > q / p if p else False,
    "log of numpy": lambda p, q: np.log(np.random.rand()) < np.log(max(p, 1e-300) / q),
    "both ends": lambda p, q: 0 <= random.random() < p / q,
    "max and min": lambda p, q: max(random.random(), 0.0) < min(p / q, 1.0),
    "clip": lambda p, q: np.clip(np.random.rand(), 0.0, 2.0) * q < p,
    "searchsorted of several": searched_one_by_one,
    "bucketize": lambda p, q: torch.bucketize(torch.rand(1), torch.tensor([min(float(p / q), 1.0)])).item() == 0,
    "bisect": lambda p, q: bisect([min(p / q, 1.0)], random.random()) == 0,
    "bernoulli with p": lambda p, q: bool(torch.bernoulli(torch.ones(1), min(float(p / q), 1.0))),
    "bernoulli_": lambda p, q: bool(torch.empty(1).bernoulli_(min(float(p / q), 1.0))),
    "the last of a multinomial takes the rest": lambda p, q: np.random.multinomial(1, [min(p / q, 1.0), 0.0])[0] == 1,
    "NaN is above nothing": lambda p, q: not random.random() > math.nan and random.random() * q < p,
}


@pytest.mark.parametrize("name", COINS)
def test_right_coins_are_exact(name):
    assert accepts_as_it_should(COINS[name])


INTEGERS = {
    "integers": lambda n: np.random.default_rng().integers(n),
    "integers with an endpoint": lambda n: np.random.default_rng().integers(0, n - 1, endpoint=True),
    "integers of a size": lambda n: np.arange(n)[np.random.default_rng().integers(0, n, size=2)][0],
    "legacy randint": lambda n: np.random.randint(low=0, high=n, size=1, dtype=np.int32)[0],
    "randrange": lambda n: random.randrange(n),
    "randint": lambda n: random.randint(a=0, b=n - 1),
    "getrandbits": lambda n: (random.getrandbits(2) * 3) + random.randrange(3),
    "torch": lambda n: torch.randint(n, (1,)).item(),
    "torch, size=": lambda n: torch.randint(0, n, size=(1,), dtype=torch.int32)[0].item(),
    "torch, high=": lambda n: torch.randint(high=n, size=(1,)).item(),
    "randint_like": lambda n: torch.randint_like(torch.zeros(1), 0, n).item(),
    "randperm": lambda n: torch.randperm(3)[0].item() * 4 + random.randrange(4),
    "shuffle": lambda n: shuffled(random.shuffle)[0] * 4 + random.randrange(4),
    "shuffle of numpy": lambda n: shuffled(np.random.default_rng().shuffle)[0] * 4 + random.randrange(4),
    "floor": lambda n: math.floor(random.random() * n),
    "astype": lambda n: (np.random.rand(1) * n).astype(np.int64)[0],
    "to": lambda n: (torch.rand(1) * n).to(torch.int64).item(),
    "long": lambda n: (torch.rand(1) * n).long().item(),
    "int": lambda n: int(torch.rand(1) * n),
    "cut": lambda n: int(random.random() * n - n) + n - 1,
    "ceil": lambda n: math.ceil(random.random() * n) - 1,
    "np.floor": lambda n: int(np.floor(np.random.rand() * n)),
}


def shuffled(shuffle: Callable) -> list[int]:
    numbers = [0, 1, 2]
    shuffle(numbers)
    return numbers


@pytest.mark.parametrize("name", INTEGERS)
def test_whole_numbers_are_even(name):
    assert probabilities(lambda: int(INTEGERS[name](12))) == {n: pytest.approx(1 / 12) for n in range(12)}


WRONG = {  # never exact: refuted, or undecided
    "halved in place": lambda p, q: bool(torch.rand(1).mul_(0.5) * float(q) < p),
    "endpoint": lambda p, q: np.random.default_rng().integers(0, 1, endpoint=True) == 0,
    "integers of torch": lambda p, q: bool((torch.rand(1) * 3).to(torch.int64) <= 0),
    "bfloat16": lambda p, q: bool(torch.rand(1).to(torch.bfloat16) * float(q) < p),
    "one over a number of both signs": lambda p, q: 1 / (random.random() - 0.5) < 0,
    "log of a number of both signs": lambda p, q: bool(np.log(np.random.rand() - 0.5) < 0),
    "alpha": lambda p, q: bool(torch.add(torch.zeros(1), torch.rand(1), alpha=0.5 * float(q)) < p),
    "NaN is above all": lambda p, q: random.random() > math.nan,
    "unnormalised multinomial": lambda p, q: np.random.multinomial(1, [0.1, 0.1])[0] == 1,
    "equality of tensors": lambda p, q: bool((torch.rand(1) == 0.5).any()),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_coins_do_not_pass_for_right_ones(name):
    try:
        assert not accepts_as_it_should(WRONG[name])
    except Undecided:
        pass


@pytest.mark.parametrize("name", ["mul_", "*=", "a view"])
def test_a_sampler_that_writes_in_place_is_judged_by_what_it_wrote(name):
    def sampler(draft_tokens, draft_probs, target_probs, factor=1.0):
        u = torch.rand(1)
        if len(draft_tokens):
            WRITES[name](u, float(draft_probs[0, draft_tokens[0]]) * factor)
            if not u < target_probs[0, draft_tokens[0]]:
                rest = np.maximum(target_probs[0] - draft_probs[0], 0)
                return [np.random.choice(len(rest), p=rest / rest.sum())]
        return [draft_tokens[0]] if len(draft_tokens) else [np.random.choice(len(target_probs[0]), p=target_probs[0])]

    def halves(draft_tokens, draft_probs, target_probs):
        return sampler(draft_tokens, draft_probs, target_probs, 0.5)

    assert certify(sampler, "chain", num_worlds=3).status == "exact"
    assert certify(halves, "chain", num_worlds=10).status == "refuted"


@given(st.fractions(-1, 2, max_denominator=12), st.integers(1, 3))
def test_maps_that_are_not_monotone_have_the_law_of_their_points(x, bits):
    """On the lattice, where each point can be asked for its own answer."""
    half = Fraction(1, 2)
    questions = {
        "abs": lambda u: abs(u - half) < x,
        "int": lambda u: int(3 * (u - half)) < x,
        "ceil": lambda u: math.ceil(3 * u - 1) <= x,
        "equal": lambda u: u == x,
        "unequal": lambda u: u != x,
        "one over": lambda u: 1 / (u + half) > x,
        "both signs": lambda u: 1 / (u - Fraction(1, 3)) < x,
        "fall": lambda u: math.floor((1 - u) * 2) >= x,
    }
    for name, question in questions.items():
        found = law(lambda dice: bool(question(UndrawnNumber(LatticeUniform(dice, ("u",), [], bits)))))  # noqa: B023
        points = [question(Fraction(k, 2**bits)) for k in range(2**bits)]
        assert found.get(True, 0) == Fraction(sum(points), len(points)), name


@given(st.fractions(0, 1, max_denominator=12))
def test_what_is_known_of_a_number_after_its_sign_is_kept(x):
    def program(dice):
        u = UndrawnNumber(Uniform(dice, ("u",), []))
        return bool(abs(2 * u - 1) < x), bool(u < Fraction(1, 2))

    assert law(program) == {key: c for key, c in laws_of_halves(x).items() if c}


def laws_of_halves(x: Fraction) -> dict:
    return {(near, low): (x if near else 1 - x) / 2 for near in (True, False) for low in (True, False)}
