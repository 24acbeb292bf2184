"""Orders: each is stored whole or not at all, keeps its history, and is billed exactly once when it is paid."""
