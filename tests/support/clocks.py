"""Clocks that tests look at afterwards."""

from quarterhour.model.clock import ManualClock
from tests.support.builders import AT


class Waits(ManualClock):
    """A clock that keeps how long each pause was to be."""

    def __init__(self) -> None:
        super().__init__(AT)
        self.waited: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
