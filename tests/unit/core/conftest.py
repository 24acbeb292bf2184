"""What the core's tests share."""

from collections.abc import Iterator

import pytest

from quarterhour import clock
from quarterhour.clock import ManualClock
from tests.unit.core.builders import AT


@pytest.fixture
def hands() -> Iterator[ManualClock]:
    """Give a clock in use that only the test moves; waiting takes no time on it."""
    manual = ManualClock(AT)
    with clock.using(manual):
        yield manual
