"""The responses about the operation, as types."""

from typing_extensions import TypedDict

from quarterhour.model.api import Count, Instant


class QueueDepth(TypedDict):
    """The messages of a queue, which SQS counts approximately."""

    queue: str
    """The name of its alarm."""
    waiting: Count
    in_flight: Count
    """Received by somebody, and not deleted yet."""


class ReportDelay(TypedDict):
    """How long the oldest final quarter-hour has waited to be reported."""

    sealed_until: Instant | None
    """The end of the last sealed quarter-hour; null before the first event."""
    delay_seconds: float
    delay_firings: float
    """The delay in firings of the schedule."""
    late: bool
    """Whether that is two firings or more."""


class Operations(TypedDict):
    """What an operator looks at first."""

    queues: list[QueueDepth]
    reports: ReportDelay
