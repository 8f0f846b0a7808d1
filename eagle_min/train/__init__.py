"""From text to weights: corpus, target, heads and rivals."""
