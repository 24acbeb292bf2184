"""The schedule's keys in the Entity table, which are built and parsed only here."""

from typing import Final

from quarterhour.aws.entity import Key

SCHEDULE: Final = "SCHEDULE"
"""The partition of the desired schedule and its changes."""
DESIRED_KEY: Final[Key] = {"pk": SCHEDULE, "sk": "desired"}
"""The key of the desired schedule."""

_CHANGE: Final = "change#"
_DIGITS: Final = 12
FIRST_CHANGE: Final = _CHANGE
LAST_CHANGE: Final = _CHANGE + ":"
"""Sort keys before, and after, all changes."""


def change_key(version: int) -> Key:
    """Return the key of a change, ``change#000000000042``; keys sort in the order of the changes."""
    return {"pk": SCHEDULE, "sk": f"{_CHANGE}{version:0{_DIGITS}d}"}


def version_of(sk: str) -> int:
    """Parse the version of a change from its sort key; raise ``ValueError`` for any other key."""
    digits = sk.removeprefix(_CHANGE)
    if digits == sk or len(digits) != _DIGITS or not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"{sk!r} is not a change of the schedule")
    return int(digits)
