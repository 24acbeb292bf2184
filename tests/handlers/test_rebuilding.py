"""An operator repairs counters from the sealed ledger, day by day, at any age and any number of times."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from quarterhour.model.errors import SealedFileError
from quarterhour.model.schema import SCHEMA
from tests.support.events import refund, sale
from tests.support.requests import account, post, post_each
from tests.support.system import World, opened
from tests.support.tables import (
    all_counters,
    change_counter,
    counter,
    deliver,
    entity,
    items,
    let_windows_leave,
    lose_counter,
    stream,
)

MANY = 1000
SHORT = 60.0
"""Seconds in which one day is rebuilt and no other is begun."""


@pytest.fixture
def world() -> Iterator[World]:
    with opened() as world:
        yield world


def sell_for_days(world: World) -> None:
    """Sell on three days, to three customers a day of whom two are new, and report each day."""
    for day in range(3):
        crowd = [
            sale(f"s{day}-{n}", f"{n + 1}.50", customer=f"c{2 * day + n}", commission_rate="0.125") for n in range(3)
        ]
        post(world, crowd)
        post(world, {**sale(f"other{day}", "7", customer="zoe"), "subject": f"agency {day}"})
        post(world, refund(f"r{day}", "-0.25", of=f"s{day}-0"))
        world.pass_time(days=1)
        world.report()


def counted(world: World) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what is counted of all accounts: everything but versions and watermarks."""
    return {
        (pk, sk): {
            name: item[name] for name in ("events", "gross", "refunds", "commission", "customers") if name in item
        }
        for (pk, sk), item in all_counters(world).items()
        if sk.startswith(("latest", "DAY#", "QUARTER#", "CUSTOMERS"))
    }


def break_everything(world: World) -> None:
    for pk, sk in counted(world):
        if sk.startswith("CUSTOMERS"):
            continue
        change_counter(world, sk, pk, events={"N": str(MANY)}, gross={"S": "1"})


def lose(world: World, *, markers_of: str) -> int:
    """Lose the markers of customers that expire on their own: those of days."""
    lost = [item for item in items(world, "EntityTable") if item["pk"].startswith(markers_of) and "expires_at" in item]
    for item in lost:
        key = {"pk": {"S": item["pk"]}, "sk": {"S": item["sk"]}}
        world.stack.dynamodb.delete_item(TableName=world.stack.ref("EntityTable"), Key=key)
    return len(lost)


# ---------------------------------------------------------------- the history


def test_a_repaired_lifetime_is_one_more_state_and_the_windows_before_it_stay_as_they_were_shown(world: World) -> None:
    sell_for_days(world)
    world.drain()
    path = account(part="snapshots")
    before = world.all(path, layer="1h", last=9)
    assert [one["events"] for one in before] == [12, 8, 4]
    change_counter(world, "latest", events={"N": str(MANY)}, version={"N": str(before[0]["version"] + 2)})
    world.stack.invoke("repair", {"action": "rebuild"})
    world.drain()
    after = world.all(path, layer="1h", last=9)
    assert [one["events"] for one in after] == [12, MANY, 8, 4]
    assert after[0]["version"] == before[0]["version"] + 3
    assert after[0]["window"] > after[1]["window"], "repaired as of the last sealed quarter-hour"
    assert after[2:] == before[1:]


# ---------------------------------------------------------------- distinct customers


@pytest.mark.slow
def test_the_customers_of_a_day_are_the_same_after_every_rebuild_though_its_markers_have_expired(world: World) -> None:
    post(world, [sale(f"s{n}", "1", customer=f"c{n}") for n in range(3)])
    world.pass_time(days=4)
    world.report()
    assert lose(world, markers_of="SEEN#") == 3
    right = counted(world)
    for _ in range(2):
        assert world.stack.invoke("repair", {"action": "rebuild"})["repaired"] == 0
        assert counted(world) == right
    change_counter(world, "CUSTOMERS#2026-10-23", customers={"N": "9"})
    assert world.stack.invoke("repair", {"action": "rebuild"})["repaired"] == 1
    assert counted(world) == right
    assert {right["ACCOUNT#42#GBP", sk]["customers"] for sk in ("CUSTOMERS", "CUSTOMERS#2026-10-23")} == {"3"}


def test_the_lost_customers_of_a_day_are_restored_with_their_expiry(world: World) -> None:
    post(world, [sale(f"s{n}", "1", customer=f"c{n}") for n in range(3)])
    world.pass_time(days=4)
    world.report()
    let_windows_leave(world)
    before = entity(world, "CUSTOMERS#2026-10-23")
    lose_counter(world, "CUSTOMERS#2026-10-23")
    assert world.stack.invoke("repair", {"action": "rebuild"})["repaired"] == 1
    assert {**entity(world, "CUSTOMERS#2026-10-23"), "left_at": before["left_at"]} == before


def test_the_customers_of_a_young_day_are_right_while_the_stream_redelivers(world: World) -> None:
    post_each(world, [sale(f"s{n}", "1", customer=f"c{n}") for n in range(3)])
    world.clock.advance(timedelta(minutes=18))
    world.report()
    records = stream(world, "LedgerTable")
    assert deliver(world, "counters", records[:1]) == []
    world.stack.invoke("repair", {"action": "rebuild"})
    assert deliver(world, "counters", records) == []
    world.stack.invoke("repair", {"action": "rebuild"})
    for sk in ("CUSTOMERS", "CUSTOMERS#2026-10-23"):
        assert counter(world, sk)["customers"] == "3"
    assert counter(world, "latest")["events"] == "3"


# ---------------------------------------------------------------- records out of order


def test_an_event_whose_record_comes_after_a_later_one_shows_as_drift_and_is_counted_by_a_rebuild(world: World) -> None:
    """Two stream shards would have to share a partition of the ledger for this."""
    post_each(world, [sale("first", "10"), sale("second", "20"), sale("third", "30")])
    first, second, third = stream(world, "LedgerTable")
    assert deliver(world, "counters", [first, third]) == []
    assert deliver(world, "counters", [second]) == []
    assert counter(world, "latest")["events"] == "2", "the late record is at the watermark or below"
    world.clock.advance(timedelta(minutes=18))
    (run,) = world.report()["runs"]
    assert world.read(f"/reports/{run}")["counters"] == "pending"
    world.clock.advance(timedelta(days=1))
    assert world.report()["drift"] == 1
    assert world.read(f"/reports/{run}")["counters"] == "drift"
    world.stack.invoke("repair", {"action": "rebuild"})
    assert {sk: counter(world, sk)["events"] for sk in ("latest", "DAY#2026-10-23", "QUARTER#202610230130")} == {
        "latest": "3",
        "DAY#2026-10-23": "3",
        "QUARTER#202610230130": "3",
    }
    assert deliver(world, "counters", [second]) == []
    assert counter(world, "latest")["events"] == "3"


# ---------------------------------------------------------------- day by day


def test_a_rebuild_continues_from_its_next_day(world: World) -> None:
    sell_for_days(world)
    right = counted(world)
    break_everything(world)
    event = {"action": "rebuild"}
    came_to = []
    repaired = 0
    while True:
        answer = world.stack.invoke("repair", event, SHORT)
        came_to.append(answer["next"])
        repaired += answer["repaired"]
        if answer["next"] is None:
            break
        event["from"] = answer["next"]
    assert came_to == ["2026-10-24", "2026-10-25", "2026-10-26", "2026-10-27", None]
    assert answer["accounts"] == 4
    assert repaired > 0
    assert counted(world) == right
    assert world.stack.invoke("repair", {"action": "rebuild"}) == {
        "days": 4,
        "accounts": 4,
        "repaired": 0,
        "next": None,
        "execution": None,
    }


def test_days_before_the_first_requested_day_are_not_touched(world: World) -> None:
    sell_for_days(world)
    right = counted(world)
    break_everything(world)
    world.stack.invoke("repair", {"action": "rebuild", "account": "42#GBP", "from": "2026-10-24"})
    found = counted(world)
    assert found["ACCOUNT#42#GBP", "DAY#2026-10-23"]["events"] == str(MANY)
    assert found["ACCOUNT#agency 1#GBP", "latest"]["events"] == str(MANY)
    for sk in ("latest", "DAY#2026-10-24", "DAY#2026-10-25"):
        assert found["ACCOUNT#42#GBP", sk] == right["ACCOUNT#42#GBP", sk]


@pytest.mark.slow
def test_a_rebuild_of_one_account_reads_no_files_of_runs_without_it(world: World) -> None:
    sell_for_days(world)
    right = counted(world)
    bucket = world.stack.ref("ReportBucket")
    s3: Any = world.stack.engine.s3()
    for found in s3.list_objects_v2(Bucket=bucket, Prefix="ledger/")["Contents"]:
        if "dt=2026-10-24" not in found["Key"]:
            s3.delete_object(Bucket=bucket, Key=found["Key"])
    change_counter(world, "latest", "ACCOUNT#agency 1#GBP", gross={"S": "1"})
    assert world.stack.invoke("repair", {"action": "rebuild", "account": "agency 1#GBP"})["repaired"] == 1
    assert counted(world) == right
    with pytest.raises(SealedFileError, match="is gone"):
        world.stack.invoke("repair", {"action": "rebuild", "account": "42#GBP"})


@pytest.mark.slow
def test_a_manifest_other_than_the_sealed_one_is_refused(world: World) -> None:
    sell_for_days(world)
    bucket = world.stack.ref("ReportBucket")
    s3: Any = world.stack.engine.s3()
    key = "reports/2026/10/23/0130-2400/manifest.json"
    content = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    s3.put_object(Bucket=bucket, Key=key, Body=content.replace(b"7.50", b"7.51"))
    with pytest.raises(SealedFileError, match="is not the file that was sealed"):
        world.stack.invoke("repair", {"action": "rebuild"})


# ---------------------------------------------------------------- parked records


def park(world: World, *records: dict[str, Any]) -> None:
    """Park records as if this version were the first that can read them."""
    for record in records:
        image = record["dynamodb"]["NewImage"]
        image["schema"] = {"S": "of a later version"}
    assert deliver(world, "counters", list(records)) == []
    sqs, queue = world.stack.engine.sqs(), world.stack.ref("ParkedQueue")
    answer: Any = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    for message in answer["Messages"]:
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        sqs.send_message(QueueUrl=queue, MessageBody=message["Body"].replace("of a later version", str(SCHEMA)))


@pytest.mark.parametrize(
    "days", [pytest.param(1, id="that is kept"), pytest.param(13.5, id="that has expired", marks=pytest.mark.slow)]
)
def test_a_parked_record_is_applied_by_rebuilding_its_day(world: World, days: float) -> None:
    post_each(world, [sale("kept", "2.00", customer="bob"), sale("parked", "3.00", customer="ann")])
    kept, parked = stream(world, "LedgerTable")
    assert deliver(world, "counters", [kept]) == []
    park(world, parked)
    world.clock.advance(timedelta(days=days))
    world.report()
    assert counter(world, "latest")["gross"] == "2.00"
    assert world.stack.invoke("repair", {"action": "unpark"})["counters"] == {"applied": 1, "kept": 0}
    assert counter(world, "latest")["gross"] == counter(world, "DAY#2026-10-23")["gross"] == "5.00"
    assert {counter(world, sk)["customers"] for sk in ("CUSTOMERS", "CUSTOMERS#2026-10-23")} == {"2"}
    assert world.stack.invoke("repair", {"action": "rebuild"})["repaired"] == 0


def test_a_parked_record_repairs_no_other_day(world: World) -> None:
    post(world, sale("before", "2.00"))
    world.pass_time(days=1)
    post(world, sale("parked", "3.00"))
    park(world, stream(world, "LedgerTable")[-1])
    world.clock.advance(timedelta(days=1))
    world.report()
    change_counter(world, "DAY#2026-10-23", gross={"S": "1"})
    assert world.stack.invoke("repair", {"action": "unpark"})["counters"] == {"applied": 1, "kept": 0}
    assert counter(world, "DAY#2026-10-24")["gross"] == "3.00"
    assert counter(world, "DAY#2026-10-23")["gross"] == "1"
    assert counter(world, "latest")["gross"] == "5.00"


def visible(world: World, queue: str = "ParkedQueue") -> int:
    """Count the messages that can be received from a queue now, and leave them so."""
    sqs, url = world.stack.engine.sqs(), world.stack.ref(queue)
    answer: Any = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
    return len(answer.get("Messages", []))


MORE_THAN_A_BATCH = 12
"""Parked records: SQS takes and changes 10 messages a call."""


@pytest.mark.parametrize("sealed", [True, False], ids=["something is sealed", "nothing is sealed"])
def test_a_record_that_stays_parked_is_visible_when_the_run_ends(world: World, *, sealed: bool) -> None:
    """Its alarm looks at the visible messages alone."""
    if sealed:
        post(world, sale("before", "2.00"))
        world.pass_time(days=1)
        world.report()
    post_each(world, [sale(f"parked {number}", "3.00") for number in range(MORE_THAN_A_BATCH)])
    for record in stream(world, "LedgerTable")[-MORE_THAN_A_BATCH:]:
        park(world, record)
    unpark = {"action": "unpark"}
    kept = {"applied": 0, "kept": MORE_THAN_A_BATCH}
    assert world.stack.invoke("repair", unpark)["counters"] == kept, "each is tried once a run"
    assert visible(world) == 10
    assert world.stack.invoke("repair", unpark)["counters"] == kept, "none is hidden"


def test_records_received_by_a_failed_run_are_visible_when_it_ends(world: World) -> None:
    post_each(world, [sale("one", "2.00"), sale("two", "3.00")])
    for record in stream(world, "LedgerTable"):
        park(world, record)
    world.pass_time(days=1)
    world.report()
    bucket = world.stack.ref("ReportBucket")
    s3: Any = world.stack.engine.s3()
    for found in s3.list_objects_v2(Bucket=bucket, Prefix="ledger/")["Contents"]:
        s3.delete_object(Bucket=bucket, Key=found["Key"])
    with pytest.raises(SealedFileError):
        world.stack.invoke("repair", {"action": "unpark"})
    assert visible(world) == 2
