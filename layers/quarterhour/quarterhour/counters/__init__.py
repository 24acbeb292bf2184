"""Live counters of each account, kept from the ledger's stream: lifetime, day and quarter-hour."""
