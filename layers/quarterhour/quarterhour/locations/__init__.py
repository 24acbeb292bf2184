"""Sales by place: what was sold at each location, from the country down, settled from the sealed lines."""
