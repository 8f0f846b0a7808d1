"""Planted faults of the package, a file a family; see `../fault.py` for a row and `../mutation.py` for the runner."""

from . import (
    certifying,
    certifying_worlds,
    claims,
    dice,
    grow,
    loop,
    measuring,
    network,
    sampled,
    sampling,
    storage,
    training,
    tree,
    verify,
)
from .drafters import lookup, medusa, mtp, small_model

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
    claims,
    certifying,
    certifying_worlds,
    medusa,
    mtp,
    small_model,
    lookup,
)
FAULTS = tuple(fault for family in FAMILIES for fault in family.FAULTS)
