"""The ledger's keys in the Entity table and its indexes, built and parsed here alone."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, NamedTuple

from quarterhour.aws.entity import Key, Range, Values
from quarterhour.model import money
from quarterhour.model.identifiers import SEPARATOR, Identity, base58_prefix
from quarterhour.model.quarter_hours import QuarterHour

CHECKPOINT_KEY: Final[Key] = {"pk": "CONTROL", "sk": "checkpoint"}
"""The key of the control item with the last sealed quarter-hour and the plan of the unfinished run."""
SEALED_THROUGH: Final = "sealed_through"
"""The attribute of that item with the last sealed quarter-hour."""
RECORDED: Final = f"recorded{SEPARATOR}"
"""The prefix of the sort keys of the control items that mark quarter-hours: something may be recorded in them."""
SHARDS_KEY: Final[Key] = {"pk": "CONTROL", "sk": "shards"}
"""The key of the control item with the highest number of ledger shards ever used: reports read that many."""
LINKED: Final = f"LINKED{SEPARATOR}"
"""The prefix of the partition keys of the events that refer to a sale."""
_HASH_LENGTH: Final = 22
_FIRST: Final = "!"
_LAST: Final = "\U0010ffff"


def recorded_key(quarter_hour: QuarterHour) -> Key:
    """Return the key of the mark of a quarter-hour: ``CONTROL``, ``recorded#202610230130``."""
    return {"pk": CHECKPOINT_KEY["pk"], "sk": f"{RECORDED}{quarter_hour}"}


def recorded_range(first: QuarterHour, last: QuarterHour) -> Range:
    """Return the range of the marks of some quarter-hours, both included, read strongly consistent."""
    low, high = recorded_key(first)["sk"], recorded_key(last)["sk"]
    return Range(CHECKPOINT_KEY["pk"], low, high, consistent=True)


def recorded_of(mark: Mapping[str, Any]) -> QuarterHour:
    """Return the quarter-hour of a mark."""
    return QuarterHour.parse(mark["sk"].removeprefix(RECORDED))


def sealed_through_of(checkpoint: Mapping[str, Any]) -> QuarterHour:
    """Return the last sealed quarter-hour by the item with ``CHECKPOINT_KEY``."""
    return QuarterHour.parse(checkpoint[SEALED_THROUGH])


class LinkedEvent(NamedTuple):
    """An event that refers to a sale, or takes back a refund of it.

    ``changes``: how many linked events have changed the sale by then, this one included if it does. ``left``: what is
    left of the sale then; ``None`` of an event that is no sale.
    """

    identity: Identity
    changes: int
    left: Decimal | None


def linked_values(sale: Identity, linked: LinkedEvent) -> Values:
    """Return the item that lists an event with its sale: ``LINKED#shop#e-1`` and a hash.

    The identity itself would be too long: an identity can have 1,601 bytes, and a sort key at most 1,024.
    """
    event, changes, left = linked
    sk = base58_prefix(event.hash, _HASH_LENGTH)
    plain = None if left is None else money.plain(left)
    own = {"source": event.source, "id": event.id, "changes": changes, "left": plain}
    return {"pk": f"{LINKED}{sale}", "sk": sk, **own}


def linked_range(sale: Identity) -> Range:
    """Return the range of all events that refer to a sale, read strongly consistent."""
    return Range(f"{LINKED}{sale}", _FIRST, _LAST, consistent=True)


def linked_event_of(values: Mapping[str, Any]) -> LinkedEvent:
    """Return the event in an item that ``linked_values`` made."""
    left = Decimal(values["left"]) if "left" in values else None
    return LinkedEvent(Identity(values["source"], values["id"]), int(values["changes"]), left)


# ---------------------------------------------------------------- held events

HELD: Final = f"HELD{SEPARATOR}"
"""The prefix of the partition keys of all held events, in the table and in its indexes."""
HELD_SHARDS: Final = 4
"""The number of index partitions over which the held events are spread; each takes 1,000 writes a second."""
CURSOR_KEY: Final[Key] = {"pk": "CONTROL", "sk": "held"}
"""The key of the control item with the place after which the next attempt to post held events begins."""
LOWEST: Final = "0"
"""Sorts before every place in the indexes of held events."""
HIGHEST: Final = "~"
"""Sorts after every place, and after every place that begins with the instant before it."""
_HELD_SK: Final = "held"


class HeldStatus(StrEnum):
    """Whether an event still waits, or was discarded."""

    HELD = "held"
    DISCARDED = "discarded"


def held_place(held_at: str, identity: Identity) -> str:
    """Return the sort key in the indexes: the instant, then a hash that separates events of one millisecond."""
    return f"{held_at}{SEPARATOR}{base58_prefix(identity.hash, _HASH_LENGTH)}"


def held_at(place: str) -> str:
    """Return the instant in the place of a held event, even of one whose other attributes cannot be read."""
    return place.partition(SEPARATOR)[0]


def held_key(identity: Identity) -> Key:
    """Return the key of a held event."""
    return {"pk": f"{HELD}{identity}", "sk": _HELD_SK}


def held_partitions(status: HeldStatus) -> list[str]:
    """Return the partitions of ``gsi1`` that hold the events of a status, each by age."""
    return [f"{HELD}{status}{SEPARATOR}{shard}" for shard in range(HELD_SHARDS)]


def agency_partition(status: HeldStatus, agency: str) -> str:
    """Return the partition of ``gsi2`` that holds the events of an agency in a status, by age."""
    return f"{HELD}{status}{SEPARATOR}{agency}"


def agency_of_partition(partition: str, status: HeldStatus) -> str:
    """Return the agency in what ``agency_partition`` returned."""
    return partition.removeprefix(f"{HELD}{status}{SEPARATOR}")


def index_values(identity: Identity, agency: str, status: HeldStatus, place: str) -> dict[str, str]:
    """Return the index attributes of a held event."""
    shard = identity.hash[0] % HELD_SHARDS
    return {
        "gsi1pk": held_partitions(status)[shard],
        "gsi1sk": place,
        "gsi2pk": agency_partition(status, agency),
        "gsi2sk": place,
    }


def held_identity_of(values: Mapping[str, Any]) -> Identity:
    """Return the identity of the event in an item of a held event."""
    return Identity.parse(values["pk"].removeprefix(HELD))
