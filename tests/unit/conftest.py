"""Unit tests touch no network: a test that opens a socket fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from tests.support.builders import AT


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("disable_socket")


@pytest.fixture
def hands() -> Iterator[ManualClock]:
    """Give a clock in use that only the test moves; waiting takes no time on it."""
    manual = ManualClock(AT)
    with clock.using(manual):
        yield manual
