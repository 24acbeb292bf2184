"""A deployment with more than 8 shards: the state machine of the template seals its runs in parts."""

from collections.abc import Iterator
from typing import Any

import pytest

from quarterhour.model.errors import SealedFileError
from quarterhour.proof.reports import verify
from quarterhour.reports.keys import Part
from tests.support.system import World, opened

RUN = "2026-10-23T0130-0215"
PARTS = [f"{start}-{number:02d}" for start in ("202610230130", "202610230145", "202610230200") for number in (0, 1)]
LINES = [Part.parse(name).lines_key for name in PARTS[:4]]


def sold(world: World) -> World:
    """Sell in two quarter-hours, over all shards; the third one is empty."""
    for number in range(20):
        world.sell(f"{number}.50", agency=str(number % 3), location="GB#London")
        world.pass_time(seconds=1)
    world.pass_time(minutes=16)
    for _ in range(10):
        world.sell("7")
        world.pass_time(seconds=1)
    world.pass_time(minutes=32)
    return world


@pytest.fixture(scope="module")
def reported() -> Iterator[World]:
    """The system after a run in parts."""
    with opened({"LedgerShards": 16}) as world:
        sold(world).report()
        yield world


def executions(world: World) -> dict[str, str]:
    """Return the executions of the state machine by name, with their status."""
    client = world.stack.engine.stepfunctions()
    (machine,) = (
        one["stateMachineArn"]
        for one in client.list_state_machines()["stateMachines"]
        if one["name"] == f"quarterhour-{world.stack.template.parameters['Stage']}-sealing"
    )
    listed = client.list_executions(stateMachineArn=machine)["executions"]
    return {one["name"]: one["status"] for one in sorted(listed, key=lambda one: one["name"])}


def lose(world: World, key: str) -> None:
    world.stack.engine.s3().delete_object(Bucket=world.stack.ref("ReportBucket"), Key=key)


def contents(world: World) -> dict[str, bytes]:
    return {key: world.stack.bucket.open(key).read() for key in world.stack.bucket.keys()}  # noqa: SIM118 - no dict


def test_the_execution_seals_every_part_and_publishes_the_run(reported: World) -> None:
    assert executions(reported) == {RUN: "SUCCEEDED"}
    found = verify(reported.stack.bucket.open, reported.stack.bucket.keys())
    assert (found.problems, found.runs, found.quarter_hours, found.lines) == ([], 1, 3, 30)
    keys = reported.stack.bucket.keys()
    assert [key for key in keys if key.startswith("ledger/")] == LINES
    assert [key for key in keys if key.startswith("totals/")] == [Part.parse(name).totals_key for name in PARTS[:4]]


def test_a_tick_after_the_run_starts_nothing(reported: World) -> None:
    assert reported.report()["complete"]
    assert executions(reported) == {RUN: "SUCCEEDED"}


def test_the_api_links_every_part_and_shows_the_proofs(reported: World) -> None:
    run = reported.read(f"/reports/{RUN}")
    assert [file["key"] for file in run["files"] if file["key"].startswith("ledger/")] == LINES
    assert run["proofs"] == {"202610230130": "verified", "202610230145": "verified"}
    assert run["manifest"]["parts"] == 2
    assert [len(entry["files"]) for entry in run["manifest"]["quarter_hours"]] == [2, 2, 0]


def test_the_events_of_a_source_are_read_in_order_over_all_parts(reported: World) -> None:
    span = {"from_": "2026-10-23T01:30:00Z", "to": "2026-10-23T02:15:00Z"}
    found = reported.all("/sources/shop/events", **span, limit=7)
    assert [one["id"] for one in found] == [f"e{number}" for number in range(30)]


def test_the_sales_by_location_are_those_of_all_parts(reported: World) -> None:
    (day,) = reported.all("/locations/GB%23London", from_="2026-10-23", to="2026-10-24")
    assert day["sales"][0]["gross"] == "200.00"


def test_a_rebuild_finds_nothing_to_repair(reported: World) -> None:
    answer = reported.stack.invoke("repair", {"action": "rebuild"})
    assert (answer["days"], answer["repaired"]) == (1, 0)


@pytest.mark.parametrize(
    "lost",
    [
        [LINES[1]],
        [Part.parse(PARTS[2]).totals_key],
        [*LINES, *(Part.parse(name).totals_key for name in PARTS[:4])],
        [
            f"reports/2026/10/23/0130-0215/{name}"
            for name in ("manifest.json", "products.csv", "report.html", "summary.csv")
        ],
    ],
)
def test_lost_files_of_a_run_in_parts_are_rewritten(reported: World, lost: list[str]) -> None:
    before = contents(reported)
    for key in lost:
        lose(reported, key)
    answer = reported.stack.invoke("report", {"reseal": RUN})
    assert (answer["files"], answer["complete"]) == (8, True)
    assert sorted(answer["written"]) == [key for key in lost if not key.startswith("totals/")]
    assert contents(reported) == before


def test_a_run_in_parts_is_resealed_by_several_invocations_if_time_is_short(reported: World) -> None:
    before = contents(reported)
    for key in LINES:
        lose(reported, key)
    written: list[list[str]] = []
    complete = False
    while not complete:
        answer: dict[str, Any] = reported.stack.invoke("report", {"reseal": RUN}, seconds=400)
        written.append(answer["written"])
        complete = answer["complete"]
    assert written == [[key] for key in LINES], "a quarter-hour without a mark is not read"
    assert contents(reported) == before


def test_a_part_that_fails_ends_the_execution_and_the_next_tick_starts_another() -> None:
    with opened({"LedgerShards": 16}) as world:
        sold(world)
        bucket, key = world.stack.ref("ReportBucket"), LINES[1]
        world.stack.engine.s3().put_object(Bucket=bucket, Key=key, Body=b"forged")
        assert world.report()["complete"] is False
        assert executions(world) == {RUN: "FAILED"}
        assert world.all("/reports") == []
        assert not [key for key in contents(world) if key.startswith("reports/")]
        with pytest.raises(SealedFileError, match="lines-01"):
            world.stack.invoke("report", {"seal": {"run": RUN, "part": PARTS[1]}})
        with pytest.raises(SealedFileError, match="lines-01"):
            world.stack.invoke("report", {"publish": RUN})
        world.report()
        lose(world, key)
        world.report()
        assert executions(world) == {RUN: "FAILED", f"{RUN}-2": "FAILED", f"{RUN}-3": "SUCCEEDED"}
        assert verify(world.stack.bucket.open, world.stack.bucket.keys()).proven


def test_a_backlog_is_sealed_run_after_run_by_one_tick() -> None:
    with opened({"LedgerShards": 9}) as world:
        for _ in range(12):
            world.sell("1")
            world.pass_time(minutes=15)
        world.report()
        assert list(executions(world)) == ["2026-10-23T0130-0230", "2026-10-23T0230-0330", "2026-10-23T0330-0415"]
        assert set(executions(world).values()) == {"SUCCEEDED"}
        assert verify(world.stack.bucket.open, world.stack.bucket.keys()).runs == 3
