"""Orders: each there whole or not at all, its status kept with its history, and billed exactly once when it is paid."""
