"""The ways in beside HTTP: messages of a queue, events of a bus, and files of an inbox bucket."""
