"""The parameters of requests for ledger events, spans and filters, and for the preview of re-ratings."""

from datetime import datetime, timedelta
from typing import Final

from quarterhour.ledger.event import TYPES
from quarterhour.ledger.rerating_queries import PreviewRequest
from quarterhour.model import instants
from quarterhour.model.fields import NAME, TEXT
from quarterhour.model.instants import ALWAYS
from quarterhour.registry.documents.keys import MAX_VERSION, RATE_CARD, is_rate_card
from quarterhour.web import parameters
from quarterhour.web.access import Caller
from quarterhour.web.parameters import MOMENT, PAGE, Parameters, among, one_of

_CHOICES: Final = {"from": ("from", "to", *PAGE), "after": ("after", *PAGE), "before": ("before", *PAGE)}
SOURCE_EVENTS: Final = ("from", "to", "after", "before", *PAGE)
"""The parameters that a request for a source's events can have."""
EVENTS: Final = ("from", "to", "agency", "source", "type", "order", "customer", *PAGE)
"""The parameters that a request for events can have."""
RERATING: Final = ("rate_card", "version", "agency", "from", "to", "reason")
"""The parameters of a request for the preview of re-ratings."""
_RATE_CARD: Final = f"the document of a rate card, such as {RATE_CARD}42"


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


def preview_request(query: Parameters) -> PreviewRequest:
    """Return the request for a preview of re-ratings; raise ``InvalidError`` for an invalid parameter."""
    start, end = query.span(MOMENT, instants.moment)
    return PreviewRequest(
        query.required("rate_card", _RATE_CARD, _rate_card),
        query.whole("version", 1, MAX_VERSION, 0) or None,
        query.required("agency", NAME, parameters.name),
        start,
        end,
        query.required("reason", f"{TEXT}, not all of them blanks", _reason),
    )


def _rate_card(text: str) -> str:
    if not text.startswith(RATE_CARD) or not is_rate_card(text.removeprefix(RATE_CARD)):
        raise ValueError(text)
    return text


def _reason(text: str) -> str:
    if not parameters.text(text).strip():
        raise ValueError(text)
    return text
