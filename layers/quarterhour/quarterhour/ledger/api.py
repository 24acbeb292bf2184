"""The responses about events, as types."""

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import (
    Count,
    Currency,
    Day,
    Decimal,
    FieldProblem,
    Instant,
    Kind,
    Location,
    Month,
    Name,
    Text,
    constrained,
)
from quarterhour.registry.rate_cards.api import Rule
from quarterhour.web.api import Page

EventType = Literal[
    "sale.recorded", "sale.refunded", "sale.voided", "adjustment.recorded", "payment.recorded", "view.recorded"
]

TermsOrigin = Literal["event", "sale", "default", "card", "rerating", "payment", "unknown"]


class EventName(TypedDict):
    """The name of an event: its source and id."""

    source: Name
    id: Name


class Receipt(TypedDict):
    """The place of an event in the ledger."""

    recorded_at: Instant
    partition: str
    position: str


class RecordedRerating(TypedDict):
    """What a re-rating applied."""

    rate_card: str
    version: Count
    by: NotRequired[Text]
    """Its operator, whom people of agencies do not see."""


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
    prior_period: NotRequired[Literal["1"]]
    """Whether it belongs to an earlier month, which was cut off when the event came."""
    tax_point: NotRequired[Day]
    """The date that decides its tax; missing in events that 0.1.0 or 0.2.0 recorded."""
    statement: NotRequired[Text]
    """The number of the statement that a payment names."""


class ReratedAccount(TypedDict):
    """The sums of an account's events that another rate card prices."""

    agency: Name
    currency: Currency
    events: Count
    changed: Count
    """The number of those whose commission differs."""
    commission: Decimal
    """What they are charged now, with their refunds and earlier re-ratings."""
    would_be: Decimal
    difference: Decimal


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


class ReratingPreview(TypedDict):
    """What events would be charged by another rate card."""

    rate_card: str
    version: Count
    accounts: list[ReratedAccount]
    changes: list[ReratedEvent]


HeldReason = Literal["unknown_sale", "unregistered_agency", "closed_agency", "needs_approval"]
Verdict = Literal["recorded", "duplicate", "held", "conflict", "rejected", "unavailable"]


class Waiting(TypedDict):
    """What a held event waits for."""

    reason: HeldReason
    problems: list[FieldProblem]
    """Why it cannot be posted yet; if its sale is known by now and does not allow it, why not."""


class ItemOutcome(TypedDict):
    """The result for one event of a request."""

    index: Count
    """The event's index in the request."""
    line: NotRequired[Annotated[int, constrained(minimum=1)]]
    """The number of its line, if the request was NDJSON."""
    source: str | None
    id: str | None
    verdict: Verdict
    receipt: NotRequired[Receipt]
    """The event's place in the ledger, if it is recorded by this request or an earlier one."""
    held: NotRequired[Waiting]
    """What a held event waits for."""
    errors: NotRequired[list[FieldProblem]]
    """The errors in the event."""


class Recording(TypedDict):
    """The results for all events of a request."""

    items: list[ItemOutcome]
    counts: dict[Verdict, Count]
    """The number of items per verdict; verdicts without items are omitted."""


class Step(TypedDict):
    """A step of the computation."""

    name: str
    says: str
    gives: Decimal


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
    """Why the rule's fees do not apply, if they do not; of a payment, why it has no commission."""


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
