"""The demo: a generated day and year of a marketplace, and what they must come to."""
