"""Counters that were broken, and records that were parked, come right again while new events keep coming."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from quarterhour.model.schema import SCHEMA
from tests.invariants.crashing import Crashes, crash_points
from tests.invariants.trial import GRACE, Trial, on_trial
from tests.support.counted import let_windows_leave
from tests.support.events import payment, refund, sale


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial() as made:
        yield made


def a_sealed_quarter_hour(place: Trial) -> None:
    place.send([sale("s1", "10.00", customer="bob"), sale("s2", "0.001"), refund("r1", "-4", of="s1")])
    place.send([payment("p1", "25.00"), payment("p2", "-5.5")])
    deliver_all(place)
    place.clock.advance(timedelta(minutes=15) + GRACE)
    place.report()


def deliver_all(place: Trial) -> None:
    place.read_streams()
    for lane in place.lanes.values():
        place.deliver(lane, lane.left)


def verdicts(place: Trial) -> set[str]:
    return {item["counters"]["S"] for item in place.entities() if item["pk"]["S"] == "RUN"}


def break_counters(place: Trial) -> None:
    """Change what was counted, by hand, once its window has left."""
    let_windows_leave(place.dynamodb, place.stack.ref("EntityTable"))
    table = place.stack.ref("EntityTable")
    for item in place.entities():
        if item["pk"]["S"] == "ACCOUNT#42#GBP" and item["sk"]["S"].startswith(("latest", "DAY#", "QUARTER#")):
            place.dynamodb.put_item(TableName=table, Item={**item, "gross": {"S": "1"}, "events": {"N": "99"}})


def test_a_rebuild_repairs_broken_counters_while_events_keep_arriving(place: Trial) -> None:
    a_sealed_quarter_hour(place)
    break_counters(place)
    for position in range(14):
        number = position

        def meanwhile(number: int = number) -> None:
            place.send([sale(f"new{number}", "2.5", customer="eve")])
            deliver_all(place)

        place.faults.meanwhile(position, meanwhile)
        place.invoke("repair", {"action": "rebuild", "account": "42#GBP"})
        if position % 3 == 0:
            break_counters_of_sealed(place)
    place.invoke("repair", {"action": "rebuild"})
    place.drain()
    place.check()


def break_counters_of_sealed(place: Trial) -> None:
    """Change the lifetime and the sealed quarter-hour, leave the ones that the stream is at."""
    let_windows_leave(place.dynamodb, place.stack.ref("EntityTable"))
    table = place.stack.ref("EntityTable")
    for item in place.entities():
        if item["pk"]["S"] == "ACCOUNT#42#GBP" and item["sk"]["S"].startswith("QUARTER#202610230130"):
            place.dynamodb.put_item(TableName=table, Item={**item, "commission": {"S": "-7"}})


def test_a_rebuild_may_die_at_any_call(place: Trial, crashes: Crashes) -> None:
    a_sealed_quarter_hour(place)
    right = counted(place)
    lose_counters(place)
    before = len(place.faults.calls)
    place.invoke("repair", {"action": "rebuild"})
    points = crash_points(range(len(place.faults.calls) - before))
    assert counted(place) == right
    for call, death in points:
        lose_counters(place)
        place.faults.arm(death, call)
        place.invoke("repair", {"action": "rebuild"})
        place.invoke("repair", {"action": "rebuild"})
        assert counted(place) == right
    assert len(place.faults.struck) == len(points), "a crash point was not reached"
    place.drain()
    place.check()
    crashes.survived("rebuild", len(points))


def counted(place: Trial) -> dict[tuple[str, str], Any]:
    """Return what is counted of all accounts, but for versions and watermarks."""
    figures = ("events", "gross", "refunds", "commission", "payments", "customers")
    return {
        place_: {name: counter[name] for name in figures if name in counter}
        for place_, counter in place.counters().items()
        if place_[1].startswith(("latest", "DAY#", "QUARTER#", "CUSTOMERS"))
    }


def lose_counters(place: Trial) -> None:
    """Lose all that was counted."""
    table = place.stack.ref("EntityTable")
    for item in place.entities():
        if item["pk"]["S"].startswith(("ACCOUNT#", "SEEN#")):
            place.dynamodb.delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})


def test_a_report_counts_drift_and_leaves_lagging_counters_pending(place: Trial) -> None:
    place.send([sale("s1", "10.00")])
    place.clock.advance(timedelta(minutes=15) + GRACE)
    place.report()
    assert verdicts(place) == {"pending"}
    deliver_all(place)
    break_counters(place)
    place.clock.advance(timedelta(minutes=15))
    assert place.report()["drift"] == 1
    assert "drift" in verdicts(place)
    place.invoke("repair", {"action": "rebuild"})
    place.drain()
    place.check()


def test_a_rebuild_counts_undelivered_records_only_once(place: Trial) -> None:
    place.send([sale("s1", "10.00", customer="bob"), sale("s2", "3")])
    place.clock.advance(timedelta(minutes=15) + GRACE)
    place.report()
    assert place.invoke("repair", {"action": "rebuild"})["repaired"] > 0
    place.drain()
    place.check()


def test_only_the_parked_record_is_left_out_and_unpark_applies_it(place: Trial) -> None:
    for number in range(5):
        place.send([sale(f"s{number}", "1.50", customer="bob")])
    place.read_streams()
    lane = max(place.lanes.values(), key=lambda lane: len(lane.records))
    image = lane.records[0]["dynamodb"]["NewImage"]
    image["schema"] = {"S": "of a later version"}
    deliver_all(place)
    (message,) = parked(place)
    assert schema_of(message) == {"S": "of a later version"}
    counted = sum(int(item["events"]["N"]) for item in place.entities() if item["sk"]["S"] == "latest")
    assert counted == 4, "all around the parked record are counted"

    assert place.invoke("repair", {"action": "unpark"})["counters"] == {"applied": 0, "kept": 1}
    place.clock.advance(timedelta(minutes=15) + GRACE)
    place.report()
    schema_of(message)["S"] = str(SCHEMA)
    place.sqs.send_message(QueueUrl=place.stack.ref("ParkedQueue"), MessageBody=json.dumps(message))
    assert place.invoke("repair", {"action": "unpark"})["counters"]["applied"] == 1
    place.drain()
    place.check()


def parked(place: Trial) -> list[dict[str, Any]]:
    """Return the messages of parked ledger records, and leave them there."""
    url = place.stack.ref("ParkedQueue")
    answer = place.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def schema_of(message: dict[str, Any]) -> dict[str, str]:
    """Return the schema in a message, to be replaced as a later version would understand it."""
    schema: dict[str, str] = message["record"]["dynamodb"]["NewImage"]["schema"]
    return schema
