"""Forgetting: customers and messages that data protection asks to forget, and data of before the vault."""
