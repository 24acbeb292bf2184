"""The archive may die at any AWS call, or meet another run or new events: no event is lost, none is there twice."""

from collections.abc import Iterator
from typing import Any

import pytest

from quarterhour.maintenance.archive.keys import ARCHIVE_KEY
from quarterhour_tools.emulator.faults import Faults, Killed
from tests.invariants.crashing import Record, crash_points
from tests.support.events import refund
from tests.support.old_month import ITEMS, PARAMETERS, SENT, STARTS, fill_october, release_october
from tests.support.requests import post, verdicts
from tests.support.system import World, opened
from tests.support.tables import all_counters, redeploy

pytestmark = pytest.mark.slow
SPAN = {"agency": "42", "from_": "2026-10-31T22:00:00Z", "to": "2026-11-01T00:00:00Z"}


class OldMonth:
    """A marketplace whose October is due, and which can go back to before it was archived."""

    def __init__(self, world: World, faults: Faults) -> None:
        self.world = world
        self.faults = faults
        self._dynamodb: Any = world.stack.engine.dynamodb()
        self._ledger = world.stack.ref("LedgerTable")
        redeploy(world, "report", LEDGER_RETENTION_MONTHS="0")
        fill_october(world)
        world.stack.invoke("statements", {})
        release_october(world)
        redeploy(world, "report", LEDGER_RETENTION_MONTHS="1")
        self.items = self.stored()
        self.answers = self.answered()
        self.counters = all_counters(world)

    def stored(self) -> list[dict[str, Any]]:
        """Return the items of the ledger, in the order of their positions."""
        found: list[dict[str, Any]] = self._dynamodb.scan(TableName=self._ledger)["Items"]
        return sorted(found, key=lambda one: str(one["position"]["S"]))

    def answered(self) -> list[Any]:
        """Return a story, a list, and what the events are when they come again."""
        pages = [self.world.read("/events/shop/s1/story"), self.world.read("/events", **SPAN)]
        return [*pages, verdicts(post(self.world, SENT))]

    def go_back(self) -> None:
        """Put the items back, as if nothing had been archived."""
        for item in self.items:
            self._dynamodb.put_item(TableName=self._ledger, Item=item)
        key = {name: {"S": value} for name, value in ARCHIVE_KEY.items()}
        self._dynamodb.delete_item(TableName=self.world.stack.ref("EntityTable"), Key=key)

    def archive(self) -> dict[str, Any] | None:
        """Let the report run once; ``None`` where it died."""
        try:
            with self.faults.at_work():
                result: dict[str, Any] = self.world.stack.invoke("report", {})["archive"]
        except Killed:
            self.world.stack.cold_start("report")
            return None
        return result

    def check(self, done: list[dict[str, Any]]) -> None:
        """Check the answers half-way, then after a run in peace: then the items are those of an undisturbed run."""
        self.faults.disarm()
        assert self.answered() == self.answers
        result = self.archive()
        assert result
        assert (result["through"], result["waits_for"], result["complete"]) == ("202610312345", None, True)
        assert self.stored() == done
        assert self.answered() == self.answers
        self.world.drain()
        assert all_counters(self.world) == self.counters


@pytest.fixture(scope="module")
def october() -> Iterator[OldMonth]:
    with Faults().installed() as faults, opened({**PARAMETERS}, start=STARTS) as world:
        yield OldMonth(world, faults)


@pytest.fixture(scope="module")
def calls(october: OldMonth) -> int:
    """Return how many calls a run makes that archives October."""
    before = len(october.faults.calls)
    result = october.archive()
    assert result
    assert result["items"] == ITEMS - 1
    return len(october.faults.calls) - before


@pytest.fixture(scope="module")
def done(october: OldMonth, calls: int) -> list[dict[str, Any]]:
    """Return the items of the ledger after a run that nothing has disturbed."""
    assert calls
    return october.stored()


def test_the_archive_may_die_or_lose_a_response_at_any_call(
    october: OldMonth, calls: int, done: list[dict[str, Any]], record_property: Record
) -> None:
    points = crash_points(range(calls), loses_responses=True)
    for call, fault in points:
        october.go_back()
        october.faults.arm(fault, call)
        october.archive()
        october.check(done)
    record_property("archive", f"{len(points)} crash points tried, 0 violations")


def test_another_run_and_events_may_come_before_any_call(
    october: OldMonth, calls: int, done: list[dict[str, Any]], record_property: Record
) -> None:
    """Another run archives all of October in between; a shop repeats its events and refunds a sale of October."""
    for call in range(calls):
        october.go_back()

        def meanwhile() -> None:
            assert october.archive()
            assert set(verdicts(post(october.world, SENT))) == {"duplicate"}

        october.faults.meanwhile(call, meanwhile)
        assert october.archive()
        october.check(done)
    october.go_back()
    october.faults.meanwhile(calls - 3, lambda: post(october.world, [refund("late", "-0.01", of="s1")]))
    assert october.archive()
    assert verdicts(post(october.world, [refund("late", "-0.01", of="s1")])) == ["duplicate"]
    record_property("archive meanwhile", f"{calls} crash points tried, 0 violations")
