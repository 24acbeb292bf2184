"""What of each route its code does not show: shapes of bodies and answers, statuses, what makes a retry harmless."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from quarterhour.ledger.http import BATCH, ONE
from quarterhour.web.routing import JSON
from quarterhour_tools.openapi import requests as b
from quarterhour_tools.openapi import responses as a
from quarterhour_tools.openapi.parameters import DAYS, PATH, QUERY, SPAN, Parameter

Shape = Any
"""A type that pydantic makes JSON Schema of."""


@dataclass(frozen=True, slots=True)
class Link:
    """Where to go on from an answer: the route, and what its variables are, as OpenAPI's expressions."""

    route: str
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a route.

    ``answers``: the shapes of its answers by status; ``problems``: the statuses of the problems that it meets beside
    those that every route can. ``bodies``: what it takes, by content type, each with an example. ``once``: what makes
    a retry of a write harmless. ``parameters``: those that mean something else here than elsewhere. ``links``: where to
    go on from its first answer, by name.
    """

    answers: Mapping[int, Shape]
    problems: tuple[int, ...] = ()
    bodies: Mapping[str, tuple[Shape, Any]] = field(default_factory=dict)
    once: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    links: Mapping[str, Link] = field(default_factory=dict)


def _read(shape: Shape, *problems: int, **parameters: Parameter) -> Told:
    return Told({200: shape}, problems, parameters=parameters)


_EVENT: Final = {
    "specversion": "1.0",
    "source": "shop",
    "id": "order-7:1",
    "type": "sale.recorded",
    "subject": "42",
    "time": "2026-10-23T01:30:00Z",
    "data": {"amount": "12.50", "currency": "GBP", "product": "TEA-250", "location": "GB#London"},
}
_ORDER: Final = {
    "order": "1001",
    "customer": "ann",
    "currency": "GBP",
    "placed_at": "2026-10-23T01:29:58Z",
    "items": [
        {"agency": "42", "product": "TEA-250", "amount": "129.90", "quantity": "10", "location": "GB#London"},
        {"agency": "Nord & Süd", "product": "CUP-1", "amount": "8.50", "commission_rate": "0.125"},
    ],
}
_CARD: Final = {
    "valid_from": "2026-10-01T00:00:00Z",
    "rules": [{"percent": "12.5"}, {"category": "books", "percent": "8"}],
}
_MESSAGE: Final = {"id": "m-1", "user": "ann", "text": "Where is it?"}
_SCHEDULE: Final = {"expression": "cron(0,30 6-20 ? * MON-FRI *)", "reason": "quiet nights"}

_RATE_OF: Final = Parameter("The currency; one that has ended had rates, too.", PATH["currency"].of, "USD")
_LAYER: Final = QUERY["layer"].needed
_PLACED: Final = {
    "from": Parameter("Placed not before this instant, or the midnight of this date.", QUERY["from"].of, "2026-10-23"),
    "to": Parameter("Placed before this instant, or the midnight of this date.", QUERY["to"].of, "2026-10-24"),
}
_ITS_ORDER: Final = {"order": "$response.body#/order"}
_ITS_THREAD: Final = {"kind": "$request.path.kind", "subject": "$request.path.subject"}

ROUTES: Final[Mapping[str, Told]] = {
    # ------------------------------------------------------------ events
    "POST /events": Told(
        dict.fromkeys((202, 207, 409, 422, 503), a.Recording),
        (413, 415),
        bodies={ONE: (b.SentEvent, _EVENT), BATCH: (b.Batch, [_EVENT])},
        once="Source and id name an event for ever. The same again is a `duplicate`, with the receipt of the first; "
        "other content under them is a `conflict`, and nothing is written.",
        links={
            "explain": Link(
                "GET /events/{source}/{event}/explain",
                {"source": "$response.body#/items/0/source", "event": "$response.body#/items/0/id"},
            )
        },
    ),
    "GET /events": _read(a.Page[a.Event], **SPAN),
    "GET /events/{source}/{event}/explain": _read(a.Explanation, 404),
    "GET /sources/{source}/events": _read(a.Page[a.Event]),
    # ------------------------------------------------------------ accounts
    "GET /accounts/{agency}/{currency}": _read(a.Account, 404),
    "GET /accounts/{agency}/{currency}/quarter-hours": _read(a.Page[a.AccountQuarter], 404, **SPAN),
    "GET /accounts/{agency}/{currency}/days": _read(a.Page[a.AccountDay], 404, **DAYS),
    "GET /accounts/{agency}/{currency}/snapshots": _read(
        a.Page[a.AccountSnapshot] | a.AccountSnapshot, 404, layer=_LAYER
    ),
    "GET /accounts/{agency}/{currency}/changes": _read(a.Page[a.AccountSnapshot], 404),
    "GET /accounts/{agency}/{currency}/trend": _read(a.AccountTrend, 404),
    "GET /windows/{layer}/{start}": _read(a.Window, 404),
    # ------------------------------------------------------------ reports
    "GET /reports": Told(
        {200: a.Page[a.ReportRun]},
        links={"report": Link("GET /reports/{run}", {"run": "$response.body#/items/0/run"})},
    ),
    "GET /reports/{run}": _read(a.Report, 404),
    "GET /locations": _read(a.Page[a.PlaceSales], **DAYS),
    "GET /locations/{place}": _read(a.Page[a.PlaceSales], **DAYS),
    "GET /schedule": _read(a.ScheduleWithChanges),
    "PUT /schedule": Told(
        {200: a.Schedule},
        (409, 413, 415),
        bodies={JSON: (b.WantedSchedule, _SCHEDULE)},
        once="The same again changes nothing; it finishes what a crash may have left half done.",
    ),
    # ------------------------------------------------------------ orders
    "POST /orders": Told(
        {201: a.Order, 200: a.Order},
        (409, 413, 415),
        bodies={JSON: (b.SentOrder, _ORDER)},
        once="`order` names it. The same again goes on where the first try ended, or is answered 200 with the order as "
        "it stands; other content under the id is answered 409.",
        links={
            "order": Link("GET /orders/{order}", _ITS_ORDER),
            "status": Link("PUT /orders/{order}/status", _ITS_ORDER),
        },
    ),
    "GET /orders": _read(a.Page[a.Order], **_PLACED, status=QUERY["status"].needed),
    "GET /orders/{order}": _read(a.OrderWithItems, 404),
    "PUT /orders/{order}/status": Told(
        {200: a.Order},
        (404, 409, 413, 415),
        bodies={JSON: (b.StatusStep, {"from": "open", "to": "paid"})},
        once="A step that the order has taken before is answered with the order as it stands.",
        links={"order": Link("GET /orders/{order}", _ITS_ORDER)},
    ),
    "GET /customers/{customer}/orders": _read(a.Page[a.Order], **_PLACED),
    "GET /customers/{customer}/items": _read(a.Page[a.BoughtItem]),
    # ------------------------------------------------------------ documents
    "PUT /documents/{document}": Told(
        {201: a.DocumentVersion, 200: a.DocumentVersion},
        (409, 413, 415),
        bodies={JSON: (b.Draft, {"seen": 0, "content": _CARD})},
        once="`seen` says on top of which version. The same content on top of it again is answered with the version "
        "that it made; where another stands there, 409.",
        links={
            "version": Link(
                "GET /documents/{document}/versions/{version}",
                {"document": "$response.body#/document", "version": "$response.body#/version"},
            )
        },
    ),
    "GET /documents/{document}": _read(a.DocumentContent, 404),
    "GET /documents/{document}/versions": _read(a.Page[a.DocumentVersion], 404),
    "GET /documents/{document}/versions/{version}": _read(a.DocumentContent, 404),
    "GET /documents/{document}/metadata": _read(a.DocumentMetadata, 404),
    "PUT /documents/{document}/permissions": Told(
        {200: a.Readers},
        (413, 415),
        bodies={JSON: (b.SentReaders, {"agencies": ["42"], "people": ["ann"]})},
        once="It replaces what stood there, so the same again changes nothing.",
    ),
    "GET /documents/{document}/permissions": _read(a.Readers),
    # ------------------------------------------------------------ rates
    "PUT /exchange-rates/{currency}": Told(
        {201: a.Rate, 200: a.Rate},
        (409, 413, 415),
        bodies={JSON: (b.RateStatement, {"units_per_base": "1.0842", "source": "ECB"})},
        once="The same as of the same instant changes nothing, nor does, without `as_of`, what is in force already; "
        "another rate as of that instant, or an earlier one, is answered 409.",
        parameters={"currency": _RATE_OF},
    ),
    "GET /exchange-rates": _read(a.Page[a.Rate]),
    "GET /exchange-rates/{currency}": _read(a.Rate, 404, currency=_RATE_OF),
    "GET /exchange-rates/{currency}/history": _read(a.Page[a.RateState], 404, currency=_RATE_OF),
    "GET /exchange-rates/{currency}/snapshots": _read(
        a.Page[a.RateSnapshot] | a.RateSnapshot, 404, layer=_LAYER, currency=_RATE_OF
    ),
    "GET /exchange-rates/{currency}/trend": _read(a.RateTrend, 404, currency=_RATE_OF),
    # ------------------------------------------------------------ discussions
    "POST /threads/{kind}/{subject}/messages": Told(
        {201: a.Message, 200: a.Message},
        (404, 409, 413, 415),
        bodies={JSON: (b.SentMessage, _MESSAGE)},
        once="`id` names the message among the user's in the thread. The same again is answered 200 with the message "
        "as it stands; another text under the id is answered 409.",
        links={"messages": Link("GET /threads/{kind}/{subject}/messages", _ITS_THREAD)},
    ),
    "GET /threads/{kind}/{subject}/messages": _read(a.Messages, 404),
    # ------------------------------------------------------------ this document
    "GET /openapi.json": _read(dict[str, Any]),
}
"""Every route of the API."""
