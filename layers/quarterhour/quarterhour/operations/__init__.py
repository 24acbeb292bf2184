"""What an operator looks at first: the depths of the queues, and the delay of the reports."""
