"""Parking: a queue of stream records that can never be applied, with their content."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quarterhour.aws.items import chunks
from quarterhour.aws.retries import with_retries
from quarterhour.aws.streams import Poison, Record
from quarterhour.aws.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import (
        ChangeMessageVisibilityBatchRequestEntryTypeDef,
        ChangeMessageVisibilityBatchRequestTypeDef,
        MessageTypeDef,
    )

_MOST_MESSAGES: Final = 10


@dataclass(frozen=True, slots=True)
class Unparked:
    """How many parked records were applied, and how many had to stay."""

    applied: int
    kept: int

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
            with_retries(lambda body=body: self._client.send_message(QueueUrl=self._queue_url, MessageBody=body), "SQS")  # type: ignore[misc]
            # The reason may quote the content: both stand in the queue alone.
            logger.error("record parked", sequence=one.record["dynamodb"].get("SequenceNumber"))

    def replay(self, apply: Callable[[Record], bool], in_time: Callable[[], bool]) -> Unparked:
        """Apply each parked record once, remove those that ``apply`` accepts, and return how many were and were not.

        A record that stays is hidden until the run ends, so that the run does not receive it again. Then it is made
        visible at once: the alarm on the queue must not turn OK while it is there.
        """
        applied = 0
        hidden: dict[str, None] = {}
        try:
            while in_time() and (messages := self._receive()):
                hidden |= {message["ReceiptHandle"]: None for message in messages}
                for message in messages:
                    if in_time() and apply(json.loads(message["Body"])["record"]):
                        self._client.delete_message(QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"])
                        del hidden[message["ReceiptHandle"]]
                        applied += 1
        finally:
            self._show(list(hidden))
        return Unparked(applied, len(hidden))

    def _receive(self) -> Sequence["MessageTypeDef"]:
        answer = self._client.receive_message(QueueUrl=self._queue_url, MaxNumberOfMessages=_MOST_MESSAGES)
        return answer.get("Messages", [])

    def _show(self, receipts: Sequence[str]) -> None:
        for some in chunks(receipts, _MOST_MESSAGES):
            self._client.change_message_visibility_batch(**visible_request(self._queue_url, some))


def visible_request(queue_url: str, receipts: Sequence[str]) -> "ChangeMessageVisibilityBatchRequestTypeDef":
    """Build the ChangeMessageVisibilityBatch that makes up to 10 received messages visible again."""
    entries: list[ChangeMessageVisibilityBatchRequestEntryTypeDef] = [
        {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": 0} for number, receipt in enumerate(receipts)
    ]
    return {"QueueUrl": queue_url, "Entries": entries}
