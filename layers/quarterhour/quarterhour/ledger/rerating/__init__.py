"""Rerating: the commissions of recorded events by another rate card."""
