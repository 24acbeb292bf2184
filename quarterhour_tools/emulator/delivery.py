"""How Lambda handles a batch of stream records: shape, outcome, retries, bisecting, giving up. Pure functions."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from quarterhour_tools.emulator.template import StreamMapping

StreamRecord = dict[str, Any]
"""A stream record in the form that a function gets."""

LARGEST_BATCH: Final = 6_000_000
"""The most bytes of records in one invocation."""

_FIRST_PAUSE: Final = timedelta(seconds=1)
_DOUBLINGS: Final = 6

RETRIES_EXHAUSTED: Final = "RetryAttemptsExhausted"
AGE_EXCEEDED: Final = "RecordAgeExceeded"


def lambda_record(record: Mapping[str, Any], stream_arn: str, region: str, created: datetime) -> StreamRecord:
    """Return a record of the Streams API in the form that Lambda passes to a function.

    ``created`` replaces the time of the write, which the engine takes from another clock than the ledger's.
    """
    change = {**record["dynamodb"], "ApproximateCreationDateTime": created.timestamp()}
    for image in ("NewImage", "OldImage"):
        if image in change:
            change[image] = {name: attribute_as_json(value) for name, value in change[image].items()}
    return {
        "eventID": record["eventID"],
        "eventName": record["eventName"],
        "eventVersion": record.get("eventVersion", "1.1"),
        "eventSource": "aws:dynamodb",
        "awsRegion": region,
        "dynamodb": change,
        "eventSourceARN": stream_arn,
        **({"userIdentity": record["userIdentity"]} if "userIdentity" in record else {}),
    }


def attribute_as_json(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an attribute as Lambda has it: a binary value, which boto3 decodes, is base64.

    DynamoDB Local's streams have an empty map without its type.
    """
    match value:
        case {"B": bytes(content)}:
            return {"B": b64encode(content).decode()}
        case {"M": dict(members)}:
            return {"M": {name: attribute_as_json(one) for name, one in members.items()}}
        case {"L": list(members)}:
            return {"L": [attribute_as_json(one) for one in members]}
    return value or {"M": {}}


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """Records to deliver in one invocation, the number of tries so far, and the instant of the next try."""

    records: tuple[StreamRecord, ...]
    due: datetime
    tries: int = 0


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Records that are not delivered again, and why."""

    records: tuple[StreamRecord, ...]
    condition: str
    tries: int


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The result of a delivery: the batches still to deliver, in order, and the records given up."""

    batches: tuple[StreamBatch, ...] = ()
    given_up: GivenUp | None = None


def batch_length(records: Sequence[StreamRecord], batch_size: int) -> int:
    """Return how many records the next batch takes: at most ``batch_size``, and at most ``LARGEST_BATCH`` bytes."""
    room = LARGEST_BATCH
    for number, record in enumerate(islice(records, batch_size)):
        room -= record["dynamodb"]["SizeBytes"]
        if room < 0 and number:
            return number
    return min(len(records), batch_size)


def redelivered_from(response: object, records: Sequence[StreamRecord], *, reports_failures: bool) -> int | None:
    """Return the index of the first record to deliver again; the number of records if all are done.

    ``None`` means that the whole batch failed: the response is malformed or names an unknown record.
    """
    if not reports_failures or not response:
        return len(records)
    if not isinstance(response, dict):
        return None
    failed = response.get("batchItemFailures")
    if not failed:
        return len(records)
    places = {record["dynamodb"]["SequenceNumber"]: index for index, record in enumerate(records)}
    try:
        return min(places[one["itemIdentifier"]] for one in failed)
    except (KeyError, TypeError):
        return None


def outcome(batch: StreamBatch, first: int | None, mapping: StreamMapping, now: datetime) -> DeliveryResult:
    """Plan the steps after a delivery; ``first`` is the result of ``redelivered_from``.

    Records before the first failed one are done. A batch that failed as a whole is halved if the mapping bisects; this
    does not count as a retry. Otherwise it is tried again after growing pauses, until its retries are exhausted.
    """
    length = len(batch.records)
    if first == length:
        return DeliveryResult()
    if first:
        return DeliveryResult((StreamBatch(batch.records[first:], now),))
    if first is None and mapping.bisect and length > 1:
        middle = length // 2
        return DeliveryResult(
            tuple(replace(batch, records=half) for half in (batch.records[:middle], batch.records[middle:]))
        )
    tries = batch.tries + 1
    if mapping.retries is not None and tries > mapping.retries:
        return DeliveryResult(given_up=GivenUp(batch.records, RETRIES_EXHAUSTED, tries))
    pause = _FIRST_PAUSE * 2 ** min(tries - 1, _DOUBLINGS)
    return DeliveryResult((StreamBatch(batch.records, now + pause, tries),))


def too_old(batch: StreamBatch, mapping: StreamMapping, now: datetime) -> tuple[GivenUp | None, StreamBatch | None]:
    """Split a batch that has failed into the records that are too old to retry, and the rest."""
    if mapping.record_age is None or not batch.tries:
        return None, batch
    oldest = (now - mapping.record_age).timestamp()
    old = tuple(record for record in batch.records if record["dynamodb"]["ApproximateCreationDateTime"] < oldest)
    if not old:
        return None, batch
    young = batch.records[len(old) :]
    return GivenUp(old, AGE_EXCEEDED, batch.tries), replace(batch, records=young) if young else None


def dead_letter(given_up: GivenUp, function: str, stream_arn: str, shard: str, now: datetime) -> dict[str, Any]:
    """Build the message for the on-failure destination: it holds positions, not content."""
    first, last = given_up.records[0]["dynamodb"], given_up.records[-1]["dynamodb"]
    return {
        "requestContext": {
            "functionArn": function,
            "condition": given_up.condition,
            "approximateInvokeCount": given_up.tries,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": now.isoformat(),
        "DDBStreamBatchInfo": {
            "shardId": shard,
            "startSequenceNumber": first["SequenceNumber"],
            "endSequenceNumber": last["SequenceNumber"],
            "approximateArrivalOfFirstRecord": _instant(first),
            "approximateArrivalOfLastRecord": _instant(last),
            "batchSize": len(given_up.records),
            "streamArn": stream_arn,
        },
    }


def _instant(change: Mapping[str, Any]) -> str:
    return datetime.fromtimestamp(change["ApproximateCreationDateTime"], UTC).isoformat()
