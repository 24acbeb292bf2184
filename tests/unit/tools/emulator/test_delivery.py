"""How Lambda handles a batch of stream records."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quarterhour_tools.emulator.delivery import (
    AGE_EXCEEDED,
    RETRIES_EXHAUSTED,
    DeliveryResult,
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
from quarterhour_tools.emulator.template import StreamMapping
from tests.support.cases import cases

NOW = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)


def mapping(**settings: Any) -> StreamMapping:
    rules: dict[str, Any] = {
        "stream": "arn:stream",
        "batch_size": 10,
        "window": timedelta(seconds=5),
        "filters": (),
        "bisect": True,
        "retries": 2,
        "record_age": None,
        "reports_failures": True,
        "dead_letters": None,
    }
    return StreamMapping(**{**rules, **settings})


def records(number: int, size: int = 100, created: datetime = NOW) -> tuple[StreamRecord, ...]:
    return tuple(
        {"dynamodb": {"SequenceNumber": str(n), "SizeBytes": size, "ApproximateCreationDateTime": created.timestamp()}}
        for n in range(number)
    )


def failed(*numbers: int) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": str(number)} for number in numbers]}


def test_what_engines_change_in_an_image_is_as_lambda_has_it_at_any_depth() -> None:
    image = {"bytes": {"B": b"ab"}, "map": {"M": {"none": {}, "list": {"L": [{}, {"B": b"ab"}]}}}, "none": {}}
    record = {"eventID": "1", "eventName": "INSERT", "dynamodb": {"NewImage": image}}
    made = lambda_record(record, "arn:stream", "us-east-1", NOW)["dynamodb"]["NewImage"]
    own: dict[str, Any] = {"B": "YWI="}
    empty: dict[str, Any] = {"M": {}}
    assert made == {"bytes": own, "map": {"M": {"none": empty, "list": {"L": [empty, own]}}}, "none": empty}


def test_a_record_has_the_shape_that_lambda_gives_it() -> None:
    record = {
        "eventID": "1",
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "ddblocal",
        "dynamodb": {
            "ApproximateCreationDateTime": NOW,
            "Keys": {},
            "NewImage": {},
            "SequenceNumber": "7",
            "SizeBytes": 3,
        },
    }
    assert lambda_record(record, "arn:stream", "us-east-1", NOW) == {
        **record,
        "awsRegion": "us-east-1",
        "eventSourceARN": "arn:stream",
        "dynamodb": {**record["dynamodb"], "ApproximateCreationDateTime": NOW.timestamp()},  # type: ignore[dict-item]
    }


def test_the_user_identity_of_a_deletion_is_passed_on() -> None:
    ttl = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    record = {"eventID": "1", "eventName": "REMOVE", "dynamodb": {}, "userIdentity": ttl}
    assert lambda_record(record, "arn:stream", "us-east-1", NOW)["userIdentity"] == ttl


def test_a_batch_takes_no_more_records_and_bytes_than_it_may() -> None:
    assert batch_length(records(3), 10) == 3
    assert batch_length(records(30), 10) == 10
    assert batch_length(records(10, size=2_500_000), 10) == 2
    assert batch_length(records(2, size=7_000_000), 10) == 1


@cases(
    ("response", "first"),
    [
        (None, 4),
        ({}, 4),
        ({"batchItemFailures": []}, 4),
        ({"batchItemFailures": None}, 4),
        (failed(2), 2),
        (failed(3, 1), 1),
        (failed(0), 0),
        (failed(9), None),
        (failed(1, 9), None),
        ({"batchItemFailures": [{"itemIdentifier": ""}]}, None),
        ({"batchItemFailures": [{"wrong": "1"}]}, None),
        ({"batchItemFailures": [None]}, None),
        ("done", None),
    ],
)
def test_delivery_continues_at_the_lowest_failed_record(response: object, first: int | None) -> None:
    assert redelivered_from(response, records(4), reports_failures=True) == first


def test_a_function_that_does_not_report_failures_has_none() -> None:
    assert redelivered_from(failed(2), records(4), reports_failures=False) == 4


def test_records_before_the_first_failure_are_done() -> None:
    batch = StreamBatch(records(4), NOW, tries=1)
    assert outcome(batch, 4, mapping(), NOW) == DeliveryResult()
    assert outcome(batch, 3, mapping(), NOW) == DeliveryResult((StreamBatch(records(4)[3:], NOW),))


def test_a_batch_that_fails_as_a_whole_is_halved_without_a_retry() -> None:
    batch = StreamBatch(records(5), NOW, tries=1)
    halves = outcome(batch, None, mapping(), NOW).batches
    assert [half.records for half in halves] == [records(5)[:2], records(5)[2:]]
    assert {half.tries for half in halves} == {1}


def test_a_batch_of_one_record_is_retried_after_growing_pauses_until_its_retries_are_exhausted() -> None:
    batch = StreamBatch(records(1), NOW)
    first = outcome(batch, None, mapping(), NOW)
    assert first == DeliveryResult((StreamBatch(records(1), NOW + timedelta(seconds=1), 1),))
    second = outcome(first.batches[0], None, mapping(), NOW)
    assert second == DeliveryResult((StreamBatch(records(1), NOW + timedelta(seconds=2), 2),))
    assert outcome(second.batches[0], None, mapping(), NOW) == DeliveryResult(
        given_up=GivenUp(records(1), RETRIES_EXHAUSTED, 3)
    )


def test_a_first_record_that_keeps_failing_takes_the_whole_batch_with_it() -> None:
    batch = StreamBatch(records(4), NOW, tries=2)
    assert outcome(batch, 0, mapping(), NOW).given_up == GivenUp(records(4), RETRIES_EXHAUSTED, 3)


def test_without_bisecting_the_whole_batch_is_tried_again_and_without_a_bound_for_ever() -> None:
    batch = StreamBatch(records(4), NOW, tries=500)
    again = outcome(batch, None, mapping(bisect=False, retries=None), NOW).batches
    assert again == (StreamBatch(records(4), NOW + timedelta(seconds=64), 501),)


@given(st.integers(1, 40), st.sets(st.integers(0, 39)), st.booleans())
def test_bisecting_finds_exactly_the_records_that_can_never_be_applied(
    number: int,
    poison: set[int],
    reports: bool,  # noqa: FBT001 - drawn
) -> None:
    rules = mapping(retries=3, reports_failures=reports)
    bad = {str(n) for n in poison if n < number}
    applied: list[str] = []
    given_up: list[str] = []
    waiting = [StreamBatch(records(number), NOW)]
    for _ in range(2000):
        if not waiting:
            break
        batch = waiting.pop(0)
        names = [record["dynamodb"]["SequenceNumber"] for record in batch.records]
        first: int | None = len(names)
        if bad & set(names):
            first = None
        else:
            applied += names
        after = outcome(batch, first, rules, NOW)
        waiting[:0] = after.batches
        given_up += [r["dynamodb"]["SequenceNumber"] for r in (after.given_up.records if after.given_up else ())]
    assert set(given_up) == bad
    assert sorted(applied + given_up) == sorted(str(n) for n in range(number))


def test_records_that_are_too_old_are_given_up_and_the_others_are_retried() -> None:
    old, young = records(2, created=NOW - timedelta(hours=2)), records(1)
    batch = StreamBatch(old + young, NOW, tries=1)
    rules = mapping(record_age=timedelta(hours=1))
    assert too_old(batch, rules, NOW) == (GivenUp(old, AGE_EXCEEDED, 1), StreamBatch(young, NOW, 1))
    assert too_old(StreamBatch(old, NOW, 1), rules, NOW) == (GivenUp(old, AGE_EXCEEDED, 1), None)
    assert too_old(StreamBatch(old, NOW), rules, NOW) == (None, StreamBatch(old, NOW))
    assert too_old(batch, mapping(), NOW) == (None, batch)


def test_a_dead_letter_holds_positions_and_no_content() -> None:
    letter = dead_letter(GivenUp(records(3), RETRIES_EXHAUSTED, 4), "arn:function", "arn:stream", "shard-1", NOW)
    assert letter["requestContext"]["condition"] == RETRIES_EXHAUSTED
    assert letter["DDBStreamBatchInfo"] == {
        "shardId": "shard-1",
        "startSequenceNumber": "0",
        "endSequenceNumber": "2",
        "approximateArrivalOfFirstRecord": "2026-10-23T01:30:00+00:00",
        "approximateArrivalOfLastRecord": "2026-10-23T01:30:00+00:00",
        "batchSize": 3,
        "streamArn": "arn:stream",
    }
