"""The report function over a ledger that holds an item that is no posting."""

import pytest

from quarterhour.model.errors import LedgerItemError
from quarterhour.proof.reports import verify
from tests.support.system import World, opened
from tests.support.tables import entity

RUN = "2026-10-23T0130-0200"


def sealed_through(world: World) -> str:
    return str(entity(world, "checkpoint", "CONTROL")["sealed_through"])


def test_an_item_that_is_no_posting_stops_the_report_until_it_is_removed() -> None:
    with opened() as world:
        world.sell("1.00")
        world.pass_time(minutes=15)
        receipt = world.sell("2.00")
        world.pass_time(minutes=18)
        partition, position = receipt["partition"], f"{receipt['position']}x"
        key = {"quarter_hour": {"S": partition}, "position": {"S": position}}
        table, before = world.stack.ref("LedgerTable"), sealed_through(world)
        world.stack.dynamodb.put_item(TableName=table, Item={**key, "note": {"S": "written by hand"}})
        for _ in range(2):
            with pytest.raises(LedgerItemError) as error:
                world.report()
            assert f"{partition} {position}" in str(error.value)
            assert sealed_through(world) == before
            assert not any("quarter=0145" in name for name in world.stack.bucket.keys())  # noqa: SIM118 - no dict
        world.stack.dynamodb.delete_item(TableName=table, Key=key)
        assert world.report()["runs"] == [RUN]
        verified = verify(world.stack.bucket.open, world.stack.bucket.keys())
        assert (verified.proven, verified.lines) == (True, 2)
