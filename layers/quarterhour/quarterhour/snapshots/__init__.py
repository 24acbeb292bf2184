"""Snapshots: the state of every entity as it stood in each window of time, kept from the entity stream."""
