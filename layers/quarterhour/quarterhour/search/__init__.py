"""Finds by one text what has this name, number or id, without a span of time."""
