"""The bank of planted faults; see `fault.py` for a row and `../mutation.py` for the runner."""

from . import (
    certifying,
    certifying_worlds,
    dice,
    grow,
    loop,
    measuring,
    network,
    neutral,
    rivals_lookup,
    rivals_medusa,
    rivals_mtp,
    rivals_small_model,
    sampled,
    sampling,
    storage,
    studies,
    training,
    tree,
    verify,
)
from .fault import Fault

FAMILIES = (
    tree,
    sampling,
    dice,
    verify,
    sampled,
    grow,
    network,
    loop,
    storage,
    training,
    measuring,
    studies,
    certifying,
    certifying_worlds,
    rivals_medusa,
    rivals_mtp,
    rivals_small_model,
    rivals_lookup,
)
FAULTS = tuple(fault for family in FAMILIES for fault in family.FAULTS)
CONTROL = Fault(
    "nothing but a comment",
    "eagle_min.config",
    "import math\n",
    "import math  # the same\n",
    tuple(sorted({killer for fault in FAULTS for killer in fault.killers})),
    "control: every test that kills a fault is green without one",
    neutral=True,
)
NEUTRAL = (CONTROL, *neutral.FAULTS)
