"""The bodies that the HTTP API takes, as JSON Schema tells of them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from quarterhour.documents.permissions import MOST
from quarterhour.exchange_rates.exchange_rate import MAX_SOURCE
from quarterhour.ledger.http import MAX_BATCH
from quarterhour.orders.keys import MAX_ITEMS
from quarterhour.rate_cards.rate_card import MAX_RULES
from quarterhour.threads.message import MAX_TEXT
from quarterhour_tools.openapi.responses import Status
from quarterhour_tools.openapi.values import (
    Count,
    Currency,
    Maybe,
    Name,
    Omittable,
    Percent,
    Place,
    SentDecimal,
    SentInstant,
    Share,
    ShortName,
    Text,
)

Names = Annotated[list[Name], Field(max_length=MOST)]


class Body(BaseModel):
    """What takes no other fields than these."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


# ---------------------------------------------------------------- events


class Details(Body):
    """Facts of an event that only travel along."""

    product: Omittable[Text]
    quantity: Omittable[SentDecimal]
    unit_price: Omittable[SentDecimal]
    order_id: Omittable[Text]
    line: Omittable[Text | int]
    location: Omittable[Place]
    category: Omittable[Text]
    refers_to: Omittable[Name]
    """Of a refund: the id of the sale, in the same source."""
    extra: Omittable[dict[str, Any]]
    """Your own, up to 4 KB."""


class SaleData(Details):
    """The facts of a sale, a refund or an adjustment."""

    amount: SentDecimal
    """Of a sale 0 or more, of a refund 0 or less."""
    currency: Currency
    commission_rate: Omittable[Share]
    """Without it, the agency's rate card counts."""
    commission: Omittable[SentDecimal]
    """Of an adjustment alone, in place of a rate."""
    customer: Omittable[Text]


class ViewData(Details):
    """The facts of a view, which is of no money."""

    customer: Text
    """The viewer."""


class CloudEvent(Body):
    """A CloudEvent (1.0). Its source and its id name it, for ever."""

    specversion: Literal["1.0"]
    source: Name
    id: Name
    time: Omittable[SentInstant]
    """When it happened."""
    datacontenttype: Omittable[Literal["application/json"]]


class BillingEvent(CloudEvent):
    """A sale, a refund or an adjustment."""

    type: Literal["sale.recorded", "sale.refunded", "adjustment.recorded"]
    subject: Name
    """The agency."""
    data: SaleData


class View(CloudEvent):
    """Somebody has looked at a page."""

    type: Literal["view.recorded"]
    subject: Name
    """The page."""
    data: ViewData


class SentEvent(RootModel[BillingEvent | View]):
    """An event."""


class Batch(RootModel[Annotated[list[SentEvent], Field(min_length=1, max_length=MAX_BATCH)]]):
    """Events that are sent together."""


# ---------------------------------------------------------------- orders


class SentOrderItem(Body):
    """An item of an order, as it is sent."""

    agency: Name
    product: ShortName
    amount: SentDecimal
    """0 or more."""
    commission_rate: Omittable[Share]
    quantity: Omittable[SentDecimal]
    unit_price: Omittable[SentDecimal]
    location: Omittable[Place]
    category: Omittable[Text]


class SentOrder(Body):
    """An order, as it is sent."""

    order: ShortName
    """Its id, which is yours: the same each time you send it."""
    customer: Omittable[Name]
    currency: Currency
    placed_at: Omittable[SentInstant]
    items: Annotated[list[SentOrderItem], Field(min_length=1, max_length=MAX_ITEMS)]


class StatusStep(Body):
    """A change of an order's status."""

    from_: Annotated[Status, Field(alias="from")]
    """The status that it must be in."""
    to: Status


# ---------------------------------------------------------------- documents


class SentRule(Body):
    """What is charged on what; a condition that is left out fits everything."""

    percent: Percent
    category: Omittable[Text]
    location: Omittable[Place]
    currency: Omittable[Currency]
    """Needed by the sums below, which are of it."""
    fixed: Omittable[SentDecimal]
    """For each item."""
    minimum: Omittable[SentDecimal]
    maximum: Omittable[SentDecimal]


class RateCard(Body):
    """An agency's terms: of the rules that cover an event, the most specific one counts."""

    valid_from: SentInstant
    rules: Annotated[list[SentRule], Field(min_length=1, max_length=MAX_RULES)]


class Draft(Body):
    """A version of a document, on top of the one that was seen."""

    seen: Count
    """The version that was seen; 0 for a new document."""
    content: RateCard | Any
    """Any JSON of up to 200,000 bytes; of `rate-card:<agency>`, a rate card."""


class SentReaders(Body):
    """Who may read a document, beside machines."""

    agencies: Names
    people: Annotated[list[Text], Field(max_length=MOST)]
    """The subjects (`sub`) of their tokens."""


# ---------------------------------------------------------------- rates, discussions, the schedule


class RateStatement(Body):
    """What somebody says of a rate."""

    units_per_base: SentDecimal
    """How many units of the currency are worth one of the base currency: above 0."""
    source: Annotated[Text, Field(max_length=MAX_SOURCE)]
    """Who says so."""
    as_of: Omittable[SentInstant]
    """Since when: of 1970 or later, not ahead of now; from now on where it is left out."""


class SentMessage(Body):
    """A message, as it is sent."""

    id: Name
    """Yours: the same each time you send it."""
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    """Printable characters and line breaks."""
    user: Omittable[Name]
    """Who says it; of people, the token tells."""


class WantedSchedule(Body):
    """What is wanted of the schedule: `expression`, `paused`, or both."""

    expression: Maybe[str | None]
    """A `rate` or a `cron`; null hands it back to the deployments."""
    paused: Maybe[bool]
    reason: Omittable[Text]
