"""Documents: every version is kept, the latest is read with one call, and permissions say who may read them."""
