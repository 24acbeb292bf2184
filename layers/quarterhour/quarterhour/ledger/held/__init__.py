"""Held events: reserved while they are recorded, posted later, listed, and released or discarded by operators."""
