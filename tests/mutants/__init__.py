"""The bank of planted faults; see `fault.py` for a row and `../mutation.py` for the runner."""

from . import dice, grow, loop, network, neutral, sampled, sampling, storage, training, tree, verify

FAMILIES = (tree, sampling, dice, verify, sampled, grow, network, loop, storage, training)
FAULTS = tuple(fault for family in FAMILIES for fault in family.FAULTS)
NEUTRAL = neutral.FAULTS
