"""The archive's key in the Entity table."""

from typing import Final

from quarterhour.aws.entity import Key

ARCHIVE_KEY: Final[Key] = {"pk": "CONTROL", "sk": "archive"}
"""The key of the control item with the last quarter-hour whose items are archived."""
