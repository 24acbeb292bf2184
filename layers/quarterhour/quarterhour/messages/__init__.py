"""Threads: the messages about an order, a line, a report, an agency or a statement."""
