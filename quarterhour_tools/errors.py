"""The error that a command prints as one line, and the message and exit code of an interrupt."""

from typing import Final

INTERRUPTED: Final = 130
"""The exit code of an interrupted command, as in shells."""
INTERRUPTED_MESSAGE: Final = "quarterhour: interrupted"


class ToolError(Exception):
    """The environment or an argument prevents a command; the message says why and how to fix it."""
