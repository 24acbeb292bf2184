"""A rebuild of many days: the state machine of the template rebuilds them side by side."""

from collections.abc import Iterator
from typing import Any

import pytest

from quarterhour.maintenance.rebuild.plan import DAYS_OF_AN_INVOCATION
from quarterhour.model.errors import ExecutionFailedError, SealedFileError
from tests.support.system import World, opened
from tests.support.tables import all_counters, entity, let_windows_leave

pytestmark = pytest.mark.slow

SALES = DAYS_OF_AN_INVOCATION + 1
DAYS = SALES + 1
"""The first quarter-hours of the day after the last sale are sealed, too."""
REBUILD = {"action": "rebuild"}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The system after sales of two agencies on many days, all of them sealed; each test leaves its counters right."""
    with opened({"LedgerShards": 1}) as world:
        for number in range(SALES):
            world.sell(f"{number + 1}.50", customer=f"c{number}")
            world.sell("7", agency="7", customer="zoe")
            world.pass_time(days=1)
            world.report()
        yield world


def counted(world: World) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what is counted of all accounts: everything but versions and watermarks."""
    figures = ("events", "gross", "refunds", "commission", "customers")
    return {
        (pk, sk): {name: item[name] for name in figures if name in item}
        for (pk, sk), item in all_counters(world).items()
        if sk.startswith(("latest", "DAY#", "QUARTER#", "CUSTOMERS"))
    }


def break_counters(world: World, pk: str = "ACCOUNT#") -> int:
    """Change every total by hand; return how many."""
    let_windows_leave(world)
    broken = [(one, sk) for one, sk in counted(world) if one.startswith(pk) and not sk.startswith("CUSTOMERS")]
    for one, sk in broken:
        values = {":events": {"N": "99"}, ":gross": {"S": "1"}}
        world.stack.dynamodb.update_item(
            TableName=world.stack.ref("EntityTable"),
            Key={"pk": {"S": one}, "sk": {"S": sk}},
            UpdateExpression="SET events = :events, gross = :gross",
            ExpressionAttributeValues=values,
        )
    return len(broken)


def executed(world: World, request: dict[str, Any]) -> dict[str, Any]:
    """Rebuild, and return the result of the execution that the operator started."""
    started = world.stack.invoke("repair", request)
    assert (started["days"], started["repaired"], started["next"]) == (0, 0, None)
    result: dict[str, Any] = world.stack.invoke("repair", {"action": "follow", "execution": started["execution"]})
    return result


def name_of(world: World, request: dict[str, Any]) -> str:
    return str(world.stack.invoke("repair", request)["execution"].rpartition(":")[2])


def test_many_days_are_rebuilt_side_by_side_as_one_after_the_other(world: World) -> None:
    right = counted(world)
    broken = break_counters(world)
    result = executed(world, REBUILD)
    assert counted(world) == right
    assert (result["days"], result["accounts"], result["next"], result["execution"]) == (DAYS, 2, None, None)
    assert 0 < result["repaired"] <= broken * 2

    break_counters(world)
    for day in range(DAYS):
        world.stack.invoke("repair", {"action": "rebuild", "day": f"2026-10-{23 + day}"})
    rest = world.stack.invoke("repair", {"action": "rebuild", "from": "2026-11-01"})
    assert counted(world) == right
    assert rest["accounts"] == 2


def test_a_day_that_was_rebuilt_before_or_comes_late_changes_nothing(world: World) -> None:
    right = counted(world)
    break_counters(world)
    executed(world, REBUILD)
    for day in ("2026-10-31", "2026-10-23", "2026-10-23"):
        assert world.stack.invoke("repair", {"action": "rebuild", "day": day}) == {
            "days": 1,
            "accounts": 0,
            "repaired": 0,
            "next": None,
            "execution": None,
        }
    assert executed(world, REBUILD)["repaired"] == 0
    assert counted(world) == right


def test_many_days_of_one_account_leave_the_others_alone(world: World) -> None:
    right = counted(world)
    break_counters(world, "ACCOUNT#42#GBP")
    break_counters(world, "ACCOUNT#7#GBP")
    executed(world, {"action": "rebuild", "account": "42#GBP"})
    repaired = counted(world)
    assert {key: one for key, one in repaired.items() if key[0] == "ACCOUNT#42#GBP"} == {
        key: one for key, one in right.items() if key[0] == "ACCOUNT#42#GBP"
    }
    assert entity(world, "latest", "ACCOUNT#7#GBP")["gross"] == "1"
    executed(world, REBUILD)
    assert counted(world) == right


def test_few_days_need_no_execution(world: World) -> None:
    result = world.stack.invoke("repair", {"action": "rebuild", "from": "2026-10-25"})
    assert (result["days"], result["execution"]) == (DAYS_OF_AN_INVOCATION, None)


def test_the_same_rebuild_has_the_same_name_and_a_later_one_the_next_number(world: World) -> None:
    request = {**REBUILD, "from": "2026-10-24"}
    first, second = (name_of(world, request) for _ in range(2))
    assert first.startswith("2026-10-24-2026-10-31-")
    assert second == f"{first}-2"
    assert not name_of(world, {**request, "account": "42#GBP"}).startswith(first)


def test_a_day_that_fails_is_visible_and_the_same_rebuild_completes_it(world: World) -> None:
    right = counted(world)
    break_counters(world)
    bucket = world.stack.bucket
    lost = next(key for key in bucket.keys() if "dt=2026-10-27" in key)  # noqa: SIM118 - no dict
    content = bucket.open(lost).read()
    s3, name = world.stack.engine.s3(), world.stack.ref("ReportBucket")
    s3.delete_object(Bucket=name, Key=lost)
    with pytest.raises(ExecutionFailedError, match="start it again"):
        executed(world, REBUILD)
    with pytest.raises(SealedFileError, match="is gone"):
        world.stack.invoke("repair", {"action": "rebuild", "day": "2026-10-27"})
    assert counted(world) != right
    s3.put_object(Bucket=name, Key=lost, Body=content)
    executed(world, REBUILD)
    assert counted(world) == right
