"""DynamoDB stream records as Lambda delivers them: their parts, and the answer that names failed records."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from quarterhour.aws.items import Item

Record = dict[str, Any]
"""One record of a stream event, as Lambda hands it over."""

SEQUENCE_DIGITS: Final = 40
_TTL_DELETIONS: Final = "dynamodb.amazonaws.com"


def sequence(record: Record) -> str:
    """Return the record's sequence number, padded so that it compares as text.

    The numbers vary in length and are too long for a DynamoDB number.
    """
    return str(record["dynamodb"]["SequenceNumber"]).zfill(SEQUENCE_DIGITS)


def new_image(record: Record) -> Item:
    """Return the item as the write left it; raise ``ValueError`` where the record holds none."""
    try:
        image: Item = record["dynamodb"]["NewImage"]
    except KeyError as error:
        raise ValueError("the record holds no new image") from error
    return image


def is_insert(record: Record) -> bool:
    """Tell whether the record is of an item written for the first time, and by no TTL."""
    principal = (record.get("userIdentity") or {}).get("principalId")
    return record.get("eventName") == "INSERT" and principal != _TTL_DELETIONS


@dataclass(frozen=True, slots=True)
class Poison:
    """A record that can never be applied, and why."""

    record: Record
    reason: str


def failures(records: Iterable[Record], failed: Iterable[str]) -> dict[str, list[dict[str, str]]]:
    """Tell Lambda from where on to deliver a batch again: the lowest failed sequence number (padded), or nothing.

    The answer must hold the number just as it was delivered: an unknown one fails the whole batch.
    """
    lowest = min(failed, default=None)
    delivered = (record["dynamodb"]["SequenceNumber"] for record in records if sequence(record) == lowest)
    return {"batchItemFailures": [{"itemIdentifier": number} for number in delivered]}
