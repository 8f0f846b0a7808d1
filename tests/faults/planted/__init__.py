"""Planted faults of the package, a file a family; see `../fault.py` for a row and `../mutation.py` for the runner."""

from . import (
    certifying,
    certifying_worlds,
    dice,
    grow,
    loop,
    measuring,
    network,
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
