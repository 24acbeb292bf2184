"""The error that the command line tells as one clear line."""


class LocalError(Exception):
    """Something outside the product is not as the local stack needs it; the message says what, and what helps."""
