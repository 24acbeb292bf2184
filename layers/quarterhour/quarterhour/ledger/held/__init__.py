"""Held events: posted once what they wait for is there, listed until then, and released, approved or discarded."""
