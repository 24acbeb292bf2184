"""Runs an event source mapping: it reads a table's stream and delivers the records to a function, as Lambda does."""

import json
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from quarterhour_tools.emulator.delivery import (
    GivenUp,
    StreamBatch,
    StreamRecord,
    batch_length,
    dead_letter,
    lambda_record,
    outcome,
    redelivered_from,
    too_old,
)
from quarterhour_tools.emulator.event_source import EventSource
from quarterhour_tools.emulator.filters import matches
from quarterhour_tools.emulator.template import StreamMapping

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_sqs import SQSClient

InvokeFunction = Callable[[dict[str, Any]], object]
"""Invokes the function with an event; returns its result or raises its exception."""

_MOST_RECORDS: Final = 1000
"""The most records that one GetRecords returns; their total is at most 1 MB."""
_SHORT_ANSWER: Final = 500_000
"""A response below this many bytes, with fewer than ``_MOST_RECORDS`` records, was not cut: all records are read."""


class Pump(EventSource):
    """Delivers one stream to one function: in order within a shard, at least once, with the mapping's settings."""

    def __init__(
        self,
        mapping: StreamMapping,
        function: str,
        invoke: InvokeFunction,
        streams: "DynamoDBStreamsClient",
        sqs: "SQSClient",
    ) -> None:
        self.mapping = mapping
        self.function = function
        self._invoke = invoke
        self._streams = streams
        self._sqs = sqs
        self._lanes: dict[str, _Lane] = {}

    def read(self, now: datetime) -> None:
        """Read the whole stream; queue the records that match the filters for delivery."""
        if self._may_have_split():
            self._find_shards()
        for lane in self._open_lanes():
            for record in lane.read(self._streams):
                shaped = lambda_record(record, self.mapping.stream, self._streams.meta.region_name, now)
                if matches(self.mapping.filters, shaped):
                    lane.take(shaped, now)

    def due(self) -> datetime | None:
        """Return the instant of the next delivery; ``None`` if nothing is queued."""
        return min((due for lane in self._lanes.values() if (due := lane.due) is not None), default=None)

    def deliver_next(self, now: datetime, most: int | None = None) -> bool:
        """Deliver the next batch that is due in one invocation; return whether there was one.

        Of a batch with more than ``most`` records, only the first are delivered. The others come next.
        """
        for lane in list(self._lanes.values()):
            while (due := lane.due) is not None and due <= now:
                given_up, rest = too_old(lane.next(now), self.mapping, now)
                if given_up:
                    self._give_up(given_up, lane.shard, now)
                if rest:
                    lane.put_back((replace(rest, records=rest.records[most:]),) if most else ())
                    self._deliver(replace(rest, records=rest.records[:most]), lane, now)
                    return True
        return False

    def _deliver(self, batch: StreamBatch, lane: "_Lane", now: datetime) -> None:
        first: int | None = None
        try:
            response = self._invoke({"Records": list(batch.records)})
            first = redelivered_from(response, batch.records, reports_failures=self.mapping.reports_failures)
        except Exception:  # noqa: BLE001, S110 - any exception of the function fails the batch, as in Lambda  # nosec B110
            pass
        after = outcome(batch, first, self.mapping, now)
        lane.put_back(after.batches)
        if after.given_up:
            self._give_up(after.given_up, lane.shard, now)

    def _give_up(self, given_up: GivenUp, shard: str, now: datetime) -> None:
        message = dead_letter(given_up, self.function, self.mapping.stream, shard, now)
        if self.mapping.dead_letters:
            self._sqs.send_message(
                QueueUrl=queue_url(self._sqs, self.mapping.dead_letters), MessageBody=json.dumps(message)
            )
        print(f"{self.function}: gave up {len(given_up.records)} records: {given_up.condition}", file=sys.stderr)

    def _may_have_split(self) -> bool:
        """Tell whether there may be unknown shards: at the start, and after a shard has ended."""
        parents = {lane.parent for lane in self._lanes.values()}
        return not self._lanes or any(lane.closed and lane.shard not in parents for lane in self._lanes.values())

    def _find_shards(self) -> None:
        more: dict[str, Any] = {}
        while True:
            stream = self._streams.describe_stream(StreamArn=self.mapping.stream, **more)["StreamDescription"]
            for shard in stream.get("Shards", []):
                name = shard.get("ShardId", "")
                self._lanes.setdefault(name, _Lane(self.mapping, name, shard.get("ParentShardId", "")))
            if "LastEvaluatedShardId" not in stream:
                return
            more = {"ExclusiveStartShardId": stream["LastEvaluatedShardId"]}

    def _open_lanes(self) -> list["_Lane"]:
        """Return the shards to read: a child only after its parent is read to its end and delivered."""
        return [
            lane
            for lane in self._lanes.values()
            if not lane.closed and (lane.parent not in self._lanes or self._lanes[lane.parent].finished)
        ]


class _Lane:
    """A shard of the stream: the position of the next read, and the records that wait for delivery."""

    def __init__(self, mapping: StreamMapping, shard: str, parent: str) -> None:
        self.shard = shard
        self.parent = parent
        self.closed = False
        self._mapping = mapping
        self._iterator: str | None = None
        self._last = ""
        self._waiting: deque[StreamRecord] = deque()
        self._window_ends: datetime | None = None
        self._taken: deque[StreamBatch] = deque()
        """Batches to retry, and the rest of one that was delivered in part; they precede the waiting records."""

    @property
    def finished(self) -> bool:
        """Whether the shard is read to its end and fully delivered."""
        return self.closed and not self._waiting and not self._taken

    def read(self, streams: "DynamoDBStreamsClient") -> Iterator[Any]:
        """Yield the records since the last read."""
        while not self.closed:
            answer = self._get(streams)
            records = answer["Records"]
            yield from records
            if records:
                self._last = records[-1]["dynamodb"]["SequenceNumber"]
            self._iterator = answer.get("NextShardIterator")
            self.closed = self._iterator is None
            if len(records) < _MOST_RECORDS and sum(one["dynamodb"]["SizeBytes"] for one in records) < _SHORT_ANSWER:
                return

    def _get(self, streams: "DynamoDBStreamsClient") -> Any:  # noqa: ANN401
        if self._iterator:
            try:
                return streams.get_records(ShardIterator=self._iterator, Limit=_MOST_RECORDS)
            except streams.exceptions.ExpiredIteratorException:
                pass  # after 15 minutes without reading: continue after the last record
            except streams.exceptions.TrimmedDataAccessException:
                # DynamoDB Local returns this error for an iterator that was made while the shard was empty.
                if self._last:
                    raise
        place: Any = (
            {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._last}
            if self._last
            else {"ShardIteratorType": "TRIM_HORIZON"}
        )
        iterator = streams.get_shard_iterator(StreamArn=self._mapping.stream, ShardId=self.shard, **place)[
            "ShardIterator"
        ]
        return streams.get_records(ShardIterator=iterator, Limit=_MOST_RECORDS)

    @property
    def due(self) -> datetime | None:
        """The instant of the next batch; ``None`` if nothing waits."""
        if self._taken:
            return self._taken[0].due
        return self._window_ends

    def take(self, record: StreamRecord, now: datetime) -> None:
        """Queue a record until the batch is full or the window ends; the first record of a batch opens the window."""
        self._waiting.append(record)
        if len(self._waiting) == 1 or len(self._waiting) == self._mapping.batch_size:
            self._open_window(now)

    def next(self, now: datetime) -> StreamBatch:
        """Remove and return the next batch."""
        if self._taken:
            return self._taken.popleft()
        length = batch_length(self._waiting, self._mapping.batch_size)
        batch = StreamBatch(tuple(self._waiting.popleft() for _ in range(length)), now)
        self._open_window(now)
        return batch

    def put_back(self, batches: tuple[StreamBatch, ...]) -> None:
        """Put batches in front of the waiting records."""
        self._taken.extendleft(batch for batch in reversed(batches) if batch.records)

    def _open_window(self, now: datetime) -> None:
        full = len(self._waiting) >= self._mapping.batch_size
        ends = now if full else now + self._mapping.window
        self._window_ends = ends if self._waiting else None


def queue_url(sqs: "SQSClient", arn: str) -> str:
    """Return the URL of a queue."""
    return sqs.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
