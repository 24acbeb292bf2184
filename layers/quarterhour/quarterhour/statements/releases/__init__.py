"""Releases: decisions about drafts, and the runs that make numbered statements of them."""
