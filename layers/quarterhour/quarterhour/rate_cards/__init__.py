"""Rate cards: an agency's commission rates and fees by product category and location, from an instant on."""
