"""Rate cards: an agency's commission rates and fees by product category, location and currency, from an instant on."""
