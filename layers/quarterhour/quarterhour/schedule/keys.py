"""The keys of what is wanted of the schedule, and of its changes."""

from typing import Final

from quarterhour.entity import Key

SCHEDULE: Final = "SCHEDULE"
"""The partition of all that concerns the schedule."""
WANTED: Final[Key] = {"pk": SCHEDULE, "sk": "wanted"}
"""The item that says what is wanted now."""

_CHANGE: Final = "change#"
_DIGITS: Final = 12
FIRST_CHANGE: Final = _CHANGE
LAST_CHANGE: Final = _CHANGE + ":"
"""What sorts before, and behind, every change."""


def change_key(version: int) -> Key:
    """Return the key of a change: ``change#000000000042``, in the order of the changes."""
    return {"pk": SCHEDULE, "sk": f"{_CHANGE}{version:0{_DIGITS}d}"}


def version_of(sk: str) -> int:
    """Read the number of a change from its sort key; raise ``ValueError`` where it is none."""
    digits = sk.removeprefix(_CHANGE)
    if digits == sk or len(digits) != _DIGITS or not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"{sk!r} is no change of the schedule")
    return int(digits)
