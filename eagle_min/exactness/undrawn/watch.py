"""Every door through which a Python program gets its random numbers, and dice behind each.

Inside `watched()` whatever draws in `random`, `numpy.random`, `secrets`, `os`, `uuid` and torch is replaced by a
stand-in that asks dice, or by a function that refuses by name. Inside `drawing_from(dice, ...)`, which is one run of a
program, the stand-ins ask these dice. Afterwards all is as before, whatever happened in between.
Read next: `../worlds/tables.py`.
"""

import contextlib
import linecache
import os
import pickle
import random
import re
import secrets
import sys
import uuid
from collections.abc import Iterator
from functools import partial
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np
import torch

from ...dice import Dice
from ..no_verdict import NoVerdict, Undecided, described, none_lost, undecided
from .generators import BitSource, GeneratorSource, LegacySource, PythonSource, SeedSource
from .numpy_arrays import UndrawnArray
from .stand_ins import THIS_RUN, refusing, refusing_in_run
from .torch_draws import TorchGenerator, TorchSource, from_array

# what errors say that are about the arrays and numbers which stand for others
ABOUT_STAND_INS = re.compile(
    r"Undrawn|numpy\.object_|dtype\('O'\)|object arrays?\b|for the input types|of type Fraction"
)
TYPE_CHECK = re.compile(r"\bisinstance\(|\btype\(")
REAL_STATE = random.getstate  # of the generator behind the functions of `random`
# of the modules whose every function counts as one that draws
DRAW_NOTHING = {"numpy.random": {"test"}, "random": set(), "secrets": {"compare_digest"}}
CLASSES = {
    "random": dict.fromkeys(("Random", "SystemRandom"), PythonSource),
    "secrets": {"SystemRandom": PythonSource},
    "numpy.random": {
        "RandomState": LegacySource,
        **dict.fromkeys(("Generator", "default_rng"), GeneratorSource),
        **dict.fromkeys("BitGenerator MT19937 PCG64 PCG64DXSM Philox SFC64".split(), BitSource),
        "SeedSequence": SeedSource,
    },
}
STATES = "manual_seed manual_seed_all seed seed_all get_rng_state set_rng_state initial_seed fork_rng".split()
ENTROPY = ((os, "urandom"), (os, "getrandom"), (uuid, "uuid1"), (uuid, "uuid4"))


def _from_numpy(real: Any, array: Any) -> Any:
    return from_array(array) if isinstance(array, UndrawnArray) else real(array)


def replacements() -> Iterator[tuple[Any, str, Any]]:
    """(module, name, what stands there inside `watched`)."""
    for module, source in ((random, PythonSource()), (np.random, LegacySource()), (secrets, None)):
        classes, passed = CLASSES[module.__name__], DRAW_NOTHING[module.__name__]
        for name in dir(module):
            if name.startswith("_") or name in passed or not callable(getattr(module, name)):
                continue
            known = source is not None and hasattr(type(source), name)
            other = getattr(source, name) if known else refusing(f"{module.__name__}.{name}")
            yield module, name, classes.get(name, other)
    for module in (torch, torch.random, torch.cuda):
        for name in filter(partial(hasattr, module), STATES):
            yield module, name, refusing("a seed or a saved state of the generator")
    for module, name in ENTROPY:
        if hasattr(module, name):
            yield module, name, refusing_in_run(f"{module.__name__}.{name}", getattr(module, name))
    yield torch, "Generator", TorchGenerator
    yield torch, "from_numpy", partial(_from_numpy, torch.from_numpy)


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Random sources ask dice inside; everything is put back at the end, whatever happens. A `NoVerdict` that was
    caught inside, as by a program while it was imported, is raised at the end."""
    with none_lost(), contextlib.ExitStack() as stack:
        for module, name, stand_in in replacements():
            stack.enter_context(mock.patch.object(module, name, stand_in))
        stack.enter_context(TorchSource())
        yield


@contextlib.contextmanager
def drawing_from(dice: Dice, corners: list[str], bits: int | None = None) -> Iterator[None]:
    """All draws of a run come from these dice. `corners` gets a line for each comparison that only a number of
    exactly 0 decides; with `bits` uniform numbers are multiples of 2^-bits. `Undecided` for errors that say no more
    than that a number is not there."""
    THIS_RUN.begin(dice, corners, bits)
    try:
        yield
    except Exception as error:
        if ABOUT_STAND_INS.search(described(error)):
            undecided(described(error), last_frame(error))
        if THIS_RUN.num_draws and checks_a_type(last_frame(error)):
            undecided(f"{described(error)}, where perhaps the type of a random number is looked at", last_frame(error))
        raise
    finally:
        THIS_RUN.dice = None


@contextlib.contextmanager
def none_unwatched() -> Iterator[None]:
    """`Undecided` at the end where one of the real generators has drawn inside, whatever else came of it. It is asked
    once for many runs: to look at the generators takes as long as a run."""
    before = real_states()
    try:
        yield
    finally:
        if real_states() != before and not isinstance(sys.exc_info()[1], NoVerdict):
            raise Undecided("a generator drew that is not watched, such as a function bound before the watch began")


def real_states() -> tuple:
    """The states of the generators that `random`, numpy and torch have of their own."""
    legacy = pickle.dumps(np.random.mtrand._rand._bit_generator.state)
    return REAL_STATE(), legacy, torch.default_generator.get_state().numpy().tobytes()


def last_frame(error: Exception) -> FrameType:
    """Where the error was raised."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame


def checks_a_type(frame: FrameType) -> bool:
    """Does the line that raised, or the one before it, ask for a type? What stands for a number has another one."""
    lines = (linecache.getline(frame.f_code.co_filename, frame.f_lineno - back) for back in (0, 1))
    return any(map(TYPE_CHECK.search, lines))
