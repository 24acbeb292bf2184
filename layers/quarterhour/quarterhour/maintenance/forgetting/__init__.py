"""Forgetting: customers and messages that data protection asks to forget, and data from before the vault."""
