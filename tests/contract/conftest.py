"""The storage code on both engines: moto in this process, DynamoDB Local beside it where Java and Maven are."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final
from zlib import crc32

import pytest

from quarterhour.model.clock import ManualClock, using
from tests.contract.storage import Storage, opened

_FIRST_DAY: Final = datetime(2026, 1, 1, 1, 30, 12, 345000, tzinfo=UTC)
_DAYS: Final = 200_000
"""So many that two tests hardly ever meet."""


@pytest.fixture(scope="module")
def days() -> dict[int, str]:
    """The days that the module's tests have taken, each with its test."""
    return {}


@pytest.fixture(scope="module")
def storage(engine: str) -> Iterator[Storage]:
    """The stores on tables that a module's tests share: each has keys of its own."""
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
def _hands(at: datetime) -> Iterator[None]:
    """Stop the clock at the test's own instant; nobody waits for real."""
    with using(ManualClock(at)):
        yield
