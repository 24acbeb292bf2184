"""Events as they are sent, and their names, as types."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.ledger.events.cloud_event import ABSOLUTE_URI, MAX_INTEGER, MIN_INTEGER, NAME
from quarterhour.ledger.events.event import OF_DATA, TYPES
from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour.model.api import (
    Count,
    Currency,
    Kind,
    Location,
    Name,
    SentDecimal,
    SentInstant,
    Share,
    Text,
    constrained,
    named,
    one_of,
)
from quarterhour.registry.documents.keys import MAX_VERSION

EventType = Annotated[str, one_of(TYPES)]


class RecordedRerating(TypedDict):
    """What a re-rating applied."""

    rate_card: str
    version: Count
    by: NotRequired[Text]
    """Its operator, whom people of agencies do not see."""


class EventName(TypedDict):
    """The name of an event: its source and id."""

    source: Name
    id: Name


_JSON_TYPE = r"^\s*[A-Za-z0-9!#$&^_.+-]+/([A-Za-z0-9!#$&^_.+-]+\+)?[Jj][Ss][Oo][Nn]\s*(;[\s\S]*)?$"


class Details(TypedDict):
    """Facts of an event that the ledger stores without using them."""

    product: NotRequired[Text | None]
    quantity: NotRequired[SentDecimal | None]
    unit_price: NotRequired[SentDecimal | None]
    order_id: NotRequired[Text | None]
    line: NotRequired[Text | int | None]
    location: NotRequired[Location | None]
    category: NotRequired[Text | None]
    extra: NotRequired[dict[str, Any] | None]
    """Your own data, up to 4 KB."""


class SaleData(Details):
    """The facts of a sale, a refund or an adjustment."""

    amount: SentDecimal
    """0 or more for a sale, 0 or less for a refund."""
    currency: Currency
    commission_rate: NotRequired[Share | None]
    """Without it, the agency's rate card applies."""
    commission: NotRequired[SentDecimal | None]
    """Only for an adjustment, instead of a commission rate."""
    customer: NotRequired[Text | None]
    refers_to: NotRequired[Name | None]
    """For a refund or an adjustment: the id of the sale."""
    refers_to_source: NotRequired[Name | None]
    """The source of the sale; without it, the event's own. Not for a sale."""
    reason: NotRequired[Text | None]
    """Why a refund or an adjustment was made. Not for a sale."""
    kind: NotRequired[Kind | None]
    """What an adjustment charges, such as `chargeback_fee`; `opening` brings a balance forward. Only for an adjustment.
    """


class VoidData(Details):
    """The facts of a void, which takes back what is left of its sale, or a refund."""

    refers_to: Name
    """The id of the sale or of the refund."""
    currency: Currency
    reason: Text
    """Why the sale is voided, or the refund taken back."""
    refers_to_source: NotRequired[Name | None]
    """The source of what is voided; without it, the event's own."""
    customer: NotRequired[Text | None]


class SentRerating(TypedDict):
    """What a re-rating applies, and its operator."""

    rate_card: Text
    """The document of a rate card: the agency's own, a group's or the default one."""
    version: Annotated[int, constrained(minimum=1, maximum=MAX_VERSION)]
    by: Text
    """The operator."""


class ReratingData(Details):
    """The facts of a re-rating: an event is charged by another rate card."""

    refers_to: Name
    """The id of the event, as a rule a sale."""
    currency: Currency
    rerating: SentRerating
    reason: Text
    """Why the event is charged by another rate card."""
    refers_to_source: NotRequired[Name | None]
    """The source of the event; without it, the re-rating's own."""
    customer: NotRequired[Text | None]


class PaymentData(TypedDict):
    """The facts of a payment."""

    amount: SentDecimal
    """Above 0 if the agency paid, below 0 if it was paid; at most the decimal places of its currency."""
    currency: Currency
    reason: NotRequired[Text | None]
    """What was paid, for example the reference of the bank transfer."""
    statement: NotRequired[Text | None]
    """The number of the statement that is paid; without it, the oldest open one is."""
    kind: NotRequired[Kind | None]
    """What clears it in place of money, such as `bad_debt`."""
    extra: NotRequired[dict[str, Any] | None]
    """Your own data, up to 4 KB."""


class ViewData(Details):
    """The facts of a view, which has no amount."""

    refers_to: NotRequired[Name | None]
    """For a refund or an adjustment: the id of the sale."""
    customer: Text
    """The viewer."""


_EXTENSIBLE: Final[Mapping[str, Any]] = {
    "additionalProperties": {
        "anyOf": [
            {"type": "integer", "minimum": MIN_INTEGER, "maximum": MAX_INTEGER},
            {"type": "string"},
            {"type": "boolean"},
            {"type": "null"},
        ]
    },
    "propertyNames": {"pattern": f"^{NAME.pattern}$", "not": {"enum": sorted(OF_DATA)}},
}
"""What an event says of its other members, the extension attributes."""


class _CloudEvent(TypedDict):
    """A CloudEvent (1.0). Its source and id identify it for ever. All other members are extension attributes."""

    specversion: Literal["1.0"]
    source: Name
    id: Name
    time: NotRequired[SentInstant | None]
    """When it happened."""
    datacontenttype: NotRequired[Annotated[str, constrained(pattern=_JSON_TYPE)] | None]
    """A media type of JSON; the default is `application/json`."""
    dataschema: NotRequired[Annotated[str, constrained(pattern=f"^{ABSOLUTE_URI.pattern}$")] | None]
    """The schema of the data: kept, not used."""


class _BillingEvent(_CloudEvent):
    type: Literal["sale.recorded", "sale.refunded", "adjustment.recorded"]
    subject: Name
    """The agency."""
    data: SaleData


BillingEvent = Annotated[_BillingEvent, named("BillingEvent", "A sale, a refund or an adjustment.", **_EXTENSIBLE)]


class _Void(_CloudEvent):
    type: Literal["sale.voided"]
    subject: Name
    """The agency."""
    data: VoidData


Void = Annotated[_Void, named("Void", "Reverses what is left of a sale, or takes a refund back.", **_EXTENSIBLE)]


class _Rerating(_CloudEvent):
    type: Literal["adjustment.recorded"]
    subject: Name
    """The agency."""
    data: ReratingData


Rerating = Annotated[
    _Rerating,
    named(
        "Rerating",
        "A sale is charged by another rate card: the difference is computed when this event is recorded.",
        **_EXTENSIBLE,
    ),
]


class _Payment(_CloudEvent):
    type: Literal["payment.recorded"]
    subject: Name
    """The agency."""
    data: PaymentData


Payment = Annotated[_Payment, named("Payment", "An agency paid, or was paid.", **_EXTENSIBLE)]


class _View(_CloudEvent):
    type: Literal["view.recorded"]
    subject: Name
    """The page."""
    data: ViewData


View = Annotated[_View, named("View", "A customer has viewed a page.", **_EXTENSIBLE)]

EventData = Annotated[
    SaleData | VoidData | ReratingData | PaymentData | ViewData,
    named(
        "EventData",
        "The data of an event in binary mode. Its attributes are headers (`ce-id`, `ce-source`, …), percent-encoded.",
    ),
]

SentEvent = Annotated[
    BillingEvent | Void | Rerating | Payment | View,
    named("SentEvent", "An event."),
]

Lines = Annotated[
    str,
    named("Lines", "NDJSON: up to 500 events, each as JSON on one line. Blank lines are skipped."),
]

Batch = Annotated[
    Annotated[list[SentEvent], constrained(minItems=1, maxItems=MAX_BATCH)],
    named("Batch", "Several events in one request."),
]
