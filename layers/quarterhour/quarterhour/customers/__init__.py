"""The vault keeps the key and the name of each customer; all other data hold tokens."""
