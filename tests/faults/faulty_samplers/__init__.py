"""Whole samplers with a fault in them, and controls that have none, a file a family; see `row.py` for a row."""

from . import acceptance, batches, coins, loops, steps, trees
from .row import Faulty

FAMILIES = (acceptance, coins, batches, trees, steps, loops)
FAULTS: tuple[Faulty, ...] = tuple(row for family in FAMILIES for row in family.FAULTS)
CONTROLS: tuple[Faulty, ...] = tuple(row for family in FAMILIES for row in getattr(family, "CONTROLS", ()))
