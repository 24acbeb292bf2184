"""The status of statements with its history, and disputes of single lines until they are resolved."""
