"""Receivables: payments allocated to statements, what is open of each, and how long it has been due."""
