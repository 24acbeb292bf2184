"""The request bodies of the HTTP API, as types for JSON Schema."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from quarterhour.file_formats.csv.requests import MAX_MAP, MAX_SETTING
from quarterhour.ledger.cloud_event import ABSOLUTE_URI, MAX_INTEGER, MIN_INTEGER, NAME
from quarterhour.ledger.event import OF_DATA
from quarterhour.ledger.http import MAX_BATCH
from quarterhour.messages.message import MAX_TEXT
from quarterhour.notifications.addresses import LONGEST
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
from quarterhour_tools.openapi.values import (
    Count,
    Country,
    Currency,
    Kind,
    Location,
    Maybe,
    Month,
    Name,
    Omittable,
    Percent,
    SentDecimal,
    SentInstant,
    Share,
    ShortName,
    Text,
    Token,
)

_JSON_TYPE = r"^\s*[A-Za-z0-9!#$&^_.+-]+/([A-Za-z0-9!#$&^_.+-]+\+)?[Jj][Ss][Oo][Nn]\s*(;[\s\S]*)?$"

_NAMES_OF_ATTRIBUTES: dict[str, Any] = {"pattern": f"^{NAME.pattern}$", "not": {"enum": sorted(OF_DATA)}}

Names = Annotated[list[Name], Field(max_length=MOST)]


class Body(BaseModel):
    """A request body, which accepts no unknown fields."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


# ---------------------------------------------------------------- events


class Details(Body):
    """Facts of an event that the ledger stores without using them."""

    product: Omittable[Text]
    quantity: Omittable[SentDecimal]
    unit_price: Omittable[SentDecimal]
    order_id: Omittable[Text]
    line: Omittable[Text | int]
    location: Omittable[Location]
    category: Omittable[Text]
    refers_to: Omittable[Name]
    """For a refund or an adjustment: the id of the sale."""
    extra: Omittable[dict[str, Any]]
    """Your own data, up to 4 KB."""


class SaleData(Details):
    """The facts of a sale, a refund or an adjustment."""

    amount: SentDecimal
    """0 or more for a sale, 0 or less for a refund."""
    currency: Currency
    commission_rate: Omittable[Share]
    """Without it, the agency's rate card applies."""
    commission: Omittable[SentDecimal]
    """Only for an adjustment, instead of a commission rate."""
    customer: Omittable[Text]
    refers_to_source: Omittable[Name]
    """The source of the sale; without it, the event's own. Not for a sale."""
    reason: Omittable[Text]
    """Why a refund or an adjustment was made. Not for a sale."""
    kind: Omittable[Kind]
    """What an adjustment charges, such as `chargeback_fee`; `opening` brings a balance forward. Only for an adjustment.
    """


class VoidData(Details):
    """The facts of a void, which takes back what is left of its sale."""

    refers_to: Name
    """The id of the sale."""
    currency: Currency
    reason: Text
    """Why the sale is voided."""
    refers_to_source: Omittable[Name]
    """The source of the sale; without it, the event's own."""
    customer: Omittable[Text]


class SentRerating(Body):
    """What a re-rating applies, and its operator."""

    rate_card: Text
    """The document of a rate card: the agency's own, a group's or the default one."""
    version: Annotated[int, Field(ge=1, le=MAX_VERSION)]
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
    refers_to_source: Omittable[Name]
    """The source of the event; without it, the re-rating's own."""
    customer: Omittable[Text]


class PaymentData(Body):
    """The facts of a payment."""

    amount: SentDecimal
    """Above 0 if the agency paid, below 0 if it was paid; at most the decimal places of its currency."""
    currency: Currency
    reason: Omittable[Text]
    """What was paid, for example the reference of the bank transfer."""
    statement: Omittable[Text]
    """The number of the statement that is paid; without it, the oldest open one is."""
    extra: Omittable[dict[str, Any]]
    """Your own data, up to 4 KB."""


class ViewData(Details):
    """The facts of a view, which has no amount."""

    customer: Text
    """The viewer."""


Extension = Annotated[int, Field(ge=MIN_INTEGER, le=MAX_INTEGER)] | str | bool | None
"""The value of an extension attribute."""


class CloudEvent(BaseModel):
    """A CloudEvent (1.0). Its source and id identify it for ever. All other members are extension attributes."""

    model_config = ConfigDict(
        use_attribute_docstrings=True,
        extra="allow",
        json_schema_extra={"propertyNames": _NAMES_OF_ATTRIBUTES},
    )
    __pydantic_extra__: dict[str, Extension]

    specversion: Literal["1.0"]
    source: Name
    id: Name
    time: Omittable[SentInstant]
    """When it happened."""
    datacontenttype: Omittable[Annotated[str, Field(pattern=_JSON_TYPE)]]
    """A media type of JSON; the default is `application/json`."""
    dataschema: Omittable[Annotated[str, Field(pattern=f"^{ABSOLUTE_URI.pattern}$")]]
    """The schema of the data: kept, not used."""


class BillingEvent(CloudEvent):
    """A sale, a refund or an adjustment."""

    type: Literal["sale.recorded", "sale.refunded", "adjustment.recorded"]
    subject: Name
    """The agency."""
    data: SaleData


class Void(CloudEvent):
    """A sale should not have been made: what is left of it is reversed."""

    type: Literal["sale.voided"]
    subject: Name
    """The agency."""
    data: VoidData


class Rerating(CloudEvent):
    """A sale is charged by another rate card: the difference is computed when this event is recorded."""

    type: Literal["adjustment.recorded"]
    subject: Name
    """The agency."""
    data: ReratingData


class Payment(CloudEvent):
    """An agency paid, or was paid."""

    type: Literal["payment.recorded"]
    subject: Name
    """The agency."""
    data: PaymentData


class View(CloudEvent):
    """A customer has viewed a page."""

    type: Literal["view.recorded"]
    subject: Name
    """The page."""
    data: ViewData


class EventData(RootModel[SaleData | VoidData | ReratingData | PaymentData | ViewData]):
    """The data of an event in binary mode. Its attributes are headers (`ce-id`, `ce-source`, …), percent-encoded."""


class SentEvent(RootModel[BillingEvent | Void | Rerating | Payment | View]):
    """An event."""


class Lines(RootModel[str]):
    """NDJSON: up to 500 events, each as JSON on one line. Blank lines are skipped."""


class Batch(RootModel[Annotated[list[SentEvent], Field(min_length=1, max_length=MAX_BATCH)]]):
    """Several events in one request."""


class BankFile(RootModel[str]):
    """A file of a bank, as the bank made it: CAMT.053, MT940 or CSV, of up to 4 MB and 5,000 lines."""


# ---------------------------------------------------------------- files of others


class FilePart(Body):
    """A part of a CSV file."""

    map: Annotated[str, Field(min_length=1, max_length=MAX_MAP)]
    """A [map](csv.md#the-map) as TOML, or the name of one that comes with Quarterhour, such as `stripe`."""
    settings: Omittable[dict[str, Annotated[str, Field(max_length=MAX_SETTING)]]]
    """The values that the map asks for in `[settings]`."""
    part: Annotated[str, Field(json_schema_extra={"contentEncoding": "base64"})]
    """Up to 700,000 bytes of the file, in Base64."""
    last: bool
    """Whether the file ends with this part."""
    next: Omittable[Token]
    """`next` of the response about the part before; not for the first part."""


class FileBeginning(Body):
    """The beginning of a CSV file."""

    part: Annotated[str, Field(json_schema_extra={"contentEncoding": "base64"})]
    """The first bytes of the file, up to 700,000, in Base64."""
    name: Omittable[Annotated[str, Field(min_length=1, max_length=MAX_SETTING)]]
    """The name of the file, which the proposed map has as the source of the events."""
    last: bool
    """Whether these are all bytes."""


class AgencyFile(Body):
    """A file of agencies."""

    file: Annotated[str, Field(json_schema_extra={"contentEncoding": "base64"})]
    """The whole file, CSV or NDJSON, of up to 700,000 bytes, in Base64."""


# ---------------------------------------------------------------- orders


class SentOrderItem(Body):
    """An item of an order in a request."""

    agency: Name
    product: ShortName
    amount: SentDecimal
    """0 or more."""
    commission_rate: Omittable[Share]
    """A decimal from 0 to 1; without it, the agency's rate card applies."""
    quantity: Omittable[SentDecimal]
    unit_price: Omittable[SentDecimal]
    location: Omittable[Location]
    category: Omittable[Text]


class SentOrder(Body):
    """An order in a request."""

    order: ShortName
    """Your id of the order; use the same id in retries."""
    customer: Omittable[Name]
    """Without it, the order is a guest's and listed under no customer."""
    currency: Currency
    placed_at: Omittable[SentInstant]
    """When it was placed; the default is when the request arrives."""
    items: Annotated[list[SentOrderItem], Field(min_length=1, max_length=MAX_ITEMS)]


class StatusUpdate(Body):
    """A change of an order's status."""

    from_: Annotated[Status, Field(alias="from")]
    """The status that the order must have now."""
    to: Status
    """The status that it gets."""


# ---------------------------------------------------------------- statements


class StatementStatusUpdate(Body):
    """A change of a statement's status."""

    status: StatementStatus
    """The status that it gets."""
    reason: Text
    """Why it gets the status."""
    seen: Annotated[int, Field(ge=0, le=MOST_CHANGES)]
    """The number of changes that you have seen; 0 for none."""


class DraftUpdate(Body):
    """A decision about a draft."""

    decision: Literal["release", "hold", "cancel"]
    """`cancel` cancels its statement."""
    reason: Omittable[Text]
    """Why; only a release needs no reason."""
    seen: Count
    """The number of decisions that you have seen; 0 for none."""


class HeldDecision(Body):
    """A decision about a held event."""

    decision: Literal["release", "discard"]
    """`release` posts it without what it waits for, or approves it; `discard` is final: it is never posted."""
    reason: Text
    """Why; it is kept with the event."""


class SentDispute(Body):
    """The dispute of a line of a statement."""

    source: Name
    """The source of the line's event."""
    id: Name
    """The id of the line's event."""
    reason: Text
    """Why the line is disputed."""


class Resolution(Body):
    """The resolution of a dispute by hand."""

    reason: Text
    """Why the dispute is over."""


# ---------------------------------------------------------------- documents


class SentRule(Body):
    """A rule of a rate card: its conditions and its fees. An omitted condition matches every event."""

    percent: Percent
    """Of the amount: 0 to 100, with at most 10 places."""
    category: Omittable[Text]
    """Only for events of this `data.category`."""
    location: Omittable[Location]
    """Only for events at this location or within it: `GB#London` covers `GB#London#Soho`, and not `GB#Londonderry`."""
    currency: Omittable[Currency]
    """Only for events in this currency; required with the sums below, which are in it."""
    fixed: Omittable[SentDecimal]
    """A fee for each item: `data.quantity` of them, or 1."""
    minimum: Omittable[SentDecimal]
    """The least that an event is charged."""
    maximum: Omittable[SentDecimal]
    """The most that an event is charged."""


class RateCard(Body):
    """A rate card of an agency, a group or all: of the rules that match an event, the most specific one applies."""

    valid_from: SentInstant
    """The instant from which the version is in force."""
    rules: Annotated[list[SentRule], Field(min_length=1, max_length=MAX_RULES)]
    refund_fixed: Omittable[bool]
    """Whether a refund gives back its share of the fixed fee; without it, it does. A void always does."""


class TaxRate(Body):
    """How some commissions of an agency are taxed."""

    scheme: Literal["standard", "reverse_charge", "exempt", "outside_scope"]
    percent: Omittable[Percent]
    """Required with `standard`; none, or 0, with the others."""


class TaxProfile(Body):
    """How an agency's commissions are taxed."""

    scheme: Literal["standard", "reverse_charge", "exempt", "outside_scope"]
    """With `reverse_charge`, the agency owes the tax itself. With `outside_scope`, the law does not tax the service."""
    percent: Omittable[Percent]
    """0 to 100, with at most 10 places. Required with `standard`; none, or 0, with the others."""
    vat_id: Omittable[Text]
    """With correct check digits, by the rules of `country` or of the country that its first letters name.

    Of a country without known rules, 4 to 20 letters and digits.
    """
    by_kind: Omittable[Annotated[dict[str, TaxRate], Field(max_length=MAX_RATES)]]
    """How adjustments of some kinds are taxed, such as `chargeback_fee`; not `opening`, which is never taxed."""
    by_category: Omittable[Annotated[dict[str, TaxRate], Field(max_length=MAX_RATES)]]
    """How lines of some categories are taxed, unless `by_kind` names their kind."""


class AgencyData(Body):
    """An agency's data from an instant on. Without `valid_from`, from the beginning of time."""

    legal_name: Omittable[Text]
    address: Omittable[Annotated[str, Field(min_length=1, max_length=MAX_ADDRESS)]]
    """Printable characters and line breaks."""
    country: Omittable[Country]
    """A country code of ISO 3166-1, or `XK`."""
    tax: Omittable[TaxProfile]
    currency: Omittable[Currency]
    """The currency in which it is billed: stored, and not applied."""
    group: Omittable[Name]
    """The group whose rate card applies if the agency's own has no rule for an event."""
    contact: Omittable[Text]
    status: Omittable[Literal["active", "closed"]]
    """Without it, `active`. Sales of a closed agency are held until it is active again."""
    language: Omittable[Literal["en", "de", "fr", "es", "nl"]]
    """The language of its statements; without it, `en`."""
    collects: Omittable[Literal["agency", "marketplace"]]
    """Who holds the customers' money; without it, `agency`. A statement is of who does at the end of its period."""
    iban: Omittable[Text]
    """The account to which the marketplace pays out what it owes, with correct check digits."""
    valid_from: Omittable[SentInstant]
    """When the version begins, for a change of tax at [local midnight](operations.md#registering-agencies)."""


class OwnerData(Body):
    """The data of the marketplace's owner from an instant on. Without `valid_from`, from the beginning of time."""

    legal_name: Text
    address: Omittable[Annotated[str, Field(min_length=1, max_length=MAX_ADDRESS)]]
    """Printable characters and line breaks."""
    country: Omittable[Country]
    vat_id: Omittable[Text]
    """The owner's own, with correct check digits as that of an agency."""
    contact: Omittable[Text]
    logo: Omittable[Annotated[str, Field(max_length=MAX_LOGO)]]
    """A data URI of a PNG, JPEG, WebP or SVG image in base64."""
    iban: Omittable[Text]
    """Where the agencies pay, with correct check digits; blanks do not count."""
    payment_days: Omittable[Annotated[int, Field(ge=0, le=MAX_PAYMENT_DAYS)]]
    """The days from a statement's issue to the day when it must be paid; without it, 30."""
    valid_from: Omittable[SentInstant]
    """The instant from which the version is in force; without it, always."""


ResultText = Annotated[str, Field(max_length=MAX_TEXT_OF_RESULT)]


class ReconciliationTotal(Body):
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


class ReconciliationDifference(Body):
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


class ReconciliationData(Body):
    """The result of comparing a provider's file with the sealed ledger."""

    period: Month
    provider: Name
    file: ResultText
    made_at: SentInstant
    sealed_until: Omittable[SentInstant]
    """The end of the last sealed quarter-hour; without it, none is sealed."""
    rows: Count
    others: Count
    """The rows of which the map makes no line."""
    outside: Count
    """The lines of other months."""
    difference_count: Count
    problem_count: Count
    proposals: Count
    problems: Annotated[list[ResultText], Field(max_length=MAX_RESULT_PROBLEMS)]
    totals: Annotated[list[ReconciliationTotal], Field(max_length=MAX_SUMS)]
    sums: Annotated[list[ReconciliationSum], Field(max_length=MAX_SUMS)]
    differences: Annotated[list[ReconciliationDifference], Field(max_length=MAX_DIFFERENCES)]


class Draft(Body):
    """A new version of a document, based on the version that the writer has seen."""

    seen: Count
    """The number of the version seen; 0 for a new document."""
    content: RateCard | AgencyData | OwnerData | ReconciliationData | Any
    """Any JSON of up to 200,000 bytes; for `rate-card:…`, `agency:<agency>`, `owner` and `reconciliation:…`, what their
    schema allows."""


class Registration(Body):
    """A new version of an agency's registration, based on the version that the writer has seen."""

    seen: Count
    """The number of the version seen; 0 for a new agency."""
    content: AgencyData


class SentReaders(Body):
    """The agencies and people who may read a document; machines and staff always may."""

    agencies: Names
    """The agencies whose people may read it."""
    people: Annotated[list[Text], Field(max_length=MOST)]
    """The subjects (`sub`) of their tokens."""


# ---------------------------------------------------------------- exchange rates, messages, the schedule


class ExchangeRateStatement(Body):
    """An exchange rate to enter."""

    units_per_base: SentDecimal
    """How many units of the currency are worth one unit of the base currency (`BaseCurrency`): above 0."""
    source: Annotated[Text, Field(max_length=MAX_SOURCE)]
    """Who says so."""
    as_of: Omittable[SentInstant]
    """Since when: from 1970 on, and not in the future. Without it, from now on."""
    base: Omittable[Currency]
    """The base currency that you mean. If the deployment has another `BaseCurrency` or none, 400 is returned."""


class SentMessage(Body):
    """A message in a request."""

    id: Name
    """Your id of the message; use the same id in retries."""
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    """Printable characters and line breaks."""
    user: Omittable[Name]
    """The author, whom a machine names; of a person, the subject of the token."""


class SubscriptionContent(Body):
    """What a subscription is to be."""

    address: Annotated[str, Field(min_length=1, max_length=LONGEST, pattern="^https://")]
    """`https://`, a lower-case name of the public DNS, perhaps a port of 443, 8443 or 1024 to 65535, and a path."""
    kinds: Omittable[Annotated[list[NotificationKind], Field(min_length=1)]]
    """Without them, all kinds."""
    agency: Omittable[Name]
    """With it, only what is about this agency: kinds that begin with `statement.` or `event.`."""


class Replay(Body):
    """From when on everything is delivered again."""

    from_: Annotated[SentInstant, Field(alias="from")]
    """Within the last 31 days."""


class ScheduleUpdate(Body):
    """A change of the desired schedule: `expression`, `paused` or both."""

    expression: Maybe[str | None]
    """A `rate` or a `cron`, which overrides that of all deployments (`overridden`); `null` returns to theirs."""
    paused: Maybe[bool]
    """`true` pauses, `false` resumes."""
    reason: Omittable[Text]
    """Why; stored with the change."""
    seen: Omittable[Count]
    """The `version` of the schedule that you have read; without it, the current one."""
