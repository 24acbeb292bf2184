"""Rebuild: repairs counters from the sealed files."""
