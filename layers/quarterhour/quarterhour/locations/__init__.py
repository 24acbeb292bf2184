"""Sales by place: totals of each location, from the country down, written as projections of the sealed lines."""
