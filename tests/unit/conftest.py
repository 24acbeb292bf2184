"""Unit tests touch no network: a test that opens a socket fails."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from tests.support.builders import AT

HERE: Final = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _is_here(item.path):
            item.add_marker("disable_socket")


@cache
def _is_here(path: Path) -> bool:
    return path.is_relative_to(HERE)


@pytest.fixture
def hands() -> Iterator[ManualClock]:
    """Give a clock in use that only the test moves; waiting takes no time on it."""
    manual = ManualClock(AT)
    with clock.using(manual):
        yield manual
