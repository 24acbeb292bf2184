"""Compares the lines of a payment provider's file with the ledger, and explains every difference."""
