"""Quarterhour: a commission ledger for marketplaces, exactly once, sealed every quarter-hour."""

__version__ = "1.0.0"
