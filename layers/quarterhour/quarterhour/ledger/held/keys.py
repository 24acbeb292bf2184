"""The keys of held events in the Entity table and its indexes, built and parsed only here."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from quarterhour.aws.entity import Key
from quarterhour.model.identifiers import SEPARATOR, Identity, base58_prefix

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
_SK: Final = "held"
_SUFFIX_LENGTH: Final = 22


class HeldStatus(StrEnum):
    """Whether an event still waits, or was discarded."""

    HELD = "held"
    DISCARDED = "discarded"


def held_place(held_at: str, identity: Identity) -> str:
    """Return the sort key in the indexes: the instant, then a hash that separates events of one millisecond."""
    return f"{held_at}{SEPARATOR}{base58_prefix(identity.hash, _SUFFIX_LENGTH)}"


def held_at(place: str) -> str:
    """Return the instant in the place of a held event, even of one whose other attributes cannot be read."""
    return place.partition(SEPARATOR)[0]


def held_key(identity: Identity) -> Key:
    """Return the key of a held event."""
    return {"pk": f"{HELD}{identity}", "sk": _SK}


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


def identity_of(values: Mapping[str, Any]) -> Identity:
    """Return the identity of the event in an item of a held event."""
    return Identity.parse(values["pk"].removeprefix(HELD))
