"""The storage code on both engines: moto in this process, DynamoDB Local beside it where Java and Maven are."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final

import pytest

from local.engines import DYNAMODB_LOCAL, MOTO
from quarterhour.clock import ManualClock, using
from tests.contract.storage import ON_DYNAMODB_LOCAL, Storage, opened

_FIRST_DAY: Final = datetime(2026, 1, 1, 1, 30, 12, 345000, tzinfo=UTC)
_tests: Final = count()


@pytest.fixture(scope="module", params=[MOTO, pytest.param(DYNAMODB_LOCAL, marks=ON_DYNAMODB_LOCAL)])
def engine(request: pytest.FixtureRequest) -> str:
    """The engine of a stack, as ``open_stack`` takes it."""
    url: str = MOTO if request.param == MOTO else request.getfixturevalue("dynamodb_local_url")
    return url


@pytest.fixture(scope="module")
def storage(engine: str) -> Iterator[Storage]:
    """The stores on tables that a module's tests share: each has keys of its own."""
    with opened(engine) as storage:
        yield storage


@pytest.fixture
def at() -> datetime:
    """An instant on a day that no other test uses."""
    return _FIRST_DAY + timedelta(days=next(_tests))


@pytest.fixture
def own(at: datetime) -> str:
    """A name that no other test uses."""
    return f"test-{at:%Y-%m-%d}"


@pytest.fixture(autouse=True)
def _hands(at: datetime) -> Iterator[None]:
    """Stop the clock at the test's own instant; nobody waits for real."""
    with using(ManualClock(at)):
        yield
