"""Rebuild: compares counters with the sealed files, and repairs those that differ."""
