"""Random numbers that nobody has drawn, and the doors behind which they are."""
