"""Planted faults of the drafters other than EAGLE's, a file a drafter."""
