"""Describes each route: the bodies, responses and statuses, and why a retry is safe. The code shows the rest."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from quarterhour.ledger.http import BATCH, LINES, ONE
from quarterhour.web.routing import JSON
from quarterhour_tools.openapi import requests as b
from quarterhour_tools.openapi import responses as a
from quarterhour_tools.openapi.parameters import DAYS, DISPUTES, HELD, MONTHS, PATH, QUERY, SPAN, STATEMENTS, Parameter
from quarterhour_tools.openapi.values import Month, Text

Shape = Any
"""A type that pydantic converts to JSON Schema."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link from a response to a route; the values of the route's variables are OpenAPI expressions."""

    route: str
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RouteDescription:
    """The description of a route.

    ``answers``: the types of its answers by status. ``problems``: the statuses of its problems, without those of every
    route. ``bodies``: the types of its request bodies by content type, each with an example. ``retries``: why a retry
    of a write is safe. ``parameters``: those with another meaning than elsewhere. ``links``: the links from its first
    answer, by name.
    """

    answers: Mapping[int, Shape]
    problems: tuple[int, ...] = ()
    bodies: Mapping[str, tuple[Shape, Any]] = field(default_factory=dict)
    retries: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    links: Mapping[str, Link] = field(default_factory=dict)


def _read(shape: Shape, *problems: int, **parameters: Parameter) -> RouteDescription:
    return RouteDescription({200: shape}, problems, parameters=parameters)


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
_RATE_CARD: Final = {
    "valid_from": "2026-10-01T00:00:00Z",
    "rules": [{"percent": "12.5"}, {"category": "books", "percent": "8"}],
}
_AGENCY: Final = {
    "legal_name": "Harbour Books Ltd",
    "country": "GB",
    "tax": {"scheme": "standard", "percent": "20", "vat_id": "GB980780684"},
    "currency": "GBP",
    "group": "bookshops",
    "valid_from": "2026-10-01T00:00:00Z",
}
_SEEN: Final = (
    "`seen` names the base version. The same content on the same base again returns the version that it created. If "
    "another version follows the base, it returns 409."
)
_KIND: Final = Parameter(
    "The kind of documents.", Literal["document", "rate-card", "agency", "owner"], "rate-card", required=True
)
_MESSAGE: Final = {"id": "m-1", "user": "ann", "text": "Where is it?"}
_SCHEDULE: Final = {"expression": "cron(0,30 6-20 ? * MON-FRI *)", "reason": "quiet nights"}

_CURRENCY: Final = Parameter("The currency; a former currency is valid, too.", PATH["currency"].shape, "USD")
_LAYER: Final = QUERY["layer"].as_required
_PLACED: Final = {
    "from": Parameter(
        "The first instant of placing, or a date for its midnight UTC.", QUERY["from"].shape, "2026-10-23"
    ),
    "to": Parameter(
        "The end, not included: an instant, or a date for its midnight UTC.", QUERY["to"].shape, "2026-10-24"
    ),
}
_FOUND: Final = {
    "source": Parameter("Only those of this source.", PATH["source"].shape, "shop"),
    "type": Parameter("Only those of this type.", a.EventType, "sale.recorded"),
    "order": Parameter("Only those of this order (`order_id`).", Text, "1001"),
    "customer": Parameter("Only those of this customer.", Text, "ann"),
}
_ITS_ORDER: Final = {"order": "$response.body#/order"}
_ITS_THREAD: Final = {"kind": "$request.path.kind", "subject": "$request.path.subject"}

_AS_OF: Final = Parameter(
    "The balance as of the start of this instant's quarter-hour; without it, the balance now.", QUERY["at"].shape
)
_WHOLE_PERIOD: Final = Parameter("The later of the two periods.", Month, "2026-10", required=True)
_LISTED_STATEMENT: Final = {name: f"$response.body#/items/0/{name}" for name in ("agency", "currency", "period")}

ROUTES: Final[Mapping[str, RouteDescription]] = {
    # ------------------------------------------------------------ events
    "POST /events": RouteDescription(
        dict.fromkeys((202, 207, 409, 422, 503), a.Recording),
        (413, 415),
        bodies={
            ONE: (b.SentEvent, _EVENT),
            BATCH: (b.Batch, [_EVENT]),
            LINES: (b.Lines, f"{json.dumps(_EVENT)}\n"),
            JSON: (b.EventData, _EVENT["data"]),
        },
        retries="Source and id identify an event for ever. The same event again is a `duplicate` with the first "
        "receipt. Other content under the same source and id is a `conflict`; nothing is written.",
        links={
            "explain": Link(
                "GET /events/{source}/{event}/explain",
                {"source": "$response.body#/items/0/source", "event": "$response.body#/items/0/id"},
            )
        },
    ),
    "GET /events": _read(a.Page[a.Event], **SPAN, **_FOUND),
    "GET /events/{source}/{event}": _read(a.Event, 404),
    "GET /events/{source}/{event}/explain": _read(a.Explanation, 404),
    "GET /events/{source}/{event}/story": _read(a.Story, 404),
    "GET /held": _read(a.Page[a.HeldEvent], **HELD),
    "GET /sources/{source}/events": _read(a.Page[a.Event]),
    # ------------------------------------------------------------ accounts
    "GET /accounts": _read(
        a.Page[a.ListedAccount], currency=Parameter("Only those in this currency.", PATH["currency"].shape, "GBP")
    ),
    "GET /overview": _read(a.Overview, period=_WHOLE_PERIOD),
    "GET /accounts/{agency}/{currency}": _read(a.Account, 404),
    "GET /accounts/{agency}/{currency}/quarter-hours": _read(a.Page[a.AccountQuarterHour], 404, **SPAN),
    "GET /accounts/{agency}/{currency}/days": _read(a.Page[a.AccountDay], 404, **DAYS),
    "GET /accounts/{agency}/{currency}/periods": _read(a.Page[a.AccountPeriod], 404, **MONTHS),
    "GET /accounts/{agency}/{currency}/snapshots": _read(
        a.Page[a.AccountSnapshot] | a.AccountSnapshot, 404, layer=_LAYER
    ),
    "GET /accounts/{agency}/{currency}/changes": _read(a.Page[a.AccountSnapshot], 404),
    "GET /accounts/{agency}/{currency}/trend": _read(a.AccountTrend, 404),
    "GET /accounts/{agency}/{currency}/balance": _read(a.AccountBalance, 404, 410, at=_AS_OF),
    "GET /windows/{layer}/{start}": _read(a.Window, 404),
    # ------------------------------------------------------------ statements
    "GET /periods": _read(a.Page[a.PeriodOfStatements]),
    "GET /statements": RouteDescription(
        {200: a.Page[a.ListedStatement]},
        parameters=STATEMENTS,
        links={"statement": Link("GET /statements/{agency}/{currency}/{period}", _LISTED_STATEMENT)},
    ),
    "GET /statements/{agency}/{currency}/{period}": _read(a.StatementWithFiles | a.StatementPreview, 404),
    "PUT /statements/{agency}/{currency}/{period}/status": RouteDescription(
        {200: a.StatementHistory},
        (404, 409, 413, 415),
        bodies={JSON: (b.StatementStatusUpdate, {"status": "accepted", "reason": "checked and correct", "seen": 0})},
        retries="`seen` is the number of changes before it. The same status and reason after the same changes returns "
        "the current history. If another change follows them, it returns 409.",
        parameters={"period": Parameter("The period.", PATH["period"].shape, "2026-09")},
    ),
    "POST /statements/{agency}/{currency}/{period}/disputes": RouteDescription(
        {201: a.Dispute, 200: a.Dispute},
        (404, 409, 413, 415),
        bodies={JSON: (b.SentDispute, {"source": "shop", "id": "e0", "reason": "this sale was returned"})},
        retries="A line is disputed once. The same reason of the same person again returns 200 with the dispute; "
        "any other returns 409.",
    ),
    "PUT /statements/{agency}/{currency}/{period}/disputes/{source}/{event}": RouteDescription(
        {200: a.Dispute},
        (404, 409, 413, 415),
        bodies={JSON: (b.Resolution, {"reason": "agreed by telephone"})},
        retries="A dispute is resolved once. The same reason of the same sender again returns the dispute.",
    ),
    "GET /disputes": _read(a.Page[a.Dispute], **DISPUTES),
    # ------------------------------------------------------------ reports
    "GET /reports": RouteDescription(
        {200: a.Page[a.ReportRun]},
        links={"report": Link("GET /reports/{run}", {"run": "$response.body#/items/0/run"})},
    ),
    "GET /reports/{run}": _read(a.Report, 404),
    "GET /locations": _read(a.Page[a.PlaceSales], **DAYS),
    "GET /locations/{place}": _read(a.Page[a.PlaceSales], **DAYS),
    "GET /operations": _read(a.Operations),
    "GET /schedule": _read(a.ScheduleWithChanges),
    "PUT /schedule": RouteDescription(
        {200: a.Schedule},
        (409, 413, 415),
        bodies={JSON: (b.ScheduleUpdate, _SCHEDULE)},
        retries="The same request again changes nothing; after a crash it completes the first one. `seen` names the "
        "version that it changes. If another change has followed that version, it returns 409.",
    ),
    # ------------------------------------------------------------ orders
    "POST /orders": RouteDescription(
        {201: a.Order, 200: a.Order},
        (409, 413, 415),
        bodies={JSON: (b.SentOrder, _ORDER)},
        retries="`order` identifies it. The same order again continues an interrupted request, or returns 200 with the "
        "current order. Other content under the id returns 409.",
        links={
            "order": Link("GET /orders/{order}", _ITS_ORDER),
            "status": Link("PUT /orders/{order}/status", _ITS_ORDER),
        },
    ),
    "GET /orders": _read(a.Page[a.Order], **_PLACED, status=QUERY["status"].as_required),
    "GET /orders/{order}": _read(a.OrderWithItems, 404),
    "PUT /orders/{order}/status": RouteDescription(
        {200: a.Order},
        (404, 409, 413, 415),
        bodies={JSON: (b.StatusUpdate, {"from": "open", "to": "paid"})},
        retries="A change that the order has already made returns the current order.",
        links={"order": Link("GET /orders/{order}", _ITS_ORDER)},
    ),
    "GET /customers/{customer}/orders": _read(a.Page[a.Order], **_PLACED),
    "GET /customers/{customer}/items": _read(a.Page[a.BoughtItem]),
    # ------------------------------------------------------------ agencies
    "PUT /agencies/{agency}": RouteDescription(
        {201: a.AgencyVersion, 200: a.AgencyVersion},
        (409, 413, 415),
        bodies={JSON: (b.Registration, {"seen": 0, "content": _AGENCY})},
        retries=_SEEN,
        links={"agency": Link("GET /agencies/{agency}", {"agency": "$response.body#/agency"})},
    ),
    "GET /agencies": _read(a.Page[a.ListedAgency]),
    "GET /agencies/{agency}": _read(a.AgencyContent, 404),
    "GET /agencies/{agency}/rate-cards": _read(a.RateCardsInForce, 404),
    # ------------------------------------------------------------ documents
    "GET /documents": _read(a.Page[a.DocumentMetadata], kind=_KIND),
    "PUT /documents/{document}": RouteDescription(
        {201: a.DocumentVersion, 200: a.DocumentVersion},
        (409, 413, 415),
        bodies={JSON: (b.Draft, {"seen": 0, "content": _RATE_CARD})},
        retries=_SEEN,
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
    "PUT /documents/{document}/permissions": RouteDescription(
        {200: a.Readers},
        (413, 415),
        bodies={JSON: (b.SentReaders, {"agencies": ["42"], "people": ["ann"]})},
        retries="It replaces the permissions, so the same request again changes nothing.",
    ),
    "GET /documents/{document}/permissions": _read(a.Readers),
    # ------------------------------------------------------------ exchange rates
    "PUT /exchange-rates/{currency}": RouteDescription(
        {201: a.ExchangeRate, 200: a.ExchangeRate},
        (409, 413, 415),
        bodies={JSON: (b.ExchangeRateStatement, {"units_per_base": "1.0842", "source": "ECB"})},
        retries="The same exchange rate with the same `as_of` changes nothing. Without `as_of`, the exchange rate in "
        "force changes nothing. Another exchange rate with that `as_of` returns 409, and an earlier one if a report "
        "relies on a later one.",
        parameters={"currency": _CURRENCY},
    ),
    "GET /exchange-rates": _read(a.Page[a.ExchangeRate]),
    "GET /exchange-rates/{currency}": _read(a.ExchangeRate, 404, currency=_CURRENCY),
    "GET /exchange-rates/{currency}/history": _read(a.Page[a.ExchangeRateState], 404, currency=_CURRENCY),
    "GET /exchange-rates/{currency}/snapshots": _read(
        a.Page[a.ExchangeRateSnapshot] | a.ExchangeRateSnapshot, 404, layer=_LAYER, currency=_CURRENCY
    ),
    "GET /exchange-rates/{currency}/trend": _read(a.ExchangeRateTrend, 404, currency=_CURRENCY),
    # ------------------------------------------------------------ messages
    "POST /threads/{kind}/{subject}/messages": RouteDescription(
        {201: a.Message, 200: a.Message},
        (404, 409, 413, 415),
        bodies={JSON: (b.SentMessage, _MESSAGE)},
        retries="`id` identifies the message among the user's messages in the thread. The same message again returns "
        "200 with the recorded one. Another text under the id returns 409.",
        links={"messages": Link("GET /threads/{kind}/{subject}/messages", _ITS_THREAD)},
    ),
    "GET /threads/{kind}/{subject}/messages": _read(a.Messages, 404),
    # ------------------------------------------------------------ callers
    "GET /me": _read(a.Caller),
    # ------------------------------------------------------------ this document
    "GET /openapi.json": _read(dict[str, Any]),
}
"""Every route of the API."""
