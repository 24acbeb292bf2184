"""What an operator does after a loss: items are put back from a recovered copy, and everything agrees again."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from quarterhour_tools.emulator.template import table_request
from quarterhour_tools.errors import ToolError
from quarterhour_tools.operations.restore import Restored, restore
from tests.support.agencies import OWNER
from tests.support.events import sale
from tests.support.requests import post, verdicts
from tests.support.stored_statements import register
from tests.support.system import World, opened
from tests.support.tables import counter, entity, items, ledger

TABLES = ("IdentityTable", "LedgerTable", "EntityTable")


@pytest.fixture
def reported() -> Iterator[World]:
    """The system after two reports, with copies of its tables as a recovery makes them."""
    with opened({"LedgerShards": 2}) as world:
        post(world, [sale(f"a{n}", "1.00", customer=f"c{n}") for n in range(20)])
        world.pass_time(minutes=18)
        world.report()
        post(world, [sale(f"b{n}", "2.00") for n in range(20)])
        world.pass_time(minutes=18)
        world.report()
        for table in TABLES:
            copy(world, table)
        yield world


def copy(world: World, table: str) -> None:
    request = table_request(f"{table}-copy", world.stack.template.resources("AWS::DynamoDB::Table")[table])
    request.pop("StreamSpecification", None)
    world.stack.dynamodb.create_table(**request)
    for item in raw(world, world.stack.ref(table)):
        world.stack.dynamodb.put_item(TableName=f"{table}-copy", Item=item)


def raw(world: World, name: str) -> list[dict[str, dict[str, str]]]:
    pages = world.stack.dynamodb.get_paginator("scan").paginate(TableName=name)
    return [item for page in pages for item in page["Items"]]


def lose(world: World, table: str, *keys: str, of: str = "") -> int:
    """Lose the items whose partition key begins with a text; return how many."""
    lost = [item for item in raw(world, world.stack.ref(table)) if item[keys[0]]["S"].startswith(of)]
    for item in lost:
        world.stack.dynamodb.delete_item(TableName=world.stack.ref(table), Key={key: item[key] for key in keys})
    return len(lost)


def put_back(world: World, table: str, *, write: bool = True) -> Restored:
    return restore(world.stack.dynamodb, f"{table}-copy", world.stack.ref(table), write=write)


def test_lost_claims_are_restored_so_that_a_retry_is_a_duplicate(reported: World) -> None:
    assert lose(reported, "IdentityTable", "event") == 40
    assert put_back(reported, "IdentityTable") == Restored(missing=40)
    assert verdicts(post(reported, [sale("a1", "1.00", customer="c1"), sale("b1", "2.00")])) == ["duplicate"] * 2
    assert len(ledger(reported)) == 40


def test_lost_events_are_restored_and_the_counters_repaired_after_their_redelivery(
    reported: World,
) -> None:
    assert entity(reported, "latest")["gross"] == "60.00"
    assert lose(reported, "LedgerTable", "quarter_hour", "position", of="202610230145") == 1
    assert put_back(reported, "LedgerTable") == Restored(same=1, missing=1)
    reported.drain()
    assert entity(reported, "latest")["gross"] == "100.00", "a put-back event looks like a new one to the stream"
    reported.stack.invoke("repair", {"action": "rebuild"})
    assert entity(reported, "latest")["gross"] == "60.00"
    assert counter(reported, "DAY#2026-10-23")["gross"] == "60.00"
    post(reported, sale("later", "5.00"))
    reported.pass_time(minutes=18)
    reported.report()
    assert {run["counters"] for run in reported.read("/reports")["items"]} == {"verified"}
    assert entity(reported, "latest")["gross"] == "65.00"


def test_lost_states_are_restored_and_newer_ones_are_left(reported: World) -> None:
    lost = lose(reported, "EntityTable", "pk", "sk")
    post(reported, sale("meanwhile", "7.00"))
    reported.drain()
    written_since = len(items(reported, "EntityTable"))
    assert written_since
    found = put_back(reported, "EntityTable")
    assert found.missing + found.changed + found.same + found.expired == lost
    reported.stack.invoke("repair", {"action": "rebuild"})
    assert entity(reported, "latest")["gross"] == "67.00"
    assert [run["lines"] for run in reported.read("/reports")["items"]] == [20, 20]


def test_without_write_it_only_counts(reported: World) -> None:
    lose(reported, "LedgerTable", "quarter_hour", "position")
    assert put_back(reported, "LedgerTable", write=False) == Restored(missing=2)
    assert ledger(reported) == []


def test_expired_items_are_not_restored(reported: World) -> None:
    expiring = sum("expires_at" in item for item in raw(reported, "EntityTable-copy"))
    assert expiring
    lose(reported, "EntityTable", "pk", "sk")
    reported.pass_time(days=4000)
    assert put_back(reported, "EntityTable").expired == expiring
    assert not [item for item in items(reported, "EntityTable") if "expires_at" in item]


def test_a_table_that_is_no_copy_is_refused(reported: World) -> None:
    with pytest.raises(ToolError, match="is not a copy of"):
        restore(reported.stack.dynamodb, "IdentityTable-copy", reported.stack.ref("LedgerTable"), write=True)


def test_lost_items_of_statements_are_restored_so_that_lost_files_can_be_resealed() -> None:
    with opened({"grace_days": 0}, start=datetime(2026, 11, 30, 23, 0, tzinfo=UTC)) as world:
        world.write("/documents/owner", OWNER)
        register(world, "42")
        world.sell("10.00")
        world.pass_time(minutes=75)
        world.report()
        assert world.stack.invoke("statements", {})["documents"] == 1
        copy(world, "EntityTable")
        partitions = ("STATEMENTS#", "PERIOD", "DRAFTS#", "RELEASE", "BILLED#")
        assert sum(lose(world, "EntityTable", "pk", "sk", of=of) for of in partitions) == 5
        assert put_back(world, "EntityTable").missing == 5
        for key in list(world.stack.bucket.keys()):
            if key.startswith("statements/"):
                world.stack.engine.s3().delete_object(Bucket=world.stack.ref("ReportBucket"), Key=key)
        assert len(world.stack.invoke("statements", {"reseal": "2026-11"})["written"]) == 9
