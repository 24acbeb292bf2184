"""Account items that the counters function cannot use, or that are lost: nothing of their accounts is lost."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from quarterhour.aws.retries import is_refused
from tests.support.events import payment, sale
from tests.support.requests import post, post_each
from tests.support.system import World, opened
from tests.support.tables import all_counters, deliver, postings_in, stream

PK, OTHER = "ACCOUNT#42#GBP", "ACCOUNT#7#GBP"
REBUILD, UNPARK = {"action": "rebuild"}, {"action": "unpark"}
SPAN = {"from": "2026-10-23T00:00:00Z", "to": "2026-10-24T00:00:00Z"}


@pytest.fixture
def there(engine: str) -> Iterator[World]:
    """The system with one ledger shard on one engine, then on the other."""
    with opened({"LedgerShards": 1}, engine=engine) as world:
        yield world


def put(world: World, item: dict[str, Any]) -> None:
    world.stack.dynamodb.put_item(TableName=world.stack.ref("EntityTable"), Item=item)


def stored(world: World, sk: str = "latest", pk: str = PK) -> dict[str, Any]:
    key = {"pk": {"S": pk}, "sk": {"S": sk}}
    found: dict[str, Any] = world.stack.dynamodb.get_item(TableName=world.stack.ref("EntityTable"), Key=key)["Item"]
    return found


def counted(world: World) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what is counted of all accounts: everything but versions, watermarks and how a window left."""
    names = ("events", "gross", "refunds", "commission", "payments", "customers", "periods")
    return {
        place: {name: values[name] for name in names if name in values} for place, values in all_counters(world).items()
    }


def visible(world: World) -> list[dict[str, Any]]:
    """Return the parked records, and leave them in the queue."""
    sqs: Any = world.stack.engine.sqs()
    url = world.stack.ref("ParkedQueue")
    answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def with_next_version(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as a person changes it: the function that wrote it last must see that it has changed."""
    return {**item, "version": {"N": str(int(item["version"]["N"]) + 1)}}


def of_an_unknown_schema(world: World) -> None:
    put(world, {**with_next_version(stored(world)), "schema": {"N": "3"}})


def as_large_as_may_be(world: World) -> None:
    """Fill the item to the last byte that the engine takes, in a window that stays open."""
    put(world, with_next_version(stored(world)))
    least, most = 300_000, 500_000
    while most - least > 1:
        size = (least + most) // 2
        try:
            put(world, filled(stored(world), "9" * size))
        except ClientError as error:
            if not is_refused(error):
                raise
            most = size
        else:
            least = size
    assert 400_000 < least < 400 * 1024


def filled(item: dict[str, Any], watermark: str) -> dict[str, Any]:
    window = {"M": {"watermarks": {"M": {"99": {"S": watermark}}}}}
    return {**item, "open": {"M": {**item["open"]["M"], "QUARTER#202610232345": window}}}


@pytest.mark.parametrize(
    ("break_", "reason", "stays"),
    [
        (
            of_an_unknown_schema,
            "the item of account 42#GBP cannot be read: UnknownSchemaError('the schema 3 is unknown",
            True,
        ),
        (as_large_as_may_be, "DynamoDB refuses an account item", False),
    ],
    ids=["schema", "size"],
)
def test_the_records_of_an_account_whose_item_cannot_be_used_are_parked_and_counted_once_it_is_repaired(
    there: World, break_: Callable[[World], None], reason: str, *, stays: bool
) -> None:
    """An item that is above its size needs no repair, once the windows that fill it are over: they leave at once."""
    post(there, sale("a", "10.00", customer="ann"))
    assert deliver(there, "counters", stream(there, "LedgerTable")) == []
    before = stored(there)
    break_(there)
    broken = stored(there)
    there.clock.advance(timedelta(minutes=1))
    post_each(
        there, [sale("b", "0.5", currency="GBP", customer="bob"), payment("c", "-2.5"), sale("d", "7", agency="7")]
    )
    records = stream(there, "LedgerTable")
    named = {posting["id"]: one for one in records for posting in postings_in(one["dynamodb"]["NewImage"])}
    there.clock.advance(timedelta(minutes=15))
    post(there, sale("e", "1"))
    records = stream(there, "LedgerTable")
    named |= {posting["id"]: one for one in records for posting in postings_in(one["dynamodb"]["NewImage"])}

    assert deliver(there, "counters", [named[id_] for id_ in "bcde"]) == []
    assert stored(there) == broken, "it is not changed"
    assert stored(there, pk=OTHER)["gross"] == {"S": "7"}
    messages = visible(there)
    alone = [postings_in(one["record"]["dynamodb"]["NewImage"]) for one in messages]
    assert sorted(one["id"] for (one,) in alone) == ["b", "c", "e"]
    assert all([one] == postings_in(named[one["id"]]["dynamodb"]["NewImage"]) for (one,) in alone)
    assert all(one["reason"].startswith(reason) for one in messages)

    assert deliver(there, "counters", [named[id_] for id_ in "abcde"]) == [], "delivered again, parked again"
    again = len(visible(there))
    there.clock.advance(timedelta(days=1))
    there.report()
    if stays:
        assert there.stack.invoke("repair", UNPARK)["counters"] == {"applied": 0, "kept": again}
        assert stored(there) == broken
        put(there, {**before, "version": with_next_version(broken)["version"]})
    assert there.stack.invoke("repair", UNPARK)["counters"] == {"applied": again, "kept": 0}
    expected = counted(there)
    assert expected[PK, "latest"]["events"] == expected[PK, "DAY#2026-10-23"]["events"] == "4"
    assert expected[PK, "latest"]["gross"] == expected[PK, "PERIOD#2026-10"]["gross"] == "11.50"
    assert expected[PK, "latest"]["payments"] == "-2.5"
    assert expected[PK, "CUSTOMERS"]["customers"] == expected[PK, "CUSTOMERS#2026-10-23"]["customers"] == "2"
    assert deliver(there, "counters", [named[id_] for id_ in "abcde"]) == []
    assert there.stack.invoke("repair", REBUILD)["repaired"] == 0
    assert counted(there) == expected
    assert visible(there) == []


# ---------------------------------------------------------------- a lost item


def lose_latest(world: World) -> None:
    key = {"pk": {"S": PK}, "sk": {"S": "latest"}}
    world.stack.dynamodb.delete_item(TableName=world.stack.ref("EntityTable"), Key=key)


def test_a_rebuild_repairs_all_figures_of_a_lost_account_item_and_events_are_counted_before_and_after(
    world: World,
) -> None:
    """As the runbook says, the lifetime lacks some customers."""
    for day in range(3):
        for part in range(4):
            post(world, sale(f"{day}-{part}", "1.5", customer=f"{day}-{part}"))
            world.pass_time(minutes=15)
        world.pass_time(days=1)
        world.report()
    lose_latest(world)
    assert world.missing("/accounts/42/GBP") == "there is no account '42' in 'GBP'"
    assert world.missing("/accounts/42/GBP/quarter-hours", **SPAN) == "there is no account '42' in 'GBP'"

    post(world, sale("after", "0.25", customer="after"))
    world.drain()
    assert world.read("/accounts/42/GBP")["events"] == 1, "what is counted from now on"
    world.pass_time(minutes=20)
    world.report()
    assert world.stack.invoke("repair", {**REBUILD, "account": "42#GBP"})["repaired"] > 0
    assert shown(world) == (13, "18.25")
    post(world, sale("later", "0.25", customer="later"))
    world.drain()
    assert shown(world) == (14, "18.50")
    assert [one["events"] for one in days(world)] == [4, 4, 4, 2]
    world.pass_time(days=3)
    world.report()
    world.stack.invoke("repair", REBUILD)
    assert world.stack.invoke("repair", REBUILD)["repaired"] == 0
    assert [(one["events"], one["customers"]) for one in days(world)] == [(4, 4), (4, 4), (4, 4), (2, 2)]
    assert world.read("/accounts/42/GBP")["customers"] == 13, "one of 14 was in the item, its quarter-hour had left"


def shown(world: World) -> tuple[int, str]:
    found = world.read("/accounts/42/GBP")
    return found["events"], found["gross"]


def days(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.read("/accounts/42/GBP/days", from_="2026-10-23", to="2026-10-28")["items"]
    return found


def test_a_function_that_keeps_the_lost_item_in_memory_counts_on_from_the_rebuilt_one(world: World) -> None:
    """The rebuilt item has as many changes as the lost one had."""
    post(world, sale("a", "1.5"))
    world.drain()
    lose_latest(world)
    world.pass_time(minutes=20)
    world.report()
    assert world.stack.invoke("repair", REBUILD)["repaired"] > 0
    post(world, sale("b", "0.5"))
    world.drain()
    assert shown(world) == (2, "2.0")
    assert [one["events"] for one in days(world)] == [2]
