"""Drafts: the lines of each account for a period, collected, added up, written and published by a run."""
