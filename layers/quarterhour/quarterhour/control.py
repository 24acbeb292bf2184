"""The control items in the Entity table: few, each with a key of its own, shared by the functions."""

CHECKPOINT = {"pk": "CONTROL", "sk": "checkpoint"}
"""How far the reports have come, and the plan that is under way."""

SHARDS = {"pk": "CONTROL", "sk": "shards"}
"""The highest number of ledger shards ever used: a report must read as many."""
