"""Versioned documents: agencies, the owner, rate cards, exchange rates, results of reconciliations."""
