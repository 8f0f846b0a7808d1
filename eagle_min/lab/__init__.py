"""Measurement: what the models and the drafters do, with the command that says so."""
