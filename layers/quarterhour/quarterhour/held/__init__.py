"""Held events: posted once what they wait for is there, listed, and released or discarded by operators."""
