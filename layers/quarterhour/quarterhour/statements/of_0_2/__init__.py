"""Statements of 0.2.0, which a run numbered and sealed at once: to finish such a run, and to reseal its files."""
