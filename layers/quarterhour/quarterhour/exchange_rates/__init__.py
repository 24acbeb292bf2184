"""Exchange rates: what one unit of the base currency is worth, from an instant on, as somebody has stated it."""
