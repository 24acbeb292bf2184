"""The schedule's keys in the Entity table, built and parsed here alone."""

from typing import Final

from quarterhour.aws.entity import Key

SCHEDULE: Final = "SCHEDULE"
"""The partition of the desired schedule and its changes."""
DESIRED_KEY: Final[Key] = {"pk": SCHEDULE, "sk": "wanted"}
"""The item of the desired schedule."""

_CHANGE: Final = "change#"
_DIGITS: Final = 12
FIRST_CHANGE: Final = _CHANGE
LAST_CHANGE: Final = _CHANGE + ":"
"""What sorts before, and after, every change."""


def change_key(version: int) -> Key:
    """Return the key of a change: ``change#000000000042``, in the order of the changes."""
    return {"pk": SCHEDULE, "sk": f"{_CHANGE}{version:0{_DIGITS}d}"}


def version_of(sk: str) -> int:
    """Read the number of a change from its sort key; raise ``ValueError`` where it is none."""
    digits = sk.removeprefix(_CHANGE)
    if digits == sk or len(digits) != _DIGITS or not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"{sk!r} is no change of the schedule")
    return int(digits)
