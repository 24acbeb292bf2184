"""The answers of the HTTP API, as JSON Schema tells of them."""

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from quarterhour_tools.openapi.values import (
    Bucket,
    Count,
    Currency,
    Day,
    Decimal,
    Instant,
    Maybe,
    Name,
    Place,
    Run,
    Sha256,
    ShortName,
    Text,
    Token,
)

T = TypeVar("T")

Direction = Literal["up", "stable", "down"]
Proof = Literal["verified", "pending", "drift"]
Status = Literal["open", "paid", "shipped", "delivered", "cancelled"]
Terms = Literal["event", "sale", "default", "card", "unknown"]


class Answer(BaseModel):
    """What may gain fields, so that whoever reads it must let others pass."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Page(Answer, Generic[T]):
    """A page of a listing: it can be short, or empty, though another follows."""

    items: list[T]
    next: Token | None
    """What to send as `next` for the page that follows; null on the last."""

    @classmethod
    def model_parametrized_name(cls, params: tuple[type[Any], ...]) -> str:
        """Name the page after its items."""
        return f"{params[0].__name__}Page"


# ---------------------------------------------------------------- what is wrong


class FieldProblem(Answer):
    """What is wrong with one field, or parameter, of a request."""

    field: str
    problem: str
    expected: str


class Problem(Answer):
    """Problem details (RFC 9457)."""

    title: str
    status: Count
    detail: str
    request_id: str
    """Names the request in all logs; the header `x-request-id` says the same."""
    errors: Maybe[list[FieldProblem]]
    """Each field that is to be mended."""


class GatewayMessage(Answer):
    """What API Gateway answers by itself."""

    message: str | None


# ---------------------------------------------------------------- accounts


class Totals(Answer):
    """Totals of events: how many, and exact sums."""

    events: Count
    gross: Decimal
    """The sum of the amounts of 0 or more."""
    refunds: Decimal
    """The sum of the amounts below 0."""
    commission: Decimal
    net: Decimal
    """Gross and refunds together."""


class AccountState(Totals):
    """The totals of an account at an instant."""

    version: Count
    """How often the account has changed."""
    last_updated: Instant
    """When the newest of its events was recorded."""


class Account(AccountState):
    """An account's lifetime totals."""

    agency: Name
    currency: Currency
    customers: Count
    """How many different customers its events name."""


class AccountQuarter(Totals):
    """An account's totals of a quarter-hour."""

    bucket: Bucket
    start: Instant


class AccountDay(Totals):
    """An account's totals of a day."""

    day: Day
    customers: Count


class AccountSnapshot(AccountState):
    """An account as it stood at the end of a window, or after a change."""

    layer: str
    window: Maybe[Instant]
    """When the window begins; a single change has none."""


class AccountInWindow(AccountState):
    """An account as it stood at the end of the window."""

    agency: Name
    currency: Currency


class Figure(Answer):
    """A figure now and before; null where there is nothing to compare with."""

    now: Decimal | int
    before: Decimal | int | None
    change: Decimal | int | None
    trend: Direction | None


class AccountTrend(Answer):
    """How an account's latest state compares with the window (or the change) before its own."""

    layer: str
    latest: AccountState
    before: AccountSnapshot | None
    trend: Direction | None
    """The trend of the net."""
    figures: dict[Literal["events", "gross", "refunds", "commission", "net"], Figure]


# ---------------------------------------------------------------- rates


class RateState(Answer):
    """How many units of a currency are worth one of the base currency, as somebody has stated it."""

    units_per_base: Decimal
    source: Text
    """Who has stated it."""
    base: Currency | None
    version: Count
    """How many rates of the currency have been stated, with this one."""
    as_of: Instant
    """Since when it is in force."""


class Rate(RateState):
    """A currency's rate."""

    currency: Currency


class RateSnapshot(RateState):
    """A rate as it stood at the end of a window, or after a change."""

    layer: str
    window: Maybe[Instant]
    """When the window begins; a single change has none."""


class RateTrend(Answer):
    """How the rate in force compares with that before its own window (or change)."""

    layer: str
    latest: RateState
    before: RateSnapshot | None
    trend: Direction | None
    figures: dict[Literal["units_per_base"], Figure]


class Window(Answer):
    """All accounts, or rates, that changed in a window, as they stood at its end."""

    layer: str
    window: Instant
    items: list[AccountInWindow | Rate]
    next: Token | None


# ---------------------------------------------------------------- reports


class ReportRun(Answer):
    """A run of the report."""

    run: Run
    from_: Annotated[Instant, Field(alias="from")]
    to: Instant
    planned_at: Instant
    buckets: Count
    """How many quarter-hours it covers."""
    lines: Count
    counters: Proof
    """What the live counters say to what the run sealed."""
    manifest_sha256: Sha256


class File(Answer):
    """A file in the bucket of the reports."""

    key: str
    sha256: Sha256
    size: Count
    """Bytes."""


class LinkedFile(File):
    """A file with a link to it."""

    url: str
    """Can be fetched without authorization while the link is valid."""


class PinnedRate(Answer):
    """The rate that a quarter-hour's sums were converted by."""

    currency: Currency
    units_per_base: Decimal | None
    """Null where none was in force."""
    source: Maybe[Text]
    as_of: Maybe[Instant]


class SealedQuarter(Answer):
    """A quarter-hour that a run has sealed."""

    bucket: Bucket
    shards: Count
    lines: Count
    file: File | None
    """The lines; null where there are none."""
    rates: Maybe[list[PinnedRate]]
    """Where the deployment has a base currency."""


class SealedAccount(Answer):
    """What a run has sealed of an account."""

    agency: Name
    currency: Currency
    events: Count
    gross: Decimal
    refunds: Decimal
    commission: Decimal


class PreviousManifest(Answer):
    """The run before, and the hash of its manifest."""

    run: Run
    sha256: Sha256


class Manifest(Answer):
    """What a run has sealed, with the hash of every file."""

    schema_: Annotated[Count, Field(alias="schema")]
    run: Run
    from_: Annotated[Instant, Field(alias="from")]
    to: Instant
    planned_at: Instant
    code_version: str
    shards: Count
    previous: PreviousManifest | None
    base_currency: Maybe[Currency]
    buckets: list[SealedQuarter]
    lines: Count
    accounts: list[SealedAccount]
    files: list[File]


class Report(ReportRun):
    """A run with its manifest, and links to its files."""

    proofs: dict[str, Proof]
    """What the counters say, by quarter-hour."""
    links_valid_seconds: Count
    files: list[LinkedFile]
    manifest: Manifest | None
    """Null where it has more than 2 MiB; it is linked all the same."""


# ---------------------------------------------------------------- events


class Receipt(Answer):
    """Where an event stands in the ledger."""

    recorded_at: Instant
    partition: str
    position: str


class Event(Receipt):
    """An event as it was recorded."""

    source: Name
    id: Name
    type: Literal["sale.recorded", "sale.refunded", "adjustment.recorded", "view.recorded"]
    agency: Name
    currency: Currency
    amount: Decimal
    commission_rate: Decimal
    commission: Decimal
    time: Maybe[Instant]
    """When it happened, as its sender says."""
    terms: Maybe[str]
    """Whose terms its commission follows."""
    arithmetic: Maybe[str]
    """How its commission was reckoned, where that is more than the rate; `…/explain` tells it step by step."""
    product: Maybe[Text]
    quantity: Maybe[Decimal]
    unit_price: Maybe[Decimal]
    customer: Maybe[Text]
    order_id: Maybe[Text]
    line: Maybe[Text]
    location: Maybe[Place]
    refers_to: Maybe[Name]
    extra: Maybe[str]
    """JSON text."""
    category: Maybe[Text]


class ItemOutcome(Answer):
    """What became of an event that was sent."""

    index: Count
    """Its place in the request."""
    source: str | None
    id: str | None
    verdict: Literal["recorded", "duplicate", "conflict", "rejected", "unavailable"]
    receipt: Maybe[Receipt]
    """Where it stands, if it was recorded, now or before."""
    errors: Maybe[list[FieldProblem]]
    """What is wrong with it."""


class Recording(Answer):
    """What became of each event of a request."""

    items: list[ItemOutcome]
    counts: dict[Literal["recorded", "duplicate", "conflict", "rejected", "unavailable"], Count]
    """How many items have each verdict, of those that any has."""


class Step(Answer):
    """A step of the arithmetic."""

    name: str
    says: str
    gives: Decimal


class Rule(Answer):
    """A rule of a rate card."""

    percent: Decimal
    category: Maybe[Text]
    location: Maybe[Place]
    currency: Maybe[Currency]
    fixed: Maybe[Decimal]
    minimum: Maybe[Decimal]
    maximum: Maybe[Decimal]


class EventTerms(Answer):
    """Whose terms a commission follows."""

    from_: Annotated[Terms, Field(alias="from")]
    sale: Maybe[Name]
    """The sale that is refunded."""
    document: Maybe[str]
    """The rate card."""
    version: Maybe[Count]
    valid_from: Maybe[Instant]
    rule: Maybe[Rule | None]
    """The rule that covered the event; null where none did."""
    note: Maybe[str]
    """Why the rule's fees do not count, where they do not."""


class Explanation(Answer):
    """How a commission came about."""

    source: Name
    id: Name
    type: str
    agency: Name
    currency: Currency
    amount: Decimal
    time: Maybe[Instant]
    recorded_at: Instant
    terms: EventTerms
    steps: list[Step]
    """The last one gives the commission."""
    commission: Decimal


class CurrencyTotals(Totals):
    """Totals in one currency."""

    currency: Currency


class PlaceSales(Answer):
    """What was sold at a place, and below it, on a day."""

    day: Day
    place: Place
    sales: list[CurrencyTotals]


# ---------------------------------------------------------------- orders


class StatusEntry(Answer):
    """A status that an order has had."""

    status: Status
    at: Instant


class Order(Answer):
    """An order without its items."""

    order: ShortName
    customer: Maybe[Name]
    currency: Currency
    placed_at: Instant
    status: Status
    history: list[StatusEntry]
    lines: Count
    """How many items it has."""
    total: Decimal


class OrderItem(Answer):
    """An item of an order."""

    line: Count
    agency: Name
    product: ShortName
    amount: Decimal
    commission_rate: Maybe[Decimal]
    quantity: Maybe[Decimal]
    unit_price: Maybe[Decimal]
    location: Maybe[Place]
    category: Maybe[Text]


class OrderWithItems(Order, Page[OrderItem]):
    """An order with a page of its items."""


class BoughtItem(OrderItem):
    """An item that a customer has ordered."""

    order: ShortName
    placed_at: Instant


# ---------------------------------------------------------------- documents


class DocumentVersion(Answer):
    """A version of a document, without its content."""

    document: str
    version: Count
    sha256: Sha256
    """Of the content as canonical JSON."""
    written_at: Instant
    written_by: str
    valid_from: Maybe[Instant]
    """Of a rate card: since when it counts."""


class DocumentContent(DocumentVersion):
    """A version of a document."""

    content: Any


class DocumentMetadata(Answer):
    """What is told of a document as a whole."""

    document: str
    kind: Literal["document", "rate card"]
    created_at: Instant
    created_by: str


class Readers(Answer):
    """Who may read a document, beside machines."""

    agencies: list[Name]
    people: list[Text]
    """The subjects (`sub`) of their tokens."""


# ---------------------------------------------------------------- discussions


class Message(Answer):
    """A message of a discussion."""

    user: Name
    at: Instant
    id: Name
    text: str


class Messages(Page[Message]):
    """A page of messages; pages go both ways."""

    previous: Token | None
    """What to send as `next` for the page before; null on the first."""


# ---------------------------------------------------------------- the schedule


class Setting(Answer):
    """What the schedule does."""

    expression: str
    paused: bool
    pinned: bool
    """The expression was asked for, so no deployment changes it."""


class Schedule(Answer):
    """The schedule of the reports."""

    expression: str
    """As it stands in the scheduler."""
    state: Literal["enabled", "paused"]
    firings: list[Instant]
    """The next ones."""
    desired: Setting
    deployed: str


class ScheduleChange(Answer):
    """A change of the schedule."""

    version: Count
    at: Instant
    by: str
    from_: Annotated[Setting, Field(alias="from")]
    to: Setting
    reason: Text | None


class ScheduleWithChanges(Schedule, Page[ScheduleChange]):
    """The schedule, and a page of its changes, the newest first."""
