"""How a command ends: the error that it prints as one line, and what it prints and returns when interrupted."""

from typing import Final

INTERRUPTED: Final = 130
"""The exit code of an interrupted command, as shells have it."""
INTERRUPTED_MESSAGE: Final = "quarterhour: interrupted"


class ToolError(Exception):
    """The environment lacks something that a command needs; the message says what, and what helps."""
