"""Rewriting the lost files of a run, as the operator's `quarterhour reseal` does."""

from collections.abc import Iterator
from typing import Any

import pytest

from quarterhour.model.errors import NotFoundError, SealedFileError
from quarterhour.proof.reports import verify
from tests.support.system import World, opened
from tests.support.tables import ledger, put_postings

RUN = "2026-10-23T0130-0215"
LINES = [f"ledger/dt=2026-10-23/quarter={start}/lines.csv.gz" for start in ("0130", "0145")]
BESIDE = [
    f"reports/2026/10/23/0130-0215/{name}" for name in ("summary.csv", "products.csv", "report.html", "manifest.json")
]


@pytest.fixture
def reported() -> Iterator[World]:
    """The system after a run of three quarter-hours, the last of them empty."""
    with opened({"LedgerShards": 3}) as world:
        for amount in ("1.00", "2.00", "4.00"):
            world.sell(amount)
        world.pass_time(minutes=18)
        world.sell("8.00", agency="=1+1")
        world.pass_time(minutes=30)
        assert world.report()["runs"] == [RUN]
        yield world


def objects(world: World) -> dict[str, bytes]:
    return {key: world.stack.bucket.open(key).read() for key in world.stack.bucket.keys()}  # noqa: SIM118 - no dict


def lose(world: World, key: str) -> None:
    world.stack.engine.s3().delete_object(Bucket=world.stack.ref("ReportBucket"), Key=key)


def put(world: World, key: str, content: bytes) -> None:
    world.stack.engine.s3().put_object(Bucket=world.stack.ref("ReportBucket"), Key=key, Body=content)


def reseal(world: World, run: str = RUN) -> dict[str, Any]:
    answer: dict[str, Any] = world.stack.invoke("report", {"reseal": run})
    return answer


@pytest.mark.parametrize("lost", [[LINES[0]], LINES, [BESIDE[0]], [BESIDE[1]], [BESIDE[2]], BESIDE, [*LINES, *BESIDE]])
def test_lost_files_are_rewritten_with_the_same_bytes(reported: World, lost: list[str]) -> None:
    before = objects(reported)
    for key in lost:
        lose(reported, key)
    assert reseal(reported) == {"files": 6, "written": lost, "complete": True}
    assert objects(reported) == before
    assert verify(reported.stack.bucket.open, reported.stack.bucket.keys()).proven


def test_existing_files_are_not_written(reported: World) -> None:
    before = objects(reported)
    assert reseal(reported) == {"files": 6, "written": [], "complete": True}
    assert objects(reported) == before


def test_the_plan_of_the_run_is_used_after_later_runs(reported: World) -> None:
    before = objects(reported)
    reported.pass_time(hours=1)
    reported.sell("16.00")
    reported.pass_time(hours=1)
    reported.report()
    for key in (*LINES, *BESIDE):
        lose(reported, key)
    assert reseal(reported)["written"] == [*LINES, *BESIDE]
    assert {key: content for key, content in objects(reported).items() if key in before} == before


def test_nothing_is_written_where_the_ledger_gives_other_bytes(reported: World) -> None:
    (line, *_) = ledger(reported)
    put_postings(reported, {**line, "amount": "1.01"})
    lose(reported, LINES[0])
    with pytest.raises(SealedFileError, match="restore its version"):
        reseal(reported)
    assert LINES[0] not in objects(reported)


@pytest.mark.parametrize("key", [*LINES, *BESIDE])
def test_a_file_with_other_bytes_is_an_error_and_left_as_it_is(reported: World, key: str) -> None:
    put(reported, key, b"forged")
    with pytest.raises(SealedFileError, match=key):
        reseal(reported)
    assert objects(reported)[key] == b"forged"


def test_lost_lines_of_a_run_under_way_are_rewritten() -> None:
    with opened() as world:
        world.sell("1.00")
        world.pass_time(minutes=15)
        world.sell("2.00")
        world.pass_time(minutes=33)
        assert world.stack.invoke("report", {}, seconds=1)["complete"] is False
        before = objects(world)
        lose(world, LINES[0])
        assert reseal(world) == {"files": 1, "written": [LINES[0]], "complete": True}
        assert objects(world) == before
        lose(world, LINES[0])
        assert world.report()["runs"] == [RUN]
        assert before.items() <= objects(world).items(), "the run has sealed them again itself"


def test_a_run_in_a_base_currency_is_rewritten_at_its_pinned_exchange_rates() -> None:
    with opened({"base_currency": "EUR"}) as world:
        world.sell("1.00")
        world.pass_time(minutes=18)
        (run,) = world.report()["runs"]
        before = objects(world)
        for key in before:
            lose(world, key)
        assert reseal(world, run)["files"] == len(before) - 1 == 6
        assert objects(world) == before


@pytest.mark.parametrize("run", [RUN.replace("10-23", "10-24"), "2026-10-23T0130-0145", "../../etc", ""])
def test_an_unknown_run_is_an_error(reported: World, run: str) -> None:
    with pytest.raises(NotFoundError):
        reseal(reported, run)
