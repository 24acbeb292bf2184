"""A parked delivery: a signed one of which something could not be recorded, with its content. Pure values."""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.aws.items import chunks
from quarterhour.intake.connections.keys import content_key, parked_key
from quarterhour.intake.connections.state import PARKED, WAITING

if TYPE_CHECKING:
    from quarterhour.intake.connections import api

_PART: Final = 350_000
"""Characters of one item of a content; DynamoDB takes 400 KB."""
LONGEST_REASON: Final = 1000


@dataclass(frozen=True, slots=True)
class Parked:
    """A parked delivery without its content. ``parts``: how many items its content has.

    ``waits_for``: the keys of the events with which it is applied again.
    """

    id: str
    topic: str
    reason: str
    received_at: str
    size: int
    parts: int
    waits_for: tuple[str, ...] = ()

    def as_item(self, connection: str) -> dict[str, Any]:
        """Return the item of the Entity table."""
        return {
            **parked_key(connection, self.id),
            "topic": self.topic,
            "reason": self.reason,
            "received_at": self.received_at,
            "size": self.size,
            "parts": self.parts,
            "waits_for": list(self.waits_for),
        }

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_item`` returned."""
        return cls(
            values["sk"],
            values["topic"],
            values["reason"],
            values["received_at"],
            int(values["size"]),
            int(values["parts"]),
            tuple(values["waits_for"]),
        )

    def change(self, sign: int) -> dict[str, int]:
        """Return what its parking (1) or its end (-1) adds to the counts of its connection."""
        return {PARKED: sign, **({WAITING: sign} if self.waits_for else {})}

    def shown(self) -> "api.ParkedDelivery":
        """Return the parked delivery as the API lists it."""
        return {
            "id": self.id,
            "topic": self.topic,
            "reason": self.reason,
            "received_at": self.received_at,
            "bytes": self.size,
        }


def content_items(connection: str, id_: str, body: bytes) -> list[dict[str, Any]]:
    """Return the items that hold the content of a parked delivery."""
    text = b64encode(zlib.compress(body)).decode()
    return [
        {**content_key(connection, id_, number), "number": number, "text": part}
        for number, part in enumerate(chunks(text, _PART))
    ]


def content_of(items: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the content that items hold, in any order."""
    parts = sorted(items, key=lambda item: int(item["number"]))
    return zlib.decompress(b64decode("".join(part["text"] for part in parts)))
