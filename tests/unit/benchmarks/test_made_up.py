"""AWS made up: its items are as the product's own, its pages as DynamoDB cuts them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import boto3
import pytest

from benchmarks.made_up import ITEM_BYTES, NEWEST, Ledger, MadeUp
from quarterhour.ledger.events.event import Event, read_event
from quarterhour.ledger.postings.posting import Posting
from quarterhour.ledger.postings.segments import postings_of
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.ledger.recording.pricing import terms_of
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.model.identifiers import Partition, Position
from quarterhour.reports.store import CheckpointStore
from quarterhour_tools.emulator.dynamodb.sizes import item_size
from tests.support.builders import alone

SALE = {
    "specversion": "1.0",
    "id": "order-1",
    "source": "shop",
    "type": "sale.recorded",
    "subject": "agency-01",
    "data": {"amount": "12.50", "currency": "EUR"},
}
SETTINGS = RecordingSettings(1, Decimal("0.10"), timedelta(seconds=120), timedelta(seconds=30), None)
TABLE = "Ledger"


@contextmanager
def client(ledger: Ledger, unsealed: int = 1) -> Iterator[Any]:
    with MadeUp(ledger, unsealed).installed():
        yield boto3.Session("local", "local", region_name="us-east-1").client("dynamodb")


def item(ledger: Ledger, number: int) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(ledger.item(Partition(NEWEST, number % ledger.shards), number))
    return made


def positions(pages: Any) -> list[list[str]]:
    return [[one["position"]["S"] for one in page["Items"]] for page in pages]


def query(dynamodb: Any, partition: str, **more: object) -> Any:
    return dynamodb.get_paginator("query").paginate(
        TableName=TABLE,
        KeyConditionExpression="quarter_hour = :partition",
        ExpressionAttributeValues={":partition": {"S": partition}},
        **more,
    )


def recorded() -> dict[str, str]:
    """Return a posting as it is recorded today."""
    event = read_event(SALE)
    assert isinstance(event, Event)
    terms = terms_of(event, (), SETTINGS.commission_rate)
    return ledger_values(event, alone(Claim.of(event, NEWEST.start, SETTINGS, terms)))


def test_an_item_has_the_attributes_and_the_bytes_of_an_event() -> None:
    made = item(Ledger(1, 1000, shards=4), 999)
    assert made.keys() == recorded().keys() - {"tax_point"}
    assert item_size(made) == ITEM_BYTES
    assert item_size(item(Ledger(1, 1000, item_bytes=4096), 7)) == 4096


def test_a_posting_in_a_segment_has_the_attributes_of_a_recorded_event() -> None:
    ledger = Ledger(1, 1000, events_a_segment=100)
    ((made, _), *_) = ledger.items(Partition(NEWEST, 0), None)
    posting, *_ = postings_of(json.loads(made))
    assert posting.keys() == recorded().keys()


def test_a_segment_can_be_read_as_the_product_reads_it() -> None:
    ledger = Ledger(1, 1000, shards=4, events_a_segment=100)
    ((made, _), *_) = ledger.items(Partition(NEWEST, 1), None)
    posting = Posting.of(postings_of(json.loads(made))[50])
    assert posting.partition == Partition(NEWEST, 1)
    assert posting.recorded_at == NEWEST.start + timedelta(seconds=0.9)
    assert posting.account.agency == "agency-01"


@pytest.mark.parametrize("ledger", [Ledger(1, 5000), Ledger(1, 5000, shards=3), Ledger(3, 5000, shards=2)])
def test_all_positions_of_a_partition_come_in_pages_of_one_megabyte_in_their_order(ledger: Ledger) -> None:
    with client(ledger) as dynamodb:
        for shard in range(ledger.shards):
            pages = positions(query(dynamodb, f"{NEWEST}#{shard:02d}"))
            found = [position for page in pages for position in page]
            assert found == sorted(set(found))
            assert len(found) == len(range(shard, 5000, ledger.shards))
            assert all(str(Position.parse(position)) == position for position in found[:3])
            assert {len(page) for page in pages[:-1]} <= {(1 << 20) // ITEM_BYTES}


def test_a_limit_cuts_pages_and_the_last_full_one_has_a_follower() -> None:
    with client(Ledger(1, 100)) as dynamodb:
        pages = positions(query(dynamodb, f"{NEWEST}#00", Limit=50))
    assert [len(page) for page in pages] == [50, 50, 0]


def test_a_partition_out_of_the_ledger_is_empty() -> None:
    with client(Ledger(2, 100)) as dynamodb:
        for partition in (f"{NEWEST.next}#00", f"{NEWEST}#01", f"{NEWEST.previous.previous}#00"):
            assert positions(query(dynamodb, partition)) == [[]]


def test_the_quarter_hours_of_the_ledger_are_marked() -> None:
    with client(Ledger(3, 10, shards=2)) as dynamodb:
        checkpoints = CheckpointStore(dynamodb, "Entity")
        assert checkpoints.recorded(NEWEST.previous, NEWEST.next) == [NEWEST.previous, NEWEST]


def test_a_scan_finds_every_event_of_every_quarter_hour_once() -> None:
    with client(Ledger(3, 2000, shards=2)) as dynamodb:
        pages = list(dynamodb.get_paginator("scan").paginate(TableName=TABLE))
    found = [(one["quarter_hour"]["S"], one["position"]["S"]) for page in pages for one in page["Items"]]
    assert len(pages) > 1
    assert found == sorted(set(found))
    assert len(found) == 6000


def test_control_items_are_kept_until_the_reset() -> None:
    with MadeUp(Ledger(1, 0, shards=4), 4).installed() as aws:
        dynamodb: Any = boto3.Session("local", "local", region_name="us-east-1").client("dynamodb")
        key = {"pk": {"S": "CONTROL"}, "sk": {"S": "checkpoint"}}
        before = dynamodb.get_item(TableName="Entity", Key=key)["Item"]
        assert before["sealed_through"] == {"S": "202610230030"}
        dynamodb.update_item(
            TableName="Entity",
            Key=key,
            UpdateExpression="SET sealed_through = :last, #previous = :previous REMOVE #plan",
            ExpressionAttributeNames={"#previous": "previous", "#plan": "plan"},
            ExpressionAttributeValues={":last": {"S": "x"}, ":previous": {"L": []}},
        )
        after = dynamodb.get_item(TableName="Entity", Key=key)["Item"]
        assert after == {**key, "sealed_through": {"S": "x"}, "previous": {"L": []}}
        aws.reset()
        assert dynamodb.get_item(TableName="Entity", Key=key)["Item"] == before


def test_the_totals_of_a_part_are_kept_and_all_other_objects_forgotten() -> None:
    with MadeUp(Ledger(1, 1)).installed():
        s3 = boto3.Session("local", "local", region_name="us-east-1").client("s3")
    for key in ("totals/a", "ledger/a"):
        s3.put_object(Bucket="reports", Key=key, Body=b"content\r\n" * 300_000)
    assert s3.get_object(Bucket="reports", Key="totals/a")["Body"].read() == b"content\r\n" * 300_000
    assert s3.get_object(Bucket="reports", Key="ledger/a")["Body"].read() == b""
