"""Sales by location: totals of each location, from the country down, written as projections of the sealed lines."""
