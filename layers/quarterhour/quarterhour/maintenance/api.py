"""The responses about the operation, as types."""

from typing_extensions import TypedDict

from quarterhour.model.api import Count
from quarterhour.reports.schedule.api import ReportDelay


class QueueDepth(TypedDict):
    """The messages of a queue, which SQS counts approximately."""

    queue: str
    """The name of its alarm."""
    waiting: Count
    in_flight: Count
    """Received by somebody, and not deleted yet."""


class Operations(TypedDict):
    """What an operator looks at first."""

    queues: list[QueueDepth]
    reports: ReportDelay
