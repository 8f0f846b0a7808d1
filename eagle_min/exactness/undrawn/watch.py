"""Every door through which a Python program gets its random numbers, and dice behind each.

Inside `watched()` whatever draws in `random`, `numpy.random`, `secrets`, `os`, `uuid` and torch is another: a
stand-in that asks dice, or one that refuses by name. Outside, all is as before, whatever happened in between.
Read next: `worlds.py`.
"""

import contextlib
import os
import random
import secrets
import uuid
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch

from ..no_verdict import none_lost, undecided
from .generators import BitSource, GeneratorSource, LegacySource, PythonSource, SeedSource
from .numpy_arrays import UndrawnArray
from .stand_ins import CURRENT, refuse, refuse_in_run
from .torch_draws import TorchSource, from_array

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
SEEDING = "manual_seed seed set_state get_state clone_state set_offset graphsafe_set_state graphsafe_get_state".split()
ENTROPY = ((os, "urandom"), (os, "getrandom"), (uuid, "uuid1"), (uuid, "uuid4"))


class TorchGenerator(torch.Generator):
    """Stands for the class; refused where it is made or seeded in a run."""

    def __new__(cls, *args: Any, **kwargs: Any) -> torch.Generator:
        if CURRENT.dice is not None:
            undecided("a torch.Generator is made in the call, so it draws the same numbers each time")
        return super().__new__(cls, *args, **kwargs)


for _name in filter(partial(hasattr, torch.Generator), SEEDING):
    setattr(TorchGenerator, _name, refuse_in_run(f"torch.Generator.{_name}", getattr(torch.Generator, _name)))


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
            other = getattr(source, name) if known else refuse(f"{module.__name__}.{name}")
            yield module, name, classes.get(name, other)
    for module in (torch, torch.random, torch.cuda):
        for name in filter(partial(hasattr, module), STATES):
            yield module, name, refuse("a seed or a saved state of the generator")
    for module, name in ENTROPY:
        if hasattr(module, name):
            yield module, name, refuse_in_run(f"{module.__name__}.{name}", getattr(module, name))
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
