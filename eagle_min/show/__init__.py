"""What the terminal shows: the demo, one generation, and why two texts differ."""
