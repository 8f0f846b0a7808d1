"""Experiments about claims of the papers, or of articles about them."""
