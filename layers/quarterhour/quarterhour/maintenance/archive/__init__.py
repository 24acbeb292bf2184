"""Moving the postings of old months out of the Ledger table, once they are in sealed files that are proven."""
