"""The records of a table's stream, in one shard."""

from collections import deque
from itertools import islice
from typing import Any, Final
from uuid import uuid4

from quarterhour.model import clock
from quarterhour_tools.emulator.dynamodb.errors import CallError, InvalidCallError
from quarterhour_tools.emulator.dynamodb.sizes import item_size
from quarterhour_tools.emulator.dynamodb.values import Item

SHARD: Final = "shardId-00000001760000000000-00000001"
_FIRST: Final = 10**20
"""The first sequence number: all have as many digits, so that they compare as texts, too."""
_MOST_RECORDS: Final = 1000
_IMAGES: Final = {
    "KEYS_ONLY": (),
    "NEW_IMAGE": ("NewImage",),
    "OLD_IMAGE": ("OldImage",),
    "NEW_AND_OLD_IMAGES": ("NewImage", "OldImage"),
}


class Stream:
    """The records since the oldest that a reader may still need."""

    def __init__(self, table: str, region: str, account: str, view: str) -> None:
        self.label = clock.now().isoformat(timespec="milliseconds")[:23]
        self.arn = f"arn:aws:dynamodb:{region}:{account}:table/{table}/stream/{self.label}"
        self.view = view
        self._region = region
        self._records: deque[dict[str, Any]] = deque()
        self._first = _FIRST

    def add(self, key: Item, before: Item | None, after: Item | None, *, expired: bool = False) -> None:
        """Add the record of a write; ``expired``: it deletes an item whose time to live is over."""
        every = {"NewImage": after, "OldImage": before}
        images: dict[str, Any] = {name: every[name] for name in _IMAGES[self.view] if every[name] is not None}
        kind = "MODIFY" if before and after else "INSERT" if after else "REMOVE"
        self._records.append(
            {
                "eventID": uuid4().hex,
                "eventName": kind,
                "eventVersion": "1.1",
                "eventSource": "aws:dynamodb",
                "awsRegion": self._region,
                "dynamodb": {
                    "ApproximateCreationDateTime": clock.now().replace(microsecond=0),
                    "Keys": key,
                    **images,
                    "SequenceNumber": str(self._first + len(self._records)),
                    "SizeBytes": item_size(key) + sum(map(item_size, images.values())),
                    "StreamViewType": self.view,
                },
                **({"userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}} if expired else {}),
            }
        )

    def iterator(self, kind: str, sequence_number: str = "") -> str:
        """Return the iterator of a place in the stream."""
        places = {
            "TRIM_HORIZON": self._first,
            "LATEST": self._first + len(self._records),
            "AT_SEQUENCE_NUMBER": int(sequence_number or 0),
            "AFTER_SEQUENCE_NUMBER": int(sequence_number or 0) + 1,
        }
        if kind not in places:
            raise InvalidCallError(f"{kind} is no type of a shard iterator")
        return f"{self.arn}|{places[kind]}"

    def records(self, iterator: str, limit: int = _MOST_RECORDS) -> dict[str, Any]:
        """Return the records from an iterator on, and the iterator behind them."""
        place = int(iterator.rpartition("|")[2])
        if place < self._first:
            raise CallError("TrimmedDataAccessException", "The records of this iterator are gone")
        start = place - self._first
        found = list(islice(self._records, start, start + min(limit, _MOST_RECORDS)))
        return {"Records": found, "NextShardIterator": f"{self.arn}|{place + len(found)}"}

    def forget(self) -> None:
        """Forget the records, which all readers have read."""
        self._first += len(self._records)
        self._records.clear()
