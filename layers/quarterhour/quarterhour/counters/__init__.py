"""Counters: live totals of each account by lifetime, day and quarter-hour, updated from the ledger's stream."""
