"""The responses of the search, as types."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.ledger.api import EventName, EventType
from quarterhour.model.api import Currency, Decimal, Instant, Name
from quarterhour.orders.api import ShortName, Status
from quarterhour.statements.api import NamedStatement


class FoundAccount(TypedDict):
    """The name of an account."""

    agency: Name
    currency: Currency


class FoundStatement(NamedStatement):
    """The statement to which a document belongs."""

    number: str
    document: Literal["statement", "credit_note"]


class FoundEvent(EventName):
    """An event."""

    type: EventType
    agency: Name
    currency: Currency
    amount: Decimal
    recorded_at: Instant


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


class Found(TypedDict):
    """What a text names, by kind."""

    accounts: list[FoundAccount]
    statements: list[FoundStatement]
    events: list[FoundEvent]
    orders: list[FoundOrder]
    customers: list[FoundCustomer]
    all_sources: bool
    """Whether an event was looked for in all sources."""
