"""DynamoDB stream records as Lambda delivers them, and the response that names failed records."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from quarterhour.aws.items import Item

Record = dict[str, Any]
"""One record of a stream event, as Lambda delivers it."""

SEQUENCE_DIGITS: Final = 40
_TTL_DELETIONS: Final = "dynamodb.amazonaws.com"


def sequence(record: Record) -> str:
    """Return the record's sequence number, zero-padded so that numbers compare as text.

    Sequence numbers vary in length and are too long for a DynamoDB number.
    """
    return str(record["dynamodb"]["SequenceNumber"]).zfill(SEQUENCE_DIGITS)


def new_image(record: Record) -> Item:
    """Return the item after the write; raise ``ValueError`` if the record does not hold it."""
    return _image(record, "NewImage", "new")


def old_image(record: Record) -> Item:
    """Return the item before the write; raise ``ValueError`` if the record does not hold it."""
    return _image(record, "OldImage", "old")


def with_new_image(record: Record, item: Item) -> Record:
    """Return a record with another item after the write."""
    return {**record, "dynamodb": {**record["dynamodb"], "NewImage": item}}


def _image(record: Record, name: str, which: str) -> Item:
    try:
        image: Item = record["dynamodb"][name]
    except KeyError as error:
        raise ValueError(f"the record holds no {which} image") from error
    return image


def is_insert(record: Record) -> bool:
    """Return whether the record is the insertion of an item, not made by TTL."""
    principal = (record.get("userIdentity") or {}).get("principalId")
    return record.get("eventName") == "INSERT" and principal != _TTL_DELETIONS


@dataclass(frozen=True, slots=True)
class Poison:
    """A record that can never be applied, and the reason."""

    record: Record
    reason: str


def failures(records: Iterable[Record], failed: Iterable[str]) -> dict[str, list[dict[str, str]]]:
    """Return the response that makes Lambda deliver a batch again from the lowest failed record on.

    ``failed``: padded sequence numbers; without one, the response reports success. The response holds the number as it
    was delivered, because Lambda fails the whole batch for an unknown number.
    """
    lowest = min(failed, default=None)
    delivered = (record["dynamodb"]["SequenceNumber"] for record in records if sequence(record) == lowest)
    return {"batchItemFailures": [{"itemIdentifier": number} for number in delivered]}
