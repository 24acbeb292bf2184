"""The responses about events, as types."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.ledger.events.api import EventName, EventType, RecordedRerating
from quarterhour.ledger.recording.api import Receipt
from quarterhour.ledger.recording.pricing import (
    BY_DEFAULT,
    BY_EVENT,
    BY_PAYMENT,
    BY_RATE_CARD,
    BY_REFUND,
    BY_RERATING,
    BY_SALE,
)
from quarterhour.model.api import (
    Count,
    Currency,
    Day,
    Decimal,
    Instant,
    Kind,
    Location,
    Month,
    Name,
    Text,
    constrained,
    one_of,
)
from quarterhour.registry.rate_cards.api import Rule
from quarterhour.web.api import Page

TermsOrigin = Annotated[
    str, one_of([BY_EVENT, BY_SALE, BY_REFUND, BY_DEFAULT, BY_RATE_CARD.strip(), BY_RERATING, BY_PAYMENT, "unknown"])
]


class Event(Receipt):
    """A recorded event."""

    source: Name
    id: Name
    type: EventType
    agency: Name
    currency: Currency
    amount: Decimal
    commission_rate: Decimal
    commission: Decimal
    time: NotRequired[Instant]
    """When it happened, according to its sender."""
    terms: NotRequired[str]
    """The terms of its commission."""
    arithmetic: NotRequired[str]
    """The computation of its commission, if it is more than the commission rate; `…/explain` shows every step."""
    product: NotRequired[Text]
    quantity: NotRequired[Decimal]
    unit_price: NotRequired[Decimal]
    customer: NotRequired[Text]
    """The name; with a vault, a token for people of agencies and of a customer who was forgotten."""
    order_id: NotRequired[Text]
    line: NotRequired[Text]
    location: NotRequired[Location]
    refers_to: NotRequired[Name]
    extra: NotRequired[str]
    """JSON text."""
    attributes: NotRequired[str]
    """JSON text: `dataschema` and the extension attributes of the CloudEvent."""
    recorded_by: NotRequired[str]
    """The person who recorded it; people of agencies do not see it."""
    approved_by: NotRequired[str]
    """The second person, who approved it; people of agencies do not see it."""
    category: NotRequired[Text]
    refers_to_source: NotRequired[Name]
    """The source of the sale in `refers_to`, if it is not the event's own."""
    reason: NotRequired[Text]
    kind: NotRequired[Kind]
    """What an adjustment charges; `opening` brings a balance forward."""
    rerating: NotRequired[RecordedRerating]
    """Of an adjustment that charges its sale by another rate card."""
    period: NotRequired[Month]
    """The month in which it counts."""
    before_first_period: NotRequired[Month]
    """The first period with statements, if the event counts before it: it is on no statement."""
    prior_period: NotRequired[Annotated[str, constrained(const="1")]]
    """Whether it belongs to an earlier month, which was cut off when the event came."""
    tax_point: NotRequired[Day]
    """The date that decides its tax."""
    statement: NotRequired[Text]
    """The number of the statement that a payment names."""
    tax: NotRequired[Decimal]
    """The tax in the amount."""
    shipping: NotRequired[Decimal]
    """The shipping in the amount, without tax."""
    lacks: NotRequired[str]
    """What a charge needs and the event does not say: `tax`, `shipping`, or both. It counts as 0."""
    charges: NotRequired[str]
    """Its commission by the names of charges, unless all of it is `commission`."""


class Step(TypedDict):
    """A step of the computation."""

    name: str
    says: str
    gives: Decimal
    charge: NotRequired[Text]
    """The name of the charge, unless it is `commission`."""


class LookedAt(TypedDict):
    """A rate card that was looked at for an event."""

    document: str
    version: NotRequired[Count]
    """The version in force for the event, if there was one."""
    result: Literal["applied", "no rule for this event", "not in force"]


_FromTerms = TypedDict("_FromTerms", {"from": TermsOrigin})


class EventTerms(_FromTerms):
    """The terms of a commission."""

    sale: NotRequired[Name]
    """The refunded, voided or rerated sale."""
    refund: NotRequired[Name]
    """The refund that a void takes back."""
    document: NotRequired[str]
    """The name of the rate card."""
    version: NotRequired[Count]
    by: NotRequired[Text]
    """The operator of a re-rating, whom people of agencies do not see."""
    reason: NotRequired[Text]
    """Why the sale was rerated."""
    looked_at: NotRequired[list[LookedAt]]
    """The rate cards in the order of precedence, up to the one that applied, if one did."""
    valid_from: NotRequired[Instant]
    rule: NotRequired[Rule | None]
    """The rule that matched the event; null if none did."""
    note: NotRequired[str]
    """Why the rule's fees do not apply, or what the event does not say; of a payment, why it has no commission."""


class Computation(TypedDict):
    """The computation of a commission in force."""

    terms: EventTerms
    steps: list[Step]
    """The last step gives the commission."""
    commission: Decimal
    """That of the whole amount, before refunds."""


class Explanation(TypedDict):
    """The computation of a commission."""

    source: Name
    id: Name
    type: str
    agency: Name
    currency: Currency
    amount: Decimal
    time: NotRequired[Instant]
    recorded_at: Instant
    terms: EventTerms
    steps: list[Step]
    """The last step gives the commission."""
    commission: Decimal
    """The commission as it was recorded."""
    in_force: NotRequired[Computation]
    """After a re-rating: the computation by the rate card in force, of which later refunds give back their part."""
    order_fees: NotRequired[dict[str, str]]
    """The id of the line that bears what the order is charged once, by the name of the charge."""


class StoryStep(Event):
    """An event of a story, with the figures of all events up to it."""

    left_after: NotRequired[Decimal]
    """What is left of the sale's amount, after refunds and voids."""
    commission_after: Decimal
    """The commission of the sale and of everything that refers to it so far."""


class Story(Page[StoryStep]):
    """A sale and everything that refers to it, in the order in which the ledger applied it."""

    source: Name
    id: Name
    agency: Name
    currency: Currency
    left: NotRequired[Decimal]
    """What is left of the sale's amount after all steps, those of other pages included."""
    commission: Decimal
    """The commission after all steps."""


class FoundEvent(EventName):
    """An event."""

    type: EventType
    agency: Name
    currency: Currency
    amount: Decimal
    recorded_at: Instant


class FoundEvents(TypedDict):
    """The events that a text names."""

    events: list[FoundEvent]
    all_sources: bool
    """Whether an event was looked for in all sources."""
