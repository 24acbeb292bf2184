"""Repairs and upkeep of stored data: rebuilding counters, archiving ledger items, forgetting customers."""
