"""Counters of quarter-hours and of days expire after different retentions, counted or rebuilt."""

from datetime import datetime, timedelta

from tests.support.counted import let_windows_leave
from tests.support.system import START, World
from tests.support.tables import items

QUARTER_HOUR_ENDS = START + timedelta(minutes=15)
DAY_ENDS = START.replace(hour=0, minute=0) + timedelta(days=1)
QUARTER_HOUR_DAYS, DAY_DAYS = 35, 800


def expiries(world: World) -> dict[str, datetime]:
    """Return when the account's counters expire, by the first part of their sort key, once their windows have left."""
    let_windows_leave(world.stack.dynamodb, world.stack.ref("EntityTable"))
    return {
        item["sk"].partition("#")[0]: datetime.fromtimestamp(int(item["expires_at"]), START.tzinfo)
        for item in items(world, "EntityTable")
        if item["pk"] == "ACCOUNT#42#GBP" and item["sk"].startswith(("QUARTER#", "DAY#"))
    }


def test_a_counted_and_a_rebuilt_counter_expire_at_the_same_time(world: World) -> None:
    world.sell("8.00")
    world.pass_time(days=2)
    world.report()
    counted = expiries(world)
    assert counted["QUARTER"] - START >= timedelta(days=QUARTER_HOUR_DAYS)
    assert counted["QUARTER"] - START < timedelta(days=QUARTER_HOUR_DAYS + 2)
    assert counted["DAY"] - START >= timedelta(days=DAY_DAYS)
    assert counted["DAY"] - START < timedelta(days=DAY_DAYS + 2)
    table = world.stack.ref("EntityTable")
    for item in items(world, "EntityTable"):
        if item["pk"] == "ACCOUNT#42#GBP" and item["sk"].startswith(("QUARTER#", "DAY#")):
            world.stack.dynamodb.delete_item(TableName=table, Key={"pk": {"S": item["pk"]}, "sk": {"S": item["sk"]}})
    # The quarter-hour with its day; the lifetime and the period, to which its repair added the same once more.
    assert world.stack.invoke("repair", {"action": "rebuild"})["repaired"] == 3
    assert expiries(world) == counted
