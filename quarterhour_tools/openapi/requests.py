"""The request bodies of the HTTP API, as types for JSON Schema."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.file_formats.csv.requests import MAX_MAP, MAX_SETTING
from quarterhour.ledger.cloud_event import ABSOLUTE_URI, MAX_INTEGER, MIN_INTEGER, NAME
from quarterhour.ledger.event import OF_DATA
from quarterhour.ledger.http import MAX_BATCH
from quarterhour.messages.message import MAX_TEXT
from quarterhour.model.api import (
    Count,
    Country,
    Currency,
    Kind,
    Location,
    Month,
    Name,
    Percent,
    SentDecimal,
    SentInstant,
    Share,
    Text,
    Token,
    constrained,
    named,
)
from quarterhour.notifications.addresses import LONGEST
from quarterhour.orders.api import ShortName
from quarterhour.orders.keys import MAX_ITEMS
from quarterhour.registry.agencies.agency import MAX_ADDRESS, MAX_RATES
from quarterhour.registry.documents.keys import MAX_VERSION
from quarterhour.registry.documents.permissions import MOST
from quarterhour.registry.exchange_rates.exchange_rate import MAX_SOURCE
from quarterhour.registry.owner import MAX_LOGO, MAX_PAYMENT_DAYS
from quarterhour.registry.rate_cards.rate_card import MAX_RULES
from quarterhour.registry.reconciliation.result import MAX_DIFFERENCES, MAX_SUMS
from quarterhour.registry.reconciliation.result import MAX_PROBLEMS as MAX_RESULT_PROBLEMS
from quarterhour.registry.reconciliation.result import MAX_TEXT as MAX_TEXT_OF_RESULT
from quarterhour.statements.status.keys import MOST_CHANGES
from quarterhour_tools.openapi.responses import NotificationKind, StatementStatus, Status

_JSON_TYPE = r"^\s*[A-Za-z0-9!#$&^_.+-]+/([A-Za-z0-9!#$&^_.+-]+\+)?[Jj][Ss][Oo][Nn]\s*(;[\s\S]*)?$"

Names = Annotated[list[Name], constrained(maxItems=MOST)]


# ---------------------------------------------------------------- events


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
    """The facts of a void, which takes back what is left of its sale."""

    refers_to: Name
    """The id of the sale."""
    currency: Currency
    reason: Text
    """Why the sale is voided."""
    refers_to_source: NotRequired[Name | None]
    """The source of the sale; without it, the event's own."""
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


Void = Annotated[
    _Void, named("Void", "A sale should not have been made: what is left of it is reversed.", **_EXTENSIBLE)
]


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


BankFile = Annotated[
    str,
    named("BankFile", "A file of a bank, as the bank made it: CAMT.053, MT940 or CSV, of up to 4 MB and 5,000 lines."),
]


# ---------------------------------------------------------------- files of others


class FilePart(TypedDict):
    """A part of a CSV file."""

    map: Annotated[str, constrained(minLength=1, maxLength=MAX_MAP)]
    """A [map](csv.md#the-map) as TOML, or the name of one that comes with Quarterhour, such as `stripe`."""
    settings: NotRequired[dict[str, Annotated[str, constrained(maxLength=MAX_SETTING)]] | None]
    """The values that the map asks for in `[settings]`."""
    part: Annotated[str, constrained(contentEncoding="base64")]
    """Up to 700,000 bytes of the file, in Base64."""
    last: bool
    """Whether the file ends with this part."""
    next: NotRequired[Token | None]
    """`next` of the response about the part before; not for the first part."""


class FileBeginning(TypedDict):
    """The beginning of a CSV file."""

    part: Annotated[str, constrained(contentEncoding="base64")]
    """The first bytes of the file, up to 700,000, in Base64."""
    name: NotRequired[Annotated[str, constrained(minLength=1, maxLength=MAX_SETTING)] | None]
    """The name of the file, which the proposed map has as the source of the events."""
    last: bool
    """Whether these are all bytes."""


class AgencyFile(TypedDict):
    """A file of agencies."""

    file: Annotated[str, constrained(contentEncoding="base64")]
    """The whole file, CSV or NDJSON, of up to 700,000 bytes, in Base64."""


# ---------------------------------------------------------------- orders


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


# ---------------------------------------------------------------- statements


class StatementStatusUpdate(TypedDict):
    """A change of a statement's status."""

    status: StatementStatus
    """The status that it gets."""
    reason: Text
    """Why it gets the status."""
    seen: Annotated[int, constrained(minimum=0, maximum=MOST_CHANGES)]
    """The number of changes that you have seen; 0 for none."""


class DraftUpdate(TypedDict):
    """A decision about a draft."""

    decision: Literal["release", "hold", "cancel"]
    """`cancel` cancels its statement."""
    reason: NotRequired[Text | None]
    """Why; only a release needs no reason."""
    seen: Count
    """The number of decisions that you have seen; 0 for none."""


class HeldDecision(TypedDict):
    """A decision about a held event."""

    decision: Literal["release", "discard"]
    """`release` posts it without what it waits for, or approves it; `discard` is final: it is never posted."""
    reason: Text
    """Why; it is kept with the event."""


class SentDispute(TypedDict):
    """The dispute of a line of a statement."""

    source: Name
    """The source of the line's event."""
    id: Name
    """The id of the line's event."""
    reason: Text
    """Why the line is disputed."""


class Resolution(TypedDict):
    """The resolution of a dispute by hand."""

    reason: Text
    """Why the dispute is over."""


# ---------------------------------------------------------------- documents


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


class TaxRate(TypedDict):
    """How some commissions of an agency are taxed."""

    scheme: Literal["standard", "reverse_charge", "exempt", "outside_scope"]
    percent: NotRequired[Percent | None]
    """Required with `standard`; none, or 0, with the others."""


class TaxProfile(TypedDict):
    """How an agency's commissions are taxed."""

    scheme: Literal["standard", "reverse_charge", "exempt", "outside_scope"]
    """With `reverse_charge`, the agency owes the tax itself. With `outside_scope`, the law does not tax the service."""
    percent: NotRequired[Percent | None]
    """0 to 100, with at most 10 places. Required with `standard`; none, or 0, with the others."""
    vat_id: NotRequired[Text | None]
    """With correct check digits, by the rules of `country` or of the country that its first letters name.

    Of a country without known rules, 4 to 20 letters and digits.
    """
    by_kind: NotRequired[Annotated[dict[str, TaxRate], constrained(maxProperties=MAX_RATES)] | None]
    """How adjustments of some kinds are taxed, such as `chargeback_fee`; not `opening`, which is never taxed."""
    by_category: NotRequired[Annotated[dict[str, TaxRate], constrained(maxProperties=MAX_RATES)] | None]
    """How lines of some categories are taxed, unless `by_kind` names their kind."""


class AgencyData(TypedDict):
    """An agency's data from an instant on. Without `valid_from`, from the beginning of time."""

    legal_name: NotRequired[Text | None]
    address: NotRequired[Annotated[str, constrained(minLength=1, maxLength=MAX_ADDRESS)] | None]
    """Printable characters and line breaks."""
    country: NotRequired[Country | None]
    """A country code of ISO 3166-1, or `XK`."""
    tax: NotRequired[TaxProfile | None]
    currency: NotRequired[Currency | None]
    """The currency in which it is billed: stored, and not applied."""
    group: NotRequired[Name | None]
    """The group whose rate card applies if the agency's own has no rule for an event."""
    contact: NotRequired[Text | None]
    status: NotRequired[Literal["active", "closed"] | None]
    """Without it, `active`. Sales of a closed agency are held until it is active again."""
    language: NotRequired[Literal["en", "de", "fr", "es", "nl"] | None]
    """The language of its statements; without it, `en`."""
    collects: NotRequired[Literal["agency", "marketplace"] | None]
    """Who holds the customers' money; without it, `agency`. A statement is of who does at the end of its period."""
    iban: NotRequired[Text | None]
    """The account to which the marketplace pays out what it owes, with correct check digits."""
    valid_from: NotRequired[SentInstant | None]
    """When the version begins, for a change of tax at [local midnight](operations.md#registering-agencies)."""


class OwnerData(TypedDict):
    """The data of the marketplace's owner from an instant on. Without `valid_from`, from the beginning of time."""

    legal_name: Text
    address: NotRequired[Annotated[str, constrained(minLength=1, maxLength=MAX_ADDRESS)] | None]
    """Printable characters and line breaks."""
    country: NotRequired[Country | None]
    vat_id: NotRequired[Text | None]
    """The owner's own, with correct check digits as that of an agency."""
    contact: NotRequired[Text | None]
    logo: NotRequired[Annotated[str, constrained(maxLength=MAX_LOGO)] | None]
    """A data URI of a PNG, JPEG, WebP or SVG image in base64."""
    iban: NotRequired[Text | None]
    """Where the agencies pay, with correct check digits; blanks do not count."""
    payment_days: NotRequired[Annotated[int, constrained(minimum=0, maximum=MAX_PAYMENT_DAYS)] | None]
    """The days from a statement's issue to the day when it must be paid; without it, 30."""
    valid_from: NotRequired[SentInstant | None]
    """The instant from which the version is in force; without it, always."""


ResultText = Annotated[str, constrained(maxLength=MAX_TEXT_OF_RESULT)]


class ReconciliationTotal(TypedDict):
    """What provider and ledger have of a measure in a currency, and the difference."""

    measure: Literal["amount", "fee"]
    currency: Currency
    provider: SentDecimal
    ledger: SentDecimal
    difference: SentDecimal


class ReconciliationSum(ReconciliationTotal):
    """What one label, such as `missing here`, explains of a total."""

    label: ResultText
    findings: Count


class ReconciliationDifference(TypedDict):
    """Lines that do not match; one for each currency."""

    line: ResultText
    """Where they begin in the file; empty if they are not in it."""
    name: ResultText
    kind: ResultText
    label: ResultText
    currency: Currency
    provider: SentDecimal
    ledger: SentDecimal
    difference: SentDecimal
    agency: ResultText
    events: ResultText
    note: ResultText


class ReconciliationData(TypedDict):
    """The result of comparing a provider's file with the sealed ledger."""

    period: Month
    provider: Name
    file: ResultText
    made_at: SentInstant
    sealed_until: NotRequired[SentInstant | None]
    """The end of the last sealed quarter-hour; without it, none is sealed."""
    rows: Count
    others: Count
    """The rows of which the map makes no line."""
    outside: Count
    """The lines of other months."""
    difference_count: Count
    problem_count: Count
    proposals: Count
    problems: Annotated[list[ResultText], constrained(maxItems=MAX_RESULT_PROBLEMS)]
    totals: Annotated[list[ReconciliationTotal], constrained(maxItems=MAX_SUMS)]
    sums: Annotated[list[ReconciliationSum], constrained(maxItems=MAX_SUMS)]
    differences: Annotated[list[ReconciliationDifference], constrained(maxItems=MAX_DIFFERENCES)]


class Draft(TypedDict):
    """A new version of a document, based on the version that the writer has seen."""

    seen: Count
    """The number of the version seen; 0 for a new document."""
    content: RateCard | AgencyData | OwnerData | ReconciliationData | Any
    """Any JSON of up to 200,000 bytes; for `rate-card:…`, `agency:<agency>`, `owner` and `reconciliation:…`, what their
    schema allows."""


class Registration(TypedDict):
    """A new version of an agency's registration, based on the version that the writer has seen."""

    seen: Count
    """The number of the version seen; 0 for a new agency."""
    content: AgencyData


class SentReaders(TypedDict):
    """The agencies and people who may read a document; machines and staff always may."""

    agencies: Names
    """The agencies whose people may read it."""
    people: Annotated[list[Text], constrained(maxItems=MOST)]
    """The subjects (`sub`) of their tokens."""


# ---------------------------------------------------------------- exchange rates, messages, the schedule


class ExchangeRateStatement(TypedDict):
    """An exchange rate to enter."""

    units_per_base: SentDecimal
    """How many units of the currency are worth one unit of the base currency (`BaseCurrency`): above 0."""
    source: Annotated[Text, constrained(maxLength=MAX_SOURCE)]
    """Who says so."""
    as_of: NotRequired[SentInstant | None]
    """Since when: from 1970 on, and not in the future. Without it, from now on."""
    base: NotRequired[Currency | None]
    """The base currency that you mean. If the deployment has another `BaseCurrency` or none, 400 is returned."""


class SentMessage(TypedDict):
    """A message in a request."""

    id: Name
    """Your id of the message; use the same id in retries."""
    text: Annotated[str, constrained(minLength=1, maxLength=MAX_TEXT)]
    """Printable characters and line breaks."""
    user: NotRequired[Name | None]
    """The author, whom a machine names; of a person, the subject of the token."""


class SubscriptionContent(TypedDict):
    """What a subscription is to be."""

    address: Annotated[str, constrained(minLength=1, maxLength=LONGEST, pattern="^https://")]
    """`https://`, a lower-case name of the public DNS, perhaps a port of 443, 8443 or 1024 to 65535, and a path."""
    kinds: NotRequired[Annotated[list[NotificationKind], constrained(minItems=1)] | None]
    """Without them, all kinds."""
    agency: NotRequired[Name | None]
    """With it, only what is about this agency: kinds that begin with `statement.` or `event.`."""


_Replay = TypedDict("_Replay", {"from": Annotated[SentInstant, constrained(description="Within the last 31 days.")]})
Replay = Annotated[_Replay, named("Replay", "From when on everything is delivered again.")]


class ScheduleUpdate(TypedDict):
    """A change of the desired schedule: `expression`, `paused` or both."""

    expression: NotRequired[str | None]
    """A `rate` or a `cron`, which overrides that of all deployments (`overridden`); `null` returns to theirs."""
    paused: NotRequired[bool]
    """`true` pauses, `false` resumes."""
    reason: NotRequired[Text | None]
    """Why; stored with the change."""
    seen: NotRequired[Count | None]
    """The `version` of the schedule that you have read; without it, the current one."""
