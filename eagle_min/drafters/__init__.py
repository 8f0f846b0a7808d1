"""The rivals, one file each, and the registry that knows every drafter by name."""
