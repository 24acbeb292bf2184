"""Customers: the vault keeps the key and the name of each; all other data hold tokens. It forgets customers."""
