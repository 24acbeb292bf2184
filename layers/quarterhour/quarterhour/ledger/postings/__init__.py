"""Postings as the ledger stores them: segments, partitions, and reading them by their keys."""
