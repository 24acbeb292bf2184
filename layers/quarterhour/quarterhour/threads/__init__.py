"""Discussion threads: messages about an order, a report, or a line of a report."""
