"""The parameters of requests for ledger events, spans and filters, and for the preview of re-ratings."""

from datetime import datetime, timedelta
from typing import Final

from quarterhour.ledger.events.event import TYPES
from quarterhour.model import instants
from quarterhour.model.fields import NAME, TEXT
from quarterhour.model.instants import ALWAYS
from quarterhour.web import parameters
from quarterhour.web.access import Caller
from quarterhour.web.parameters import MOMENT, PAGE, Parameters, among, one_of

_CHOICES: Final = {"from": ("from", "to", *PAGE), "after": ("after", *PAGE), "before": ("before", *PAGE)}
SOURCE_EVENTS: Final = ("from", "to", "after", "before", *PAGE)
"""The parameters that a request for a source's events can have."""
EVENTS: Final = ("from", "to", "agency", "source", "type", "order", "customer", *PAGE)
"""The parameters that a request for events can have."""


def event_filter(query: Parameters, caller: Caller) -> dict[str, str]:
    """Return the attributes that the requested events have, by name; those that a caller may see, have its agency.

    Raises ``InvalidError``, or ``ForbiddenError`` for another agency than the caller's.
    """
    sent = {
        "agency": caller.requested_agency(query),
        "source": query.optional("source", NAME, parameters.name, None),
        "type": query.optional("type", one_of(TYPES), lambda name: among(dict.fromkeys(TYPES, name), name), None),
        "order_id": query.optional("order", TEXT, parameters.text, None),
        "customer": query.optional("customer", TEXT, parameters.text, None),
    }
    return {name: value for name, value in sent.items() if value is not None}


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
