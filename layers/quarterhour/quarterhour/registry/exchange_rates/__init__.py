"""Exchange rates: the value of one unit of the base currency from an instant on, as a source has published it."""
