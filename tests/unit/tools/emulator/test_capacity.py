"""A table's write capacity: time adds units, writes take them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.capacity import BURST, Capacity

START = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)


def price(_operation: str, _request: dict[str, Any]) -> Any:
    raise AssertionError("asked for no price here")


@pytest.fixture
def hands() -> Any:
    clock = ManualClock(START)
    with using(clock):
        yield clock


def capacity(units: float) -> Capacity:
    return Capacity("table", units, price)


def test_capacity_is_empty_at_first_and_grows_with_time(hands: ManualClock) -> None:
    bucket = capacity(1)
    assert not bucket.is_left
    hands.advance(timedelta(milliseconds=1))
    assert bucket.is_left


@pytest.mark.parametrize("units", [0.5, 1, 25])
def test_in_the_long_run_writes_take_no_more_than_the_units(hands: ManualClock, units: float) -> None:
    bucket = capacity(units)
    written = 0.0
    for _ in range(10_000):
        hands.advance(timedelta(milliseconds=100))
        if bucket.is_left:
            bucket.take(7)
            written += 7
    assert written == pytest.approx(1000 * units, abs=7)


def test_unused_capacity_is_kept_for_five_minutes(hands: ManualClock) -> None:
    bucket = capacity(2)
    hands.advance(timedelta(hours=1))
    written = 0
    while bucket.is_left:
        bucket.take(1)
        written += 1
    assert written == 2 * BURST.total_seconds()
