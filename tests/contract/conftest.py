"""The stores on both engines: the embedded one, and DynamoDB Local if Java and Maven are installed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final
from zlib import crc32

import pytest

from quarterhour.model.clock import ManualClock, using
from tests.contract.storage import Storage, opened

_FIRST_DAY: Final = datetime(2026, 1, 1, 1, 30, 12, 345000, tzinfo=UTC)
_DAYS: Final = 200_000
"""Enough days that two tests rarely share one."""


@pytest.fixture(scope="module")
def days() -> dict[int, str]:
    """The days of the module's tests, each with the name of its test."""
    return {}


@pytest.fixture(scope="module")
def storage(engine: str) -> Iterator[Storage]:
    """The stores on tables that the module's tests share; each test uses its own keys."""
    with opened(engine) as storage:
        yield storage


@pytest.fixture
def at(request: pytest.FixtureRequest, days: dict[int, str]) -> datetime:
    """An instant on a day that no other test of the module uses; a test has the same day in every run."""
    test = request.node.name
    day = crc32(test.encode()) % _DAYS
    while days.setdefault(day, test) != test:
        day += 1
    return _FIRST_DAY + timedelta(days=day)


@pytest.fixture
def own(at: datetime) -> str:
    """A name that no other test uses."""
    return f"test-{at:%Y-%m-%d}"


@pytest.fixture(autouse=True)
def _clock(at: datetime) -> Iterator[None]:
    """Stop the clock at the test's own instant, so that waiting takes no time."""
    with using(ManualClock(at)):
        yield
