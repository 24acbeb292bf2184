"""Recording events exactly once: price, claim, append."""
