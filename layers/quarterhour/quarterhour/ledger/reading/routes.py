"""The routes of the recorded events."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from quarterhour.aws.resources import Resources
from quarterhour.ledger.events.event import TYPES
from quarterhour.ledger.reading.queries import EventLookup, ExplanationQueries, LedgerQueries, StoryQueries
from quarterhour.model import instants
from quarterhour.model.fields import NAME, TEXT
from quarterhour.model.identifiers import Identity
from quarterhour.model.instants import ALWAYS
from quarterhour.model.money import NO_CURRENCY
from quarterhour.model.periods import Period
from quarterhour.registry.rate_cards.queries import RateCardQueries
from quarterhour.web import http, parameters
from quarterhour.web.access import Caller, everyone, staff
from quarterhour.web.parameters import MOMENT, PAGE, Parameters, among, one_of
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quarterhour.ledger.reading import api

FirstPeriod = Callable[[], Period | None]
"""A function that returns the first period with statements that is set."""
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


def with_first_period(events: "Iterable[api.Event]", first: Period | None) -> None:
    """Say of each of these events with money that counts before the first period that it is on no statement."""
    for event in events:
        if first and event.get("period", "") < str(first) and event["currency"] != NO_CURRENCY:
            event["before_first_period"] = str(first)


def read_spans(routes: Routes, ledger: LedgerQueries, first_period: FirstPeriod) -> None:
    """Register the routes of the events of a span."""

    @routes.get("/events", allow=everyone, query=EVENTS)
    def events() -> http.Response:
        """Return the events recorded in a span, in the order of their positions."""
        query = routes.parameters()
        start, end = query.span(MOMENT, instants.moment)
        only = event_filter(query, routes.caller())
        paging = query.paging()
        page = ledger.events(start, end, only, paging, routes.seconds_left, routes.caller())
        with_first_period(page.items, first_period())
        return http.response(200, paging.body(page))

    @routes.get("/sources/<source>/events", allow=staff, query=SOURCE_EVENTS)
    def source_events(source: str) -> http.Response:
        """Return the events of a source recorded in a span, after an instant, or before one, in the order of time."""
        query = routes.parameters()
        name = parameters.parsed("source", parameters.decoded(source), NAME, parameters.name)
        start, end = source_span(query)
        paging = query.paging()
        page = ledger.events(start, end, {"source": name}, paging, routes.seconds_left, routes.caller())
        with_first_period(page.items, first_period())
        return http.response(200, paging.body(page))


def read_one(routes: Routes, resources: Resources, events: EventLookup, first_period: FirstPeriod) -> None:
    """Register the routes of one event."""
    explanations = ExplanationQueries(events, RateCardQueries(resources.entities))
    stories = StoryQueries(events, resources.entities, resources.workers)

    @routes.get("/events/<source>/<event>", allow=everyone)
    def recorded_event(source: str, event: str) -> http.Response:
        """Return a recorded event with its receipt."""
        found = events.event(_identities(source, event), routes.caller())
        with_first_period([found], first_period())
        return http.response(200, found)

    @routes.get("/events/<source>/<event>/explain", allow=everyone)
    def explanation(source: str, event: str) -> http.Response:
        """Return the explanation of an event's commission: its commission terms, and the steps that compute it."""
        return http.response(200, explanations.explain(_identities(source, event), routes.caller()))

    @routes.get("/events/<source>/<event>/story", allow=everyone, query=PAGE)
    def story(source: str, event: str) -> http.Response:
        """Return a sale and everything that refers to it, as the ledger applied it, with the commission after each."""
        paging = routes.parameters().paging()
        return http.response(200, stories.story(_identities(source, event), routes.caller(), paging))


def _identities(source: str, event: str) -> Iterator[Identity]:
    """Return the identities that the variables of a path can mean."""
    sources, ids = parameters.names("source", source), parameters.names("event", event)
    return (Identity(source_, id_) for source_ in sources for id_ in ids)
