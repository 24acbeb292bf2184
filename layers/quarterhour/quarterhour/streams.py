"""DynamoDB stream records as Lambda hands them over: their parts, and parking those that can never be applied."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quarterhour import aws
from quarterhour.aws import Item
from quarterhour.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

Record = dict[str, Any]
"""One record of a stream event, as Lambda hands it over."""

SEQUENCE_DIGITS: Final = 40
_MOST_MESSAGES: Final = 10
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


@dataclass(slots=True)
class Unparked:
    """How many parked records were applied, and how many had to stay."""

    applied: int = 0
    kept: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return it as the function answers it."""
        return {"applied": self.applied, "kept": self.kept}


class Parking:
    """The queue of records that can never be applied, with their content: the service's own holds positions only."""

    def __init__(self, client: "SQSClient", queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    def park(self, poison: Iterable[Poison]) -> None:
        """Send each record with its reason; what cannot be sent raises, so that nothing is passed over."""
        for one in poison:
            body = json.dumps({"reason": one.reason, "record": one.record}, default=str)
            aws.persist(lambda body=body: self._client.send_message(QueueUrl=self._queue_url, MessageBody=body), "SQS")  # type: ignore[misc]
            # The reason may quote the content: both stand in the queue alone.
            logger.error("record parked", sequence=one.record["dynamodb"].get("SequenceNumber"))

    def replay(self, apply: Callable[[Record], bool], in_time: Callable[[], bool]) -> "Unparked":
        """Apply what is parked, each record once, and take those off the queue that are applied.

        The others stay, and are seen again after the queue's visibility timeout.
        """
        result = Unparked()
        while in_time():
            answer = self._client.receive_message(QueueUrl=self._queue_url, MaxNumberOfMessages=_MOST_MESSAGES)
            messages = answer.get("Messages", [])
            for message in messages:
                if in_time() and apply(json.loads(message["Body"])["record"]):
                    self._client.delete_message(QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"])
                    result.applied += 1
                else:
                    result.kept += 1
            if not messages:
                break
        return result
