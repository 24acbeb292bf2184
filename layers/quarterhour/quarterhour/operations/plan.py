"""The state of the operation, the pure part: the depths of the queues, and the delay of the reports."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from quarterhour.model.clock import iso_seconds
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.schedule.plan import Delay

LATE_FIRINGS: Final = 2
"""Reports are late from this delay on, in firings of the schedule. The alarm ``report-late`` has the same threshold."""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """The messages of a queue: those that wait, and those that somebody has received and not deleted yet."""

    queue: str
    waiting: int
    in_flight: int


def shown(queues: Sequence[QueueDepth], sealed_through: QuarterHour | None, delay: Delay) -> dict[str, Any]:
    """Return the JSON object of the API. ``sealed_through`` is ``None`` before the first event."""
    return {
        "queues": [asdict(one) for one in queues],
        "reports": {
            "sealed_until": iso_seconds(sealed_through.end) if sealed_through else None,
            "delay_seconds": delay.seconds,
            "delay_firings": round(delay.firings, 3),
            "late": delay.firings >= LATE_FIRINGS,
        },
    }
