"""Sealing is safe: an ingest that pauses anywhere, for as long as it can run, writes nothing after a seal."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from quarterhour_tools.emulator.faults import FaultKind
from tests.invariants.trial import GRACE, Trial, on_trial
from tests.support.events import refund, sale

TIMEOUT = timedelta(seconds=30)
"""The longest run of an ingest, as the template has it."""
SAFETY = timedelta(seconds=5)
QUARTER_HOUR_END = datetime(2026, 10, 23, 1, 45, tzinfo=UTC)
EVENTS = [sale("s1", "10.00", customer="bob"), sale("s2", "7.5"), refund("r1", "-4", of="s1")]
LAST_OPEN = GRACE - TIMEOUT - SAFETY


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial(start=QUARTER_HOUR_END - timedelta(seconds=10)) as made:
        yield made


def seal_and_race(place: Trial) -> None:
    """What others do while an ingest pauses: a client sends the same again, and the schedule fires."""
    place.report()
    place.send(EVENTS)
    place.report()


@pytest.mark.parametrize("position", range(15))
def test_a_first_attempt_that_pauses_over_the_end_of_its_quarter_hour_leaves_each_event_once(
    place: Trial, position: int
) -> None:
    def stop() -> None:
        place.clock.advance(TIMEOUT)
        seal_and_race(place)

    place.faults.meanwhile(position, stop)
    place.send(EVENTS)
    place.drain()
    place.check()


@pytest.mark.parametrize(
    "begins_after_end", [-1, 40, LAST_OPEN.total_seconds() - 0.1, LAST_OPEN.total_seconds(), 119.9, 120]
)
@pytest.mark.parametrize("position", range(7))
def test_a_retry_that_pauses_until_the_seal_leaves_each_event_once(
    place: Trial, position: int, begins_after_end: float
) -> None:
    crash_between_claim_and_append(place)
    place.outbox.clear()
    place.clock.advance_to(QUARTER_HOUR_END + timedelta(seconds=begins_after_end))

    def stop() -> None:
        place.clock.advance(TIMEOUT + SAFETY - timedelta(milliseconds=1))
        seal_and_race(place)

    place.faults.meanwhile(position, stop)
    place.send(EVENTS)
    place.drain()
    place.check()


def test_a_claim_without_its_append_is_moved_when_its_quarter_hour_is_final(place: Trial) -> None:
    crash_between_claim_and_append(place)
    place.clock.advance_to(QUARTER_HOUR_END + LAST_OPEN)
    assert place.send(EVENTS[:1]) == ["unavailable"], "nobody may write now, and nobody may move it yet"
    place.clock.advance_to(QUARTER_HOUR_END + GRACE)
    assert place.send(EVENTS[:1]) == ["duplicate"]
    (partition,) = [item["quarter_hour"] for item in place.ledger() if item["id"] == "s1"]
    assert partition.startswith("202610230145#"), "it is in the quarter-hour in which it was written"
    place.drain()
    place.check()


def crash_between_claim_and_append(place: Trial) -> None:
    """Leave claims of all but the refund, and none of their events."""
    place.send([sale("warm", "1", customer="bob")])
    place.faults.arm(FaultKind.KILL_BEFORE, 2)
    place.send(EVENTS)
    assert [call.operation for call in place.faults.calls[-2:]] == ["BatchExecuteStatement", "PutItem"]
    assert place.faults.struck, "the crash did not happen"
    assert {item["id"] for item in place.ledger()} == {"warm"}
