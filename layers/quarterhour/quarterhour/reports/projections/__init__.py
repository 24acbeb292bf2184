"""Sales by location, and by product and category: projections of the sealed lines that the report of a run writes."""
