"""Documents: each version kept, the latest at hand, with permissions that tell who may read it."""
