"""The streams as the functions get them: records in the order of the writes, with the images that handlers read.

What TTL deletes is made up in the unit tests: the embedded engine deletes nothing, and DynamoDB Local does not say that
it was TTL.
"""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from quarterhour.aws import streams
from quarterhour.aws.items import from_item
from quarterhour.aws.parking import Parking
from quarterhour.aws.streams import SEQUENCE_DIGITS, Poison, Record, is_insert
from quarterhour.counters.keys import account_pk, latest_key
from quarterhour.counters.plan import Retention, group
from quarterhour.ledger.postings.segments import postings_of, segment_item
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.model.identifiers import Account
from quarterhour.model.totals import Totals
from quarterhour.snapshots.layers import LAYERS
from quarterhour.snapshots.plan import snapshots
from quarterhour_tools.emulator.delivery import lambda_record
from quarterhour_tools.emulator.filters import matches
from tests.contract.storage import Storage, alone
from tests.support.builders import claim, event
from tests.support.counted import planned

KEPT = Retention(timedelta(days=35), timedelta(days=800))


@pytest.fixture
def account(own: str) -> Account:
    """An account of the test's own."""
    return Account(own, "GBP")


def recorded(storage: Storage, own: str, at: datetime, count: int = 1) -> list[tuple[Claim, dict[str, str]]]:
    """Append events one by one, and return their claims and their ledger keys."""
    events = [event(f"{own}-{number}") for number in range(count)]
    made = [(claim(one, at), ledger_values(one, claim(one, at))) for one in events]
    for _, values in made:
        storage.post([values])
    return made


def delivered(storage: Storage, function: str, at: datetime) -> list[Record]:
    """Return all records of the stream that a function reads, in the shape of Lambda, past its filters."""
    (mapping,) = storage.stack.functions[function].mappings
    return [lambda_record(record, mapping.stream, "us-east-1", at) for record in _read(storage, mapping.stream)]


def filtered(storage: Storage, function: str, records: list[Record]) -> list[Record]:
    (mapping,) = storage.stack.functions[function].mappings
    return [record for record in records if matches(mapping.filters, record)]


def _read(storage: Storage, stream: str) -> Iterator[Any]:
    client = storage.stack.engine.streams()
    for shard in client.describe_stream(StreamArn=stream)["StreamDescription"]["Shards"]:
        iterator: str | None = client.get_shard_iterator(
            StreamArn=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        while iterator:
            answer = client.get_records(ShardIterator=iterator)
            yield from answer["Records"]
            iterator = answer.get("NextShardIterator") if answer["Records"] else None


def of_ledger(records: list[Record], own: str) -> list[Record]:
    return [one for one in records if postings_of(streams.new_image(one))[0]["id"].startswith(own)]


def of_entity(records: list[Record], account: Account) -> list[Record]:
    return [one for one in records if one["dynamodb"]["Keys"]["pk"]["S"] == account_pk(account)]


# ---------------------------------------------------------------- the ledger's stream


def test_each_event_is_delivered_once_with_its_image_in_the_order_of_the_writes(
    storage: Storage, own: str, at: datetime
) -> None:
    made = recorded(storage, own, at, 15)
    records = of_ledger(delivered(storage, "counters", at), own)
    assert [postings_of(streams.new_image(one)) for one in records] == [[values] for _, values in made]
    assert all(is_insert(one) and one["eventSource"] == "aws:dynamodb" for one in records)
    keys = [from_item(one["dynamodb"]["Keys"]) for one in records]
    assert keys == [one.segment.values for one, _ in made]
    assert filtered(storage, "counters", records) == records


def test_sequence_numbers_rise_as_text_too(storage: Storage, own: str, at: datetime) -> None:
    recorded(storage, own, at, 25)
    sequences = [streams.sequence(one) for one in delivered(storage, "counters", at)]
    assert sequences == sorted(set(sequences))
    assert {len(one) for one in sequences} == {SEQUENCE_DIGITS}


def test_a_batch_becomes_groups_by_account_and_quarter_hour(storage: Storage, own: str, at: datetime) -> None:
    made = recorded(storage, own, at, 4)
    groups, poison = group(of_ledger(delivered(storage, "counters", at), own))
    assert not poison
    (one,) = groups
    assert (one.account, one.partitions) == (Account("42", "GBP"), {made[0][0].partition})
    assert [str(step.posting.amount) for step in one.postings] == ["12.50"] * 4


def test_a_repeated_append_makes_no_second_record(storage: Storage, own: str, at: datetime) -> None:
    made = recorded(storage, own, at, 3)
    recorded(storage, own, at, 3)
    assert len(of_ledger(delivered(storage, "counters", at), own)) == len(made)


def test_a_write_over_an_event_reaches_no_counter(storage: Storage, own: str, at: datetime) -> None:
    ((_, values),) = recorded(storage, own, at)
    other = alone({**values, "amount": "99"})
    item = segment_item(other.key, 1, other.events)
    storage.dynamodb.put_item(TableName=storage.ledger_table, Item=item)
    records = of_ledger(delivered(storage, "counters", at), own)
    assert [one["eventName"] for one in records] == ["INSERT", "MODIFY"]
    assert filtered(storage, "counters", records) == records[:1]
    assert [len(one.postings) for one in group(records)[0]] == [1]


# ---------------------------------------------------------------- the entities' stream


def count(storage: Storage, account: Account, at: datetime) -> None:
    """Count one event of nothing, and let all windows leave."""
    storage.counters.write(planned(storage.counters, account, at, Totals(1)))


def test_each_change_of_a_latest_state_is_delivered_and_nothing_else(
    storage: Storage, account: Account, at: datetime
) -> None:
    for _ in range(3):
        count(storage, account, at)
    records = of_entity(delivered(storage, "snapshots", at), account)
    assert len(records) == 13, "and the account is listed once"
    latest = filtered(storage, "snapshots", records)
    assert [one["eventName"] for one in latest] == ["INSERT", "MODIFY", "MODIFY"]
    assert {one["dynamodb"]["Keys"]["sk"]["S"] for one in latest} == {latest_key(account)["sk"]}
    versions = [(one["dynamodb"].get("OldImage"), streams.new_image(one)) for one in latest]
    assert [(old and old["version"]["N"], new["version"]["N"]) for old, new in versions] == [
        (None, "1"),
        ("1", "2"),
        ("2", "3"),
    ]


def test_a_batch_of_changes_becomes_the_last_state_of_the_window_that_was_left(
    storage: Storage, account: Account, at: datetime
) -> None:
    for minutes in (0, 0, 5):
        count(storage, account, at + timedelta(minutes=minutes))
    records = of_entity(delivered(storage, "snapshots", at), account)
    found, poison = snapshots(records, LAYERS[1:2], at)
    assert not poison
    (one,) = found
    assert (one.values["version"], one.values["events"]) == (2, 2)
    for kept in (one.values, one.values):
        storage.snapshots.put(kept)
    again = of_entity(delivered(storage, "snapshots", at), account)
    assert filtered(storage, "snapshots", again) == filtered(storage, "snapshots", records)


# ---------------------------------------------------------------- parking


def test_a_record_that_can_never_be_applied_is_parked_with_its_content(
    storage: Storage, own: str, at: datetime
) -> None:
    queue = storage.stack.ref("ParkedQueue")
    recorded(storage, own, at, 2)
    records = of_ledger(delivered(storage, "counters", at), own)
    for record in records:
        record["dynamodb"]["NewImage"]["schema"] = {"S": "9"}
    groups, poison = group(records)
    assert not groups
    Parking(storage.sqs, queue, "counters").park([*poison, Poison(records[0], "another reason")])
    parked = storage.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    bodies = [json.loads(message["Body"]) for message in parked]
    assert [body["record"] for body in bodies] == [*records, records[0]]
    assert [body["reason"] for body in bodies[1:]] == [poison[1].reason, "another reason"]
    assert "schema" in bodies[0]["reason"]
