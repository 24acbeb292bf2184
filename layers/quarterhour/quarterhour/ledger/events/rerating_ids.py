"""The ids of the adjustments that re-ratings post: each follows from the event that is rerated, and a number."""

from typing import Final

from quarterhour.model.identifiers import Identity, base58_prefix

_SUFFIX_LENGTH: Final = 22


_MOST_DIGITS: Final = 9
"""The most digits of an adjustment's number."""


_PREFIX: Final = "rerate-"


def adjustment_id(identity: Identity, number: int) -> str:
    """Return the id of an event's adjustment of this number, from 1 on; it depends on nothing else."""
    return f"{_PREFIX}{number}-{_suffix(identity)}"


def is_adjustment_id(id_: str, identity: Identity) -> bool:
    """Return whether an id is that of an adjustment of an event."""
    number = id_.removeprefix(_PREFIX).partition("-")[0]
    return number.isdecimal() and len(number) <= _MOST_DIGITS and id_ == adjustment_id(identity, int(number))


def _suffix(identity: Identity) -> str:
    return base58_prefix(identity.hash, _SUFFIX_LENGTH)
