"""An event source that starts a function: what the pumps of streams and of queues have in common."""

from abc import ABC, abstractmethod
from datetime import datetime


class EventSource(ABC):
    """Delivers the records of a stream, or the messages of a queue, to one function, at least once."""

    function: str
    """The function's ARN."""

    @abstractmethod
    def read(self, now: datetime) -> None:
        """Read all that is new, and queue it for delivery."""

    @abstractmethod
    def due(self) -> datetime | None:
        """Return the instant of the next delivery; ``None`` if nothing is queued."""

    @abstractmethod
    def deliver_next(self, now: datetime, most: int | None = None) -> bool:
        """Deliver the next batch that is due, ``most`` of it at most, and return whether there was one."""

    def deliver(self, now: datetime) -> int:
        """Deliver all batches that are due; return the number of invocations."""
        invocations = 0
        while self.deliver_next(now):
            invocations += 1
        return invocations
