"""The ledger's keys in the Entity table, built and parsed here alone."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from quarterhour.aws.entity import Key, Range, Values
from quarterhour.model import money
from quarterhour.model.identifiers import SEPARATOR, Identity, base58_prefix
from quarterhour.model.quarter_hours import QuarterHour

CHECKPOINT_KEY: Final[Key] = {"pk": "CONTROL", "sk": "checkpoint"}
"""The key of the control item with the last sealed quarter-hour and the plan of the unfinished run."""
SEALED_THROUGH: Final = "sealed_through"
"""The attribute of that item with the last sealed quarter-hour."""
SHARDS_KEY: Final[Key] = {"pk": "CONTROL", "sk": "shards"}
"""The key of the control item with the highest number of ledger shards ever used: reports read that many."""
LINKED: Final = f"LINKED{SEPARATOR}"
"""The prefix of the partition keys of the events that refer to a sale."""
_HASH_LENGTH: Final = 22
_FIRST: Final = "!"
_LAST: Final = "\U0010ffff"


def sealed_through_of(checkpoint: Mapping[str, Any]) -> QuarterHour:
    """Return the last sealed quarter-hour by the item with ``CHECKPOINT_KEY``."""
    return QuarterHour.parse(checkpoint[SEALED_THROUGH])


def linked_values(sale: Identity, event: Identity, left: Decimal | None) -> Values:
    """Return the item that says that an event refers to a sale: ``LINKED#shop#e-1`` and a hash.

    ``left``: what the event leaves of the sale; ``None`` if it refers to an event that is no sale. The identity itself
    would be too long: an identity can have 1,601 bytes, and a sort key at most 1,024.
    """
    sk = base58_prefix(event.hash, _HASH_LENGTH)
    plain = None if left is None else money.plain(left)
    return {"pk": f"{LINKED}{sale}", "sk": sk, "source": event.source, "id": event.id, "left": plain}


def linked_range(sale: Identity) -> Range:
    """Return the range of all events that refer to a sale, read strongly consistent."""
    return Range(f"{LINKED}{sale}", _FIRST, _LAST, consistent=True)


def linked_event_of(values: Mapping[str, Any]) -> tuple[Identity, Decimal | None]:
    """Return the event in an item that ``linked_values`` made: its identity, and what it leaves of the sale."""
    return Identity(values["source"], values["id"]), Decimal(values["left"]) if "left" in values else None
