"""Discussions: messages on an order, a line of a statement, or a report."""
