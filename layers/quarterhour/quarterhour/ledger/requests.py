"""The parameters of requests for ledger events."""

from datetime import datetime, timedelta
from typing import Final

from quarterhour.model import instants
from quarterhour.model.instants import ALWAYS
from quarterhour.web.parameters import MOMENT, PAGE, Parameters

_CHOICES: Final = {"from": ("from", "to", *PAGE), "after": ("after", *PAGE), "before": ("before", *PAGE)}
SOURCE_EVENTS: Final = ("from", "to", "after", "before", *PAGE)
"""The parameters that a request for a source's events can have."""


def source_span(query: Parameters) -> tuple[datetime, datetime]:
    """Return the requested span of a source's events, its end exclusive.

    A request names ``from`` and ``to``, or ``after`` alone, or ``before`` alone. Raises ``InvalidError`` for others.
    """
    first, last = ALWAYS
    match query.choose(_CHOICES):
        case "after":
            return query.required("after", MOMENT, instants.moment) + timedelta.resolution, last
        case "before":
            return first, query.required("before", MOMENT, instants.moment)
        case _:
            return query.span(MOMENT, instants.moment)
