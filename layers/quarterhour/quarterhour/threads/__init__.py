"""Discussion threads: messages about an order, a line of a statement, or a report."""
