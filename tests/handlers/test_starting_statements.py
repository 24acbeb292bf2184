"""The watch starts the run of a period that is due: once, again after a failure, and never before."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.system import World, opened

LAST_DAY = datetime(2026, 11, 30, 23, 0, tzinfo=UTC)
MANIFEST = "statements/2026-11/manifest.json"
LINES = "ledger/dt=2026-11-30/quarter=2300/lines.csv.gz"


@pytest.fixture
def sold() -> Iterator[World]:
    """The system after a sale in the last hour of a month, without days of grace."""
    with opened({"grace_days": 0}, start=LAST_DAY) as world:
        world.sell("10.00")
        world.pass_time(minutes=30)
        world.report()
        yield world


def due(world: World) -> str | None:
    """Let the watch tick; return the period that it found due."""
    tick: dict[str, Any] = world.stack.invoke("watch", {})
    period: str | None = tick["statements_due"]
    return period


def seal_the_month(world: World) -> None:
    world.pass_time(minutes=45)
    world.report()


def executions(world: World) -> dict[str, str]:
    """Return the status of each execution of the state machine, by its name."""
    client = world.stack.engine.stepfunctions()
    (machine,) = (
        one["stateMachineArn"]
        for one in client.list_state_machines()["stateMachines"]
        if one["name"] == f"quarterhour-{world.stack.template.parameters['Stage']}-statements"
    )
    return {one["name"]: one["status"] for one in client.list_executions(stateMachineArn=machine)["executions"]}


def test_a_period_is_sealed_by_the_first_tick_after_its_cut_off_is_sealed(sold: World) -> None:
    assert due(sold) is None, "the month is not over"
    sold.pass_time(minutes=45)
    assert due(sold) is None, "it is over, and not sealed"
    sold.report()
    assert due(sold) == "2026-11"
    assert MANIFEST in sold.stack.bucket.keys()  # noqa: SIM118 - no dict
    assert due(sold) is None


def test_a_tick_starts_a_run_that_failed_again(sold: World) -> None:
    seal_the_month(sold)
    content = sold.stack.bucket.open(LINES).read()
    s3, bucket = sold.stack.engine.s3(), sold.stack.ref("ReportBucket")
    s3.delete_object(Bucket=bucket, Key=LINES)
    assert due(sold) == "2026-11"
    assert MANIFEST not in sold.stack.bucket.keys()  # noqa: SIM118 - no dict
    s3.put_object(Bucket=bucket, Key=LINES, Body=content)
    assert due(sold) == "2026-11"
    assert MANIFEST in sold.stack.bucket.keys()  # noqa: SIM118 - no dict
    assert executions(sold) == {"2026-11": "FAILED", "2026-11-2": "SUCCEEDED"}
