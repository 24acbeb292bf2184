"""The parking queues, which hold records that can never be applied, with their content if it fits.

The functions of the streams share one: each message says which of them parked it.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from botocore.exceptions import ClientError

from quarterhour.aws.items import chunks
from quarterhour.aws.retries import NETWORK_ERRORS, attempts, with_retries
from quarterhour.aws.streams import Poison, Record
from quarterhour.aws.telemetry import logger
from quarterhour.model.errors import UnavailableError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import (
        BatchResultErrorEntryTypeDef,
        ChangeMessageVisibilityBatchRequestEntryTypeDef,
        ChangeMessageVisibilityBatchRequestTypeDef,
        MessageTypeDef,
        SendMessageBatchRequestEntryTypeDef,
        SendMessageBatchRequestTypeDef,
    )

    from quarterhour.aws.resources import Resources

_MAX_MESSAGES: Final = 10
_MAX_BYTES: Final = 1 << 20
"""The most bytes of a message, and of all messages of a call."""
_LONGEST_REASON: Final = 1_000
"""The most characters of a reason."""
_IMAGES: Final = frozenset({"NewImage", "OldImage"})


@dataclass(frozen=True, slots=True)
class Unparked:
    """The number of parked records that were applied, and of those that stay parked."""

    applied: int
    kept: int

    as_dict = asdict


class Parking:
    """A parking queue. Lambda's own failure destinations hold only the positions of records, not their content.

    ``by``: the function that parks records there.
    """

    def __init__(self, client: "SQSClient", queue_url: str, by: str) -> None:
        self._client = client
        self._queue_url = queue_url
        self._by = by

    @classmethod
    def of(cls, resources: "Resources", by: str) -> Self:
        """Return the parking queue of a function."""
        return cls(resources.sqs, resources.env.text("PARKED_QUEUE_URL"), by)

    def park(self, poison: Iterable[Poison]) -> None:
        """Send each record with the reason why it cannot be applied.

        Raises ``UnavailableError`` unless all are sent. Then the batch is delivered again, so none is skipped.
        """
        parked = list(poison)
        self.send(_body(one, self._by) for one in parked)
        for one in parked:
            # The reason may quote the content, so neither is logged.
            logger.error("record parked", sequence=one.record["dynamodb"].get("SequenceNumber"))

    def send(self, bodies: Iterable[str]) -> None:
        """Send messages with these bodies, in ASCII; raise ``UnavailableError`` unless all are sent."""
        for some in _batches(bodies):
            self._send(some)

    def _send(self, bodies: Sequence[str]) -> None:
        """Send the bodies of up to 10 messages with one call; repeat it for those that the response names as failed."""
        unsent = {str(number): body for number, body in enumerate(bodies)}
        failed: Sequence[BatchResultErrorEntryTypeDef] = ()
        for _ in attempts():
            request = park_request(self._queue_url, unsent)
            response = with_retries(lambda request=request: self._client.send_message_batch(**request), "SQS")  # type: ignore[misc]
            failed = response.get("Failed", [])
            if not failed:
                return
            unsent = {one["Id"]: unsent[one["Id"]] for one in failed}
        codes = ", ".join(sorted({one["Code"] for one in failed}))
        raise UnavailableError(f"SQS did not accept {len(failed)} messages: {codes}")

    def replay(
        self,
        appliers: Mapping[str, Callable[[Record], bool]],
        in_time: Callable[[], bool],
        parse: Callable[[str], Any] = json.loads,
    ) -> dict[str, Unparked]:
        """Apply each parked record once, delete those that are accepted, and return both numbers by function.

        ``appliers``: what applies the records that a function has parked, by its name. Those of other functions stay. A
        record that stays is hidden until the run ends, so that the run does not receive it again. Then it becomes
        visible at once, because the alarm on the queue must not turn OK while the queue holds it.
        """
        applied, received = Counter[str](), Counter[str]()
        hidden: dict[str, None] = {}
        try:
            while in_time() and (messages := self._receive()):
                hidden |= {message["ReceiptHandle"]: None for message in messages}
                for message in messages:
                    parked = parse(message["Body"])
                    by = parked.get("by", "")
                    received[by] += 1
                    if by in appliers and in_time() and appliers[by](parked["record"]):
                        self._delete(message["ReceiptHandle"])
                        del hidden[message["ReceiptHandle"]]
                        applied[by] += 1
        finally:
            self._make_visible(list(hidden))  # never raises: it must not replace the error that ends the run
        return {by: Unparked(applied[by], received[by] - applied[by]) for by in appliers}

    def _receive(self) -> Sequence["MessageTypeDef"]:
        receive = partial(self._client.receive_message, QueueUrl=self._queue_url, MaxNumberOfMessages=_MAX_MESSAGES)
        return with_retries(receive, "SQS").get("Messages", [])

    def _delete(self, receipt: str) -> None:
        with_retries(partial(self._client.delete_message, QueueUrl=self._queue_url, ReceiptHandle=receipt), "SQS")

    def _make_visible(self, receipts: Sequence[str]) -> None:
        hidden = sum(map(self._still_hidden, chunks(receipts, _MAX_MESSAGES)))
        if hidden:
            logger.warning("parked records stay hidden until the queue shows them again", records=hidden)

    def _still_hidden(self, receipts: Sequence[str]) -> int:
        """Make up to 10 received messages visible again; return how many could not be made visible."""
        request = visible_request(self._queue_url, receipts)
        try:
            response = with_retries(lambda: self._client.change_message_visibility_batch(**request), "SQS")
        except (ClientError, *NETWORK_ERRORS, UnavailableError):
            return len(receipts)
        return len(response.get("Failed", []))


def park_request(queue_url: str, bodies: Mapping[str, str]) -> "SendMessageBatchRequestTypeDef":
    """Build the SendMessageBatch of up to 10 bodies by the ids of their entries."""
    entries: list[SendMessageBatchRequestEntryTypeDef] = [
        {"Id": number, "MessageBody": body} for number, body in bodies.items()
    ]
    return {"QueueUrl": queue_url, "Entries": entries}


def _body(poison: Poison, by: str) -> str:
    """Return the body of a record's message: ASCII, so that each character is a byte that SQS accepts.

    A reason can quote content, so it is cut: it must not take the room of the record. An item of up to 400 KB can have
    more bytes as JSON than a message. Then the record has no images: its keys and the name of its stream say where the
    item is.
    """
    record, reason = poison.record, poison.reason[:_LONGEST_REASON]
    body = json.dumps({"by": by, "reason": reason, "record": record}, default=str)
    if len(body) <= _MAX_BYTES:
        return body
    change = {name: value for name, value in record["dynamodb"].items() if name not in _IMAGES}
    why = f"{reason}; the item is too large for this message, read it in the table by its keys"
    return json.dumps({"by": by, "reason": why, "record": {**record, "dynamodb": change}}, default=str)


def _batches(bodies: Iterable[str]) -> Iterator[list[str]]:
    """Cut bodies into those of one call each."""
    batch: list[str] = []
    for body in bodies:
        if len(batch) == _MAX_MESSAGES or (batch and sum(map(len, batch)) + len(body) > _MAX_BYTES):
            yield batch
            batch = []
        batch.append(body)
    if batch:
        yield batch


def visible_request(queue_url: str, receipts: Sequence[str]) -> "ChangeMessageVisibilityBatchRequestTypeDef":
    """Build the ChangeMessageVisibilityBatch that makes up to 10 received messages visible again."""
    entries: list[ChangeMessageVisibilityBatchRequestEntryTypeDef] = [
        {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": 0} for number, receipt in enumerate(receipts)
    ]
    return {"QueueUrl": queue_url, "Entries": entries}
