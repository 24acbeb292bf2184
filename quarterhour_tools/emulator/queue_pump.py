"""Runs the event source mapping of a queue: it receives messages and delivers them to a function, as Lambda does.

SQS is embedded and counts the time of the machine, so the pump keeps what it has received, and delivers a message that
was not recorded again when the time of the ledger's clock has come.
"""

import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.items import chunks
from quarterhour_tools.emulator.direct import REGION
from quarterhour_tools.emulator.event_source import EventSource
from quarterhour_tools.emulator.pump import queue_url
from quarterhour_tools.emulator.template import QueueLimits, QueueMapping

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_AT_ONCE: Final = 10
"""The most messages of one ReceiveMessage or DeleteMessageBatch."""
_HIDDEN_SECONDS: Final = 12 * 3600
"""SQS's limit. A message that the pump has received is its own."""
_LARGEST_BATCH: Final = 6_000_000


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A message that was received, when it is due, and how often it was delivered."""

    message: Any
    due: datetime
    deliveries: int = 0


class QueuePump(EventSource):
    """Delivers the messages of one queue to one function, at least once."""

    def __init__(
        self,
        mapping: QueueMapping,
        limits: QueueLimits,
        function: str,
        invoke: Callable[[dict[str, Any]], object],
        sqs: "SQSClient",
    ) -> None:
        self.mapping = mapping
        self.limits = limits
        self.function = function
        self._invoke = invoke
        self._sqs = sqs
        self._url = queue_url(sqs, mapping.queue)
        self._waiting: deque[_Waiting] = deque()

    def read(self, now: datetime) -> None:
        """Receive all messages that are visible, and queue them for delivery at the end of the window."""
        while messages := self._sqs.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=_AT_ONCE,
            VisibilityTimeout=_HIDDEN_SECONDS,
            MessageSystemAttributeNames=["SentTimestamp"],
        ).get("Messages", []):
            self._waiting.extend(_Waiting(one, now + self.mapping.window) for one in messages)

    def due(self) -> datetime | None:
        """Return the instant of the next delivery; ``None`` if nothing is queued."""
        return min((one.due for one in self._waiting), default=None)

    def deliver_next(self, now: datetime, most: int | None = None) -> bool:
        """Deliver the next messages that are due in one invocation, ``most`` at most; return whether there were any."""
        batch = self._batch(now, min(self.mapping.batch_size, most or self.mapping.batch_size))
        if not batch:
            return False
        failed = self._failed([_record(one, self.mapping.queue) for one in batch])
        self._delete([one for one in batch if one.message["MessageId"] not in failed])
        for one in batch:
            if one.message["MessageId"] not in failed:
                continue
            if self.limits.receives is not None and one.deliveries + 1 >= self.limits.receives:
                self._give_up(one)
            else:
                self._waiting.append(replace(one, due=now + self.limits.hidden, deliveries=one.deliveries + 1))
        return True

    def _batch(self, now: datetime, most: int) -> list[_Waiting]:
        batch: list[_Waiting] = []
        later: list[_Waiting] = []
        room = _LARGEST_BATCH
        while self._waiting and len(batch) < most:
            one = self._waiting.popleft()
            if one.due > now:
                later.append(one)
                continue
            room -= len(one.message["Body"])
            if room < 0 and batch:
                later.append(one)
                break
            batch.append(one)
        self._waiting.extendleft(reversed(later))
        return batch

    def _failed(self, records: list[dict[str, Any]]) -> set[str]:
        """Deliver messages; return the ids of those that are to come again."""
        known = {record["messageId"] for record in records}
        try:
            answer = self._invoke({"Records": records})
        except Exception:  # noqa: BLE001 - any exception of the function fails the batch, as in Lambda
            return known
        if not self.mapping.reports_failures or not isinstance(answer, dict):
            return set()
        failed = {one["itemIdentifier"] for one in answer.get("batchItemFailures", [])}
        # Lambda fails the whole batch for an unknown id.
        return known if failed - known else failed

    def _delete(self, done: Sequence[_Waiting]) -> None:
        for some in chunks(done, _AT_ONCE):
            entries: Any = [
                {"Id": str(number), "ReceiptHandle": one.message["ReceiptHandle"]} for number, one in enumerate(some)
            ]
            self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)

    def _give_up(self, one: _Waiting) -> None:
        if self.limits.dead_letters:
            self._sqs.send_message(
                QueueUrl=queue_url(self._sqs, self.limits.dead_letters), MessageBody=one.message["Body"]
            )
        self._delete([one])
        print(f"{self.function}: gave up a message after {self.limits.receives} deliveries", file=sys.stderr)


def _record(one: _Waiting, queue: str) -> dict[str, Any]:
    """Return a message in the form that Lambda passes to a function."""
    message = one.message
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {**message.get("Attributes", {}), "ApproximateReceiveCount": str(one.deliveries + 1)},
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue,
        "awsRegion": REGION,
    }
