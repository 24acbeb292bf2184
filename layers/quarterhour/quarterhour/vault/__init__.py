"""The vault: the keys and names of customers, of whom everything else holds tokens."""
