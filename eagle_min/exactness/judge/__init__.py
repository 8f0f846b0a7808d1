"""The judge: the kinds of samplers, the search for a world that refutes one, and the report."""
