"""The stream functions: counters and snapshots, exactly once under any redelivery."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.support.events import sale
from tests.support.requests import post, post_each
from tests.support.system import World, faulty, opened
from tests.support.tables import all_counters, counter, deliver, entity, items, number, parked, stream

FIGURES = ("events", "gross", "refunds", "commission")
PK = "ACCOUNT#42#GBP"


def figures(world: World, sk: str = "latest", pk: str = PK) -> tuple[str, ...]:
    found = counter(world, sk, pk)
    return tuple(str(found[name]) for name in FIGURES)


def sold(world: World) -> list[dict[str, Any]]:
    """Record five events in two quarter-hours, and return their stream records."""
    post_each(world, [sale("a", "10.00"), sale("b", "0.005", customer="c1")])
    post(world, sale("c", "-2.50", "adjustment.recorded", customer="c2"))
    world.clock.advance(timedelta(minutes=15))
    post_each(world, [sale("d", "1"), {**sale("e", "7", customer="c1"), "subject": "7"}])
    records = stream(world, "LedgerTable")
    assert len(records) == 5
    return records


def assert_all_counted(world: World) -> None:
    assert figures(world) == ("4", "11.005", "-2.50", "0.85050")
    assert figures(world, "DAY#2026-10-23") == ("4", "11.005", "-2.50", "0.85050")
    assert figures(world, "QUARTER#202610230130") == ("3", "10.005", "-2.50", "0.75050")
    assert figures(world, "QUARTER#202610230145") == ("1", "1", "0", "0.10")
    assert figures(world, pk="ACCOUNT#7#GBP") == ("1", "7", "0", "0.70")


# ---------------------------------------------------------------- counters


@pytest.mark.parametrize(
    "cuts",
    [
        [(0, 5)],
        [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
        [(0, 5), (0, 5), (0, 5)],
        [(0, 2), (0, 5), (1, 4), (4, 5), (0, 1)],
        [(0, 3), (2, 4), (1, 5)],
    ],
)
def test_events_are_counted_once_in_any_batches_and_redeliveries(world: World, cuts: list[tuple[int, int]]) -> None:
    records = sold(world)
    for start, end in cuts:
        assert deliver(world, "counters", records[start:end]) == []
    assert_all_counted(world)


def test_a_batch_that_fails_names_its_lowest_record_and_is_counted_when_redelivered() -> None:
    with faulty("throttle=1") as (world, faults):
        records = sold(world)
        with faults.at_work():
            assert deliver(world, "counters", records[1:]) == [number(records[1])]
        assert [item for item in items(world, "EntityTable") if item["pk"].startswith("ACCOUNT")] == []
        assert deliver(world, "counters", records) == []
        assert_all_counted(world)


@pytest.mark.parametrize("seed", range(4))
def test_throttling_conflicts_and_lost_answers_count_nothing_twice(seed: int) -> None:
    with faulty(f"throttle=0.1,conflict=0.2,cancel=0.1,reset-after=0.2,unprocessed=0.1,seed={seed}") as (world, faults):
        records = sold(world)
        start = 0
        with faults.at_work():
            while start < len(records):
                failed = deliver(world, "counters", records[start:])
                start = [number(one) for one in records].index(failed[0]) if failed else len(records)
        assert faults.struck
        assert_all_counted(world)


def test_the_lifetime_totals_have_a_version_and_the_instant_of_the_last_change(world: World) -> None:
    deliver(world, "counters", sold(world))
    latest = entity(world, "latest")
    of_two_quarter_hours = "2"
    assert (latest["version"], latest["last_updated"]) == (of_two_quarter_hours, "2026-10-23T01:45:00.000Z")
    assert "expires_at" not in latest


def test_each_customer_is_counted_once_a_day_and_once_for_ever(world: World) -> None:
    records = sold(world)
    for _ in range(2):
        deliver(world, "counters", records)
    assert counter(world, "CUSTOMERS")["customers"] == "2"
    assert counter(world, "CUSTOMERS#2026-10-23")["customers"] == "2"
    world.clock.advance(timedelta(days=1))
    post(world, [sale("f", "1", customer="c1"), sale("g", "1", customer="c3")])
    deliver(world, "counters", stream(world, "LedgerTable"))
    assert counter(world, "CUSTOMERS")["customers"] == "3"
    assert counter(world, "CUSTOMERS#2026-10-23")["customers"] == "2"
    assert counter(world, "CUSTOMERS#2026-10-24")["customers"] == "2"


def test_a_record_that_can_never_be_counted_is_parked_with_its_content_and_the_rest_is_counted(world: World) -> None:
    records = sold(world)
    future = {**records[1], "dynamodb": {**records[1]["dynamodb"], "SequenceNumber": "1"}}
    future["dynamodb"]["NewImage"] = {**records[1]["dynamodb"]["NewImage"], "schema": {"S": "9"}}
    assert deliver(world, "counters", [future, *records]) == []
    (message,) = parked(world, "ParkedQueue")
    assert "the schema 9 is unknown" in message["reason"]
    assert message["record"]["dynamodb"]["NewImage"] == future["dynamodb"]["NewImage"]
    assert_all_counted(world)


def test_a_foreign_item_that_no_message_can_hold_is_parked_by_its_keys_and_stays_parked(world: World) -> None:
    records = sold(world)
    records[2]["dynamodb"]["NewImage"]["foreign"] = {"S": "é" * 190_000}
    assert deliver(world, "counters", records) == []
    assert figures(world)[0] == "3"
    world.clock.advance(timedelta(days=1))
    world.report()
    assert world.stack.invoke("repair", {"action": "unpark"})["counters"] == {"applied": 0, "kept": 1}
    (message,) = parked(world, "ParkedQueue")
    assert message["record"]["dynamodb"]["Keys"] == records[2]["dynamodb"]["Keys"]
    assert "NewImage" not in message["record"]["dynamodb"]


def test_when_a_record_cannot_be_parked_the_batch_fails() -> None:
    with faulty("throttle=1") as (world, faults):
        records = sold(world)
        del records[0]["dynamodb"]["NewImage"]
        with pytest.raises(Exception, match="SQS"), faults.at_work():
            deliver(world, "counters", records)
        assert [item for item in items(world, "EntityTable") if item["pk"].startswith("ACCOUNT")] == []


@pytest.mark.parametrize(
    "change",
    [
        {"eventName": "MODIFY"},
        {"eventName": "REMOVE"},
        {"userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}},
    ],
)
def test_only_first_writes_of_events_are_counted_even_if_a_filter_lets_others_through(
    world: World, change: dict[str, object]
) -> None:
    records = sold(world)
    others = [{**one, **change} for one in records]
    assert deliver(world, "counters", others) == []
    assert [item for item in items(world, "EntityTable") if item["pk"].startswith("ACCOUNT")] == []
    assert deliver(world, "counters", [*others, *records]) == []
    assert_all_counted(world)
    assert parked(world, "ParkedQueue") == []


def test_counters_agree_with_the_ledger_after_many_events(sharded: World) -> None:
    sales = [sale(str(i), f"{i}.{i:02d}", customer=f"c{i % 7}") for i in range(60)]
    post_each(sharded, sales)
    records = stream(sharded, "LedgerTable")
    # Each partition keeps its order; the partitions come one after the other.
    records.sort(key=lambda one: str(one["dynamodb"]["Keys"]["quarter_hour"]["S"]))
    for start in range(0, 60, 7):
        deliver(sharded, "counters", records[max(0, start - 3) : start + 7])
    total = sum(Decimal(f"{i}.{i:02d}") for i in range(60))
    assert figures(sharded)[:2] == ("60", str(total))
    quarter_hours = [item for (_, sk), item in all_counters(sharded).items() if sk.startswith("QUARTER#")]
    assert [len(item["watermarks"]) for item in quarter_hours] == [3]
    assert sum(Decimal(item["gross"]) for item in quarter_hours) == total
    assert counter(sharded, "CUSTOMERS")["customers"] == "7"


# ---------------------------------------------------------------- snapshots


def changed(world: World) -> list[dict[str, Any]]:
    """Change an account four times in two windows of five minutes, and return the entity stream's records."""
    for i, minute in enumerate((0, 1, 4, 5)):
        world.clock.advance_to(world.clock.now().replace(minute=30 + minute))
        post(world, sale(str(i), "10.00"))
        deliver(world, "counters", stream(world, "LedgerTable"))
    records = [one for one in stream(world, "EntityTable") if one["dynamodb"]["Keys"]["sk"]["S"] == "latest"]
    assert [one["eventName"] for one in records] == ["INSERT", "MODIFY", "MODIFY", "MODIFY"]
    return records


def kept(world: World) -> dict[str, str]:
    """Return the number of events in each snapshot, by its window."""
    found = [item for item in items(world, "EntityTable") if item["sk"].startswith(("change#", "5m#", "1h#"))]
    return {str(item["sk"]).rpartition("#00000000000")[0] or str(item["sk"]): str(item["events"]) for item in found}


ALL_KEPT = {
    "change#2026-10-23T01:30:00.000Z": "1",
    "change#2026-10-23T01:31:00.000Z": "2",
    "change#2026-10-23T01:34:00.000Z": "3",
    "5m#2026-10-23T01:30:00Z": "3",
}
"""The last change, and the windows from 01:35 and 01:00, are not left: the latest state stands for them."""


@pytest.mark.parametrize(
    "deliveries",
    [
        [[0, 1, 2, 3]],
        [[0], [1], [2], [3]],
        [[3], [2], [1], [0]],
        [[3, 2, 1, 0], [0, 1, 2, 3]],
        [[2, 3], [0, 1], [2], [0, 3, 1]],
    ],
)
def test_each_window_that_is_left_keeps_its_last_state_in_any_order_of_changes(
    world: World, deliveries: list[list[int]]
) -> None:
    records = changed(world)
    for delivery in deliveries:
        assert deliver(world, "snapshots", [records[i] for i in delivery]) == []
    assert kept(world) == ALL_KEPT


def test_a_window_is_written_once_when_it_is_left() -> None:
    with faulty() as (world, faults):
        records = changed(world)
        with faults.at_work():
            deliver(world, "snapshots", records)
        assert [call.operation for call in faults.calls] == ["PutItem"] * len(ALL_KEPT)


def test_a_snapshot_holds_the_state_of_its_window_and_expires_by_its_layer(world: World) -> None:
    records = changed(world)
    deliver(world, "snapshots", records)
    then = entity(world, "5m#2026-10-23T01:30:00Z")
    assert tuple(then[name] for name in FIGURES) == ("3", "30.00", "0", "3.0000")
    assert then["last_updated"] == "2026-10-23T01:34:00.000Z"
    closed = world.clock.now().replace(minute=35)
    assert int(then["expires_at"]) == int((closed + timedelta(hours=24)).timestamp())


def test_snapshots_never_trigger_snapshots_even_if_a_filter_lets_them_through(world: World) -> None:
    deliver(world, "snapshots", changed(world))
    before = items(world, "EntityTable")
    assert deliver(world, "snapshots", stream(world, "EntityTable")) == []
    assert items(world, "EntityTable") == before


def test_a_state_that_could_not_be_written_names_its_record_and_is_written_when_redelivered() -> None:
    with faulty("throttle=1") as (world, faults):
        records = changed(world)
        with faults.at_work():
            assert deliver(world, "snapshots", records[2:]) == [number(records[2])]
        assert kept(world) == {}
        assert deliver(world, "snapshots", records) == []
        assert kept(world) == ALL_KEPT


def test_a_record_that_is_no_state_is_parked_with_its_content_and_the_rest_is_written(world: World) -> None:
    records = changed(world)
    image = {name: value for name, value in records[3]["dynamodb"]["NewImage"].items() if name != "last_updated"}
    bad = {**records[3], "dynamodb": {**records[3]["dynamodb"], "SequenceNumber": "1", "NewImage": image}}
    assert deliver(world, "snapshots", [bad, *records]) == []
    (message,) = parked(world, "ParkedQueue")
    assert "last_updated" in message["reason"]
    assert message["record"]["dynamodb"]["NewImage"] == image
    assert kept(world) == {**ALL_KEPT, "1h#2026-10-23T01:00:00Z": "3"}, "kept as if its windows were left"


# ---------------------------------------------------------------- from one stream to the next


def test_the_streams_alone_bring_a_sale_into_counters_and_snapshots(world: World) -> None:
    post(world, sale(amount="12.50"))
    world.drain()
    assert figures(world) == ("1", "12.50", "0", "1.2500")
    assert kept(world) == {}
    world.clock.advance(timedelta(minutes=30))
    post(world, sale("b"))
    world.drain()
    assert kept(world) == {
        "change#2026-10-23T01:30:00.000Z": "1",
        "5m#2026-10-23T01:30:00Z": "1",
        "1h#2026-10-23T01:00:00Z": "1",
    }


def test_a_stream_that_stood_still_for_hours_leaves_the_same_history_as_one_that_did_not() -> None:
    """Each hour has its own state though all events arrive in one batch."""
    histories = []
    for late in (False, True):
        with opened() as world:
            for number in range(4):
                post(world, sale(f"order-{number}", "1.00"))
                if not late:
                    world.drain()
                world.pass_time(hours=1)
            world.drain()
            hours = world.read("/accounts/42/GBP/snapshots", layer="1h", from_="2026-10-23", to="2026-10-24")
            trend = world.read("/accounts/42/GBP/trend", layer="1h")
            histories.append(([one["events"] for one in hours["items"]], trend["figures"]["events"]["change"]))
    assert histories == [([1, 2, 3, 4], 1)] * 2
