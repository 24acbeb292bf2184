"""The preview of re-ratings, as types."""

from typing import Any

from typing_extensions import TypedDict

from quarterhour.model.api import Count, Currency, Decimal, Instant, Name, SentInstant
from quarterhour.registry.rate_cards.api import RateCard


class ReratedSums(TypedDict):
    """The sums of events that another rate card prices."""

    events: Count
    changed: Count
    """The number of those whose commission differs."""
    commission: Decimal
    """What they are charged now, with their refunds and earlier re-ratings, and with tiers of their turnover."""
    would_be: Decimal
    difference: Decimal


class ReratedAccount(ReratedSums):
    """The sums of an account's events that another rate card prices."""

    agency: Name
    currency: Currency


class ReratedEvent(TypedDict):
    """An event whose commission another rate card changes."""

    source: Name
    id: Name
    recorded_at: Instant
    currency: Currency
    amount: Decimal
    commission: Decimal
    """What it is charged now, with its refunds and earlier re-ratings."""
    would_be: Decimal
    difference: Decimal
    events: list[dict[str, Any]]
    """The events that apply the change, as `POST /events` takes them."""


class SentEffect(TypedDict("SentEffect", {"from": SentInstant})):
    """A rate card that is not written yet, and the events of an agency that it would price."""

    rate_card: str
    """The document that would hold it: `rate-card:42`."""
    agency: Name
    content: RateCard
    to: SentInstant
    """The end of the span in which the events were recorded, which begins at `from`."""


class Effect(TypedDict):
    """What events would be charged by a rate card that is not written yet."""

    rate_card: str
    accounts: list[ReratedAccount]


class ReratingPreview(TypedDict):
    """What events would be charged by another rate card."""

    rate_card: str
    version: Count
    accounts: list[ReratedAccount]
    changes: list[ReratedEvent]
