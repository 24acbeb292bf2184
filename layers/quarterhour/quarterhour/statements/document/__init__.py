"""A statement as it is shown: its tax, its amounts, its page, and its XML."""
