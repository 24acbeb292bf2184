"""The ledger: every billing event exactly once, under its quarter-hour."""
