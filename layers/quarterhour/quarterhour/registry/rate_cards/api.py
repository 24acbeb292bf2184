"""Rate cards in requests and responses, as types."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Currency, Decimal, Location, Percent, SentDecimal, SentInstant, Text, constrained
from quarterhour.registry.documents.api import DocumentVersion
from quarterhour.registry.rate_cards.rate_card import MAX_RULES


class Rule(TypedDict):
    """A rule of a rate card."""

    percent: Decimal
    category: NotRequired[Text]
    location: NotRequired[Location]
    currency: NotRequired[Currency]
    fixed: NotRequired[Decimal]
    minimum: NotRequired[Decimal]
    maximum: NotRequired[Decimal]
    refund_fixed: NotRequired[Literal[False]]
    """False if a refund does not give back the fixed fee."""


class RateCardInForce(DocumentVersion):
    """The version of a rate card that is in force."""

    rules: list[Rule]


class RateCardsInForce(TypedDict):
    """The rate cards in force for an agency that the caller may read, in the order of precedence."""

    items: list[RateCardInForce]


class SentRule(TypedDict):
    """A rule of a rate card: its conditions and its fees. An omitted condition matches every event."""

    percent: Percent
    """Of the amount: 0 to 100, with at most 10 places."""
    category: NotRequired[Text | None]
    """Only for events of this `data.category`."""
    location: NotRequired[Location | None]
    """Only for events at this location or within it: `GB#London` covers `GB#London#Soho`, and not `GB#Londonderry`."""
    currency: NotRequired[Currency | None]
    """Only for events in this currency; required with the sums below, which are in it."""
    fixed: NotRequired[SentDecimal | None]
    """A fee for each item: `data.quantity` of them, or 1."""
    minimum: NotRequired[SentDecimal | None]
    """The least that an event is charged."""
    maximum: NotRequired[SentDecimal | None]
    """The most that an event is charged."""


class RateCard(TypedDict):
    """A rate card of an agency, a group or all: of the rules that match an event, the most specific one applies."""

    valid_from: SentInstant
    """The instant from which the version is in force."""
    rules: Annotated[list[SentRule], constrained(minItems=1, maxItems=MAX_RULES)]
    refund_fixed: NotRequired[bool | None]
    """Whether a refund gives back its share of the fixed fee; without it, it does. A void always does."""
