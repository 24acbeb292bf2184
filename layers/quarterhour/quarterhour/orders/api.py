"""The requests and responses about orders, as types."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from quarterhour.ledger.events.billed import MAX_ITEMS
from quarterhour.model.api import (
    WHOLE_NAME,
    Count,
    Currency,
    Decimal,
    Instant,
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
from quarterhour.orders.order import MAX_ID
from quarterhour.orders.plan import TRANSITIONS
from quarterhour.web.api import Page

ShortName = Annotated[
    str,
    named(
        "ShortName",
        "The id of an order or a product: printable characters without `#`, and without a blank at either end.",
        minLength=1,
        maxLength=MAX_ID,
        pattern=WHOLE_NAME,
    ),
]


Status = Annotated[str, one_of(TRANSITIONS)]


class StatusEntry(TypedDict):
    """A status of an order, with its instant."""

    status: Status
    at: Instant


class Order(TypedDict):
    """An order without its items."""

    order: ShortName
    customer: NotRequired[Name]
    currency: Currency
    placed_at: Instant
    status: Status
    history: list[StatusEntry]
    lines: Count
    """The number of its items."""
    total: Decimal


class OrderItem(TypedDict):
    """An item of an order."""

    line: Count
    agency: Name
    product: ShortName
    amount: Decimal
    commission_rate: NotRequired[Decimal]
    quantity: NotRequired[Decimal]
    unit_price: NotRequired[Decimal]
    location: NotRequired[Location]
    category: NotRequired[Text]


class OrderWithItems(Order, Page[OrderItem]):
    """An order with a page of its items."""


class BoughtItem(OrderItem):
    """An item that a customer has ordered."""

    order: ShortName
    placed_at: Instant


class SentOrderItem(TypedDict):
    """An item of an order in a request."""

    agency: Name
    product: ShortName
    amount: SentDecimal
    """0 or more."""
    commission_rate: NotRequired[Share | None]
    """A decimal from 0 to 1; without it, the agency's rate card applies."""
    quantity: NotRequired[SentDecimal | None]
    unit_price: NotRequired[SentDecimal | None]
    location: NotRequired[Location | None]
    category: NotRequired[Text | None]


class SentOrder(TypedDict):
    """An order in a request."""

    order: ShortName
    """Your id of the order; use the same id in retries."""
    customer: NotRequired[Name | None]
    """Without it, the order is a guest's and listed under no customer."""
    currency: Currency
    placed_at: NotRequired[SentInstant | None]
    """When it was placed; the default is when the request arrives."""
    items: Annotated[list[SentOrderItem], constrained(minItems=1, maxItems=MAX_ITEMS)]


_FromStatus = TypedDict(
    "_FromStatus", {"from": Annotated[Status, constrained(description="The status that the order must have now.")]}
)


class StatusUpdate(_FromStatus):
    """A change of an order's status."""

    to: Status
    """The status that it gets."""


class FoundOrder(TypedDict):
    """An order."""

    order: ShortName
    status: Status
    customer: NotRequired[Name]
    currency: Currency
    placed_at: Instant
    total: Decimal


class FoundCustomer(TypedDict):
    """A customer who has placed an order."""

    customer: Name


class FoundOrders(TypedDict):
    """The orders and customers that a text names."""

    orders: list[FoundOrder]
    customers: list[FoundCustomer]
