"""The ledger's keys in the Entity table, built and parsed here alone."""

from typing import Final

from quarterhour.aws.entity import Key, Range
from quarterhour.model.identifiers import SEPARATOR, Identity

LINKED: Final = f"LINKED{SEPARATOR}"
"""The prefix of the partition keys of the events that refer to a sale."""
_FIRST: Final = "!"
_LAST: Final = "\U0010ffff"


def linked_key(sale: Identity, event: Identity) -> Key:
    """Return the key of the item that says that an event refers to a sale: ``LINKED#shop#e-1`` and ``shop#r-1``."""
    return {"pk": f"{LINKED}{sale}", "sk": str(event)}


def linked_range(sale: Identity) -> Range:
    """Return the range of all events that refer to a sale, read strongly consistent."""
    return Range(f"{LINKED}{sale}", _FIRST, _LAST, consistent=True)


def linked_event_of(sk: str) -> Identity:
    """Return the identity of the event in a sort key; raise ``ValueError`` for any other key."""
    return Identity.parse(sk)
