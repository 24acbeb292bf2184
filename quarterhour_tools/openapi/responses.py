"""The responses of the HTTP API, as types for JSON Schema."""

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import (
    Count,
    Country,
    Currency,
    Day,
    Decimal,
    FieldProblem,
    From,
    Instant,
    Kind,
    Location,
    Month,
    Name,
    QuarterHourName,
    Run,
    Sha256,
    Text,
    Token,
    constrained,
)
from quarterhour.orders.api import ShortName
from quarterhour.web.api import Page

Direction = Literal["up", "stable", "down"]
Proof = Literal["verified", "pending", "drift"]
EventType = Literal[
    "sale.recorded", "sale.refunded", "sale.voided", "adjustment.recorded", "payment.recorded", "view.recorded"
]
Status = Literal["open", "paid", "shipped", "delivered", "cancelled"]
TermsOrigin = Literal["event", "sale", "default", "card", "rerating", "payment", "unknown"]


# ---------------------------------------------------------------- accounts


class SalesTotals(TypedDict):
    """Totals of events without payments: their number, and exact sums."""

    events: Count
    gross: Decimal
    """The sum of the amounts of 0 or more."""
    refunds: Decimal
    """The sum of the amounts below 0."""
    commission: Decimal
    net: Decimal
    """The sum of gross and refunds."""


class Totals(SalesTotals):
    """Totals of events: their number, and exact sums."""

    payments: Decimal
    """The sum of the payments: above 0 if the agency paid more than it was paid. They are in no other sum."""


class AccountState(Totals):
    """The totals of an account at an instant."""

    version: Count
    """The number of changes of the account."""
    last_updated: Instant
    """The instant at which its newest event was recorded."""


class Account(AccountState):
    """An account's lifetime totals."""

    agency: Name
    currency: Currency
    customers: Count
    """The number of different customers in its events."""


class AccountQuarterHour(Totals):
    """An account's totals in a quarter-hour."""

    bucket: QuarterHourName
    start: Instant


class AccountDay(Totals):
    """An account's totals on a day."""

    day: Day
    customers: Count


class AccountPeriod(Totals):
    """An account's totals in a period."""

    period: Month


class OverviewAccount(TypedDict):
    """An account with its totals in two periods or spans."""

    agency: Name
    currency: Currency
    registered: bool
    """Whether its agency is registered."""
    now: Totals
    """Its totals in the later one."""
    before: Totals
    """Its totals in the earlier one."""


class OverviewDay(Totals):
    """The sums of the page's accounts of a currency on a day."""

    currency: Currency
    day: Day


class Overview(TypedDict):
    """A page of accounts in a period and the one before, with the sums of their days."""

    period: Month
    before: Month
    items: list[OverviewAccount]
    next: Token | None
    """The parameter `next` of the following page; null on the last page."""
    days: list[OverviewDay]
    """The sums of this page's accounts by currency and day, each with at least one event."""


class OverviewOfSpans(From):
    """A page of accounts in a span up to now and the one before, with the sums of their days."""

    to: Instant
    """The end of the present quarter-hour, unless the span ended before."""
    before_from: Instant
    before_to: Instant
    """As long after `before_from` as `to` is after `from`."""
    before_complete: bool
    """Whether the counters of all days of the earlier span are kept."""
    items: list[OverviewAccount]
    next: Token | None
    """The parameter `next` of the following page; null on the last page."""
    days: list[OverviewDay]
    """The sums of this page's accounts by currency and day of either span, each with at least one event."""


class AccountSnapshot(AccountState):
    """An account's state at the end of a window or after a change."""

    layer: str
    window: NotRequired[Instant]
    """The start of the window; a single change has none."""


class ListedAccount(AccountState):
    """An account with its lifetime totals."""

    agency: Name
    currency: Currency
    registered: NotRequired[bool]
    """Whether its agency is registered; an account of views has no agency."""


class AccountInWindow(AccountState):
    """An account's state at the end of the window."""

    agency: Name
    currency: Currency


class Figure(TypedDict):
    """A figure now and before; null without an earlier state."""

    now: Decimal | int
    before: Decimal | int | None
    change: Decimal | int | None
    trend: Direction | None


class AccountTrend(TypedDict):
    """An account's latest state, compared with that of the previous window or change."""

    layer: str
    latest: AccountState
    before: AccountSnapshot | None
    trend: Direction | None
    """The trend of the net."""
    figures: dict[Literal["events", "gross", "refunds", "commission", "payments", "net"], Figure]


# ---------------------------------------------------------------- exchange rates


class ExchangeRateState(TypedDict):
    """An entered exchange rate: units of a currency per unit of the base currency."""

    units_per_base: Decimal
    source: Text
    """The origin of the exchange rate."""
    base: Currency | None
    version: Count
    """The number of rates entered up to this one. An earlier one that was added has the number of the one after it."""
    as_of: Instant
    """The start of its validity."""


class ExchangeRate(ExchangeRateState):
    """A currency's exchange rate."""

    currency: Currency


class ExchangeRateSnapshot(ExchangeRateState):
    """An exchange rate at the end of a window or after a change."""

    layer: str
    window: NotRequired[Instant]
    """The start of the window; a single change has none."""


class ExchangeRateTrend(TypedDict):
    """The exchange rate in force, compared with that of the previous window or change."""

    layer: str
    latest: ExchangeRateState
    before: ExchangeRateSnapshot | None
    trend: Direction | None
    figures: dict[Literal["units_per_base"], Figure]


class Window(TypedDict):
    """The accounts or exchange rates that changed in a window, with their states at its end."""

    layer: str
    window: Instant
    items: list[AccountInWindow | ExchangeRate]
    next: Token | None


# ---------------------------------------------------------------- reports


class ReportRun(From):
    """A report run."""

    run: Run
    to: Instant
    planned_at: Instant
    buckets: Count
    """The number of quarter-hours that it covers."""
    lines: Count
    default_rate_events: NotRequired[Count]
    """How many of its events the default commission rate charged; missing if an earlier version sealed the run."""
    counters: Proof
    """Whether the live counters agree with the sealed lines."""
    manifest_sha256: Sha256


class File(TypedDict):
    """A file in the S3 bucket of the reports."""

    key: str
    sha256: Sha256
    size: Count
    """The size in bytes."""


class LinkedFile(File):
    """A file with a link to it."""

    url: str
    """A link that needs no authorization while it is valid."""


class PinnedExchangeRate(TypedDict):
    """The exchange rate that converted a quarter-hour's sums."""

    currency: Currency
    units_per_base: Decimal | None
    """Null if none was in force."""
    source: NotRequired[Text]
    as_of: NotRequired[Instant]


class SealedQuarterHour(TypedDict):
    """A quarter-hour that a report run has sealed."""

    bucket: QuarterHourName
    shards: Count
    lines: Count
    file: NotRequired[File | None]
    """The file of its lines; null without lines, missing in a run in parts."""
    files: NotRequired[list[File]]
    """The files of its parts that have lines; only in a run in parts."""
    rates: NotRequired[list[PinnedExchangeRate]]
    """Only if the deployment has a base currency."""


class SealedTotals(TypedDict):
    """Totals of sealed lines."""

    events: Count
    gross: Decimal
    refunds: Decimal
    commission: Decimal
    payments: NotRequired[Decimal]
    """Runs sealed before there were payments lack them."""


class SealedAccount(SealedTotals):
    """An account's totals in a report run."""

    agency: Name
    currency: Currency
    periods: NotRequired[dict[str, SealedTotals]]
    """The totals by period, such as `2026-10`; runs sealed before periods lack them."""


class PreviousManifest(TypedDict):
    """The previous run, and the hash of its manifest."""

    run: Run
    sha256: Sha256


class Manifest(From):
    """The contents of a report run, with the hash of every file."""

    schema: Count
    run: Run
    to: Instant
    planned_at: Instant
    code_version: str
    shards: Count
    parts: NotRequired[Count]
    """The number of parts of each quarter-hour; only in a run in parts."""
    previous: PreviousManifest | None
    base_currency: NotRequired[Currency]
    buckets: list[SealedQuarterHour]
    lines: Count
    accounts: list[SealedAccount]
    files: list[File]


class Report(ReportRun):
    """A report run with its manifest, and links to its files."""

    proofs: dict[str, Proof]
    """The proof of each quarter-hour."""
    links_valid_seconds: Count
    files: list[LinkedFile]
    manifest: Manifest | None
    """Null if it has more than 2 MiB; `files` still has a link to it."""


# ---------------------------------------------------------------- statements

StatementStatus = Literal["not_issued", "issued", "accepted", "disputed", "resolved", "cancelled"]
DocumentKind = Literal["statement", "credit_note"]
DraftState = Literal["new", "open", "held", "proposed", "releasing", "released", "cancel_proposed", "cancelling"]
PeriodState = Literal["open", "closed", "running", "sealed"]


class DocumentSums(TypedDict):
    """Sums over the documents of a release, or over the statements of a period of 0.2.0, in one currency."""

    opening: Decimal
    brought_forward: Decimal
    sales: Decimal
    voids: Decimal
    refunds: Decimal
    adjustments: Decimal
    net: Decimal
    commission: Decimal
    tax: Decimal
    proceeds: NotRequired[Decimal]
    """Statements of 0.2.0 have none."""
    payments: Decimal
    closing: Decimal


class DraftFigures(TypedDict):
    """The exact figures of a draft, or sums over the drafts of a period in one currency."""

    brought_forward: Decimal
    net: Decimal
    commission_exact: Decimal
    payments: Decimal


class StartedRun(TypedDict):
    """What was due and is running now."""

    period: Month | None
    """The period whose drafts are being made; null if none is due."""
    release: Count | None
    """The number of the release under way; null if none is due, or a period comes first."""


class PeriodOfStatements(From):
    """A period: a calendar month in the marketplace's time zone."""

    period: Month
    state: PeriodState
    """`open` until its cut-off, then `closed`, `running` and `sealed`."""
    to: Instant
    cut_off: Instant
    time_zone: str
    recorded_until: NotRequired[Instant]
    """Its drafts hold what was recorded before this instant; only of a sealed period, as all that follows."""
    planned_at: NotRequired[Instant]
    """People do not see this and what follows."""
    code_version: NotRequired[str]
    manifest_sha256: NotRequired[Sha256]
    drafts: NotRequired[Count]
    statements: NotRequired[Count]
    """Of a period of 0.2.0, instead of `drafts`, as `credit_notes`."""
    credit_notes: NotRequired[Count]
    lines: NotRequired[Count]
    currencies: NotRequired[dict[str, DraftFigures | DocumentSums]]


class NamedStatement(TypedDict):
    """The name of a statement: its period, agency and currency."""

    period: Month
    agency: Name
    currency: Currency


class StatementFigures(NamedStatement):
    """The figures of a statement."""

    number: str
    """Without a gap in its series; credit notes are numbered separately."""
    document: DocumentKind
    issued: bool
    """False if it is of 0.2.0 and the agency had no tax profile at the cut-off."""
    issued_on: Day | None
    """Null for a statement of 0.2.0, as `due_on`."""
    due_on: Day | None
    """Null unless `closing` is owed by the agency."""
    dispute_until: Day | None
    """The last day on which the agency may dispute it; then silence accepts it. Null without `AcceptanceDays`."""
    opening: Decimal
    brought_forward: Decimal
    """The part of `opening` that adjustments of kind opening bring forward."""
    sales: Decimal
    voids: Decimal
    refunds: Decimal
    adjustments: Decimal
    net: Decimal
    commission_exact: Decimal
    commission: Decimal
    """The sum of the bases of tax, each rounded once to the currency's minor unit."""
    tax: Decimal
    proceeds: Decimal
    """With `collects` `marketplace`, the net sales that it owes the agency; else 0."""
    payments: Decimal
    closing: Decimal
    """What the agency owes; negative if it is owed."""
    lines: Count
    prior_period_lines: Count
    recorded_until: Instant


class ListedDocument(TypedDict):
    """A document of an account and a period: a statement, or what cancels it."""

    number: str
    document: DocumentKind
    issued_on: Day | None
    """Null for a statement of 0.2.0, as `due_on`."""
    due_on: Day | None
    cancels: str | None
    """The number of the statement that it cancels."""
    amount: Decimal
    """What it adds to the balance: what it brings forward, its commission and tax, less its proceeds."""


class StatementWithStatus(StatementFigures):
    """A statement with its current status."""

    status: StatementStatus
    changes: Count
    """The number of changes of the status."""


class ListedStatement(StatementWithStatus):
    """A statement with its current status, and the documents of its account and period."""

    documents: list[ListedDocument]


class EventName(TypedDict):
    """The name of an event: its source and id."""

    source: Name
    id: Name


class PartyDecision(TypedDict):
    """Who decided, when and why."""

    by: NotRequired[str]
    """People do not see the marketplace's operators."""
    party: Literal["agency", "marketplace"]
    at: Instant
    reason: Text


class StatementChange(PartyDecision):
    """A change of a statement's status."""

    status: StatementStatus
    line: NotRequired[EventName]
    """The disputed line, if the change opened or resolved a dispute."""
    correction: NotRequired[EventName]
    """The event that resolved the line's dispute."""


class StatementActions(TypedDict):
    """What the caller may do with a statement now."""

    may_become: list[StatementStatus]
    """The statuses that the caller may set."""
    may_dispute_lines: bool
    may_resolve_lines: bool
    """Whether a line is disputed, and the caller may resolve that."""


class StatementHistory(NamedStatement, StatementActions):
    """The status of a statement, with all its changes."""

    status: StatementStatus
    changes: Count
    """The number of changes: send it as `seen` with the next one."""
    history: list[StatementChange]


class Cancellation(TypedDict):
    """The document that cancels a statement."""

    number: str
    issued_on: Day


class StatementDocument(TypedDict):
    """A document of an account and a period: a statement, or what cancels it, with links to its files."""

    number: str
    document: DocumentKind
    release: Count | None
    """The number of its release; null for a statement of 0.2.0, as `issued_on`."""
    issued_on: Day | None
    cancels: str | None
    """The number of the statement that it cancels."""
    closing: Decimal
    files: list[LinkedFile]


PaymentStatus = Literal["open", "partly_paid", "paid", "overdue", "cancelled"]


class PaymentState(TypedDict):
    """Whether a statement is paid. Each figure has the sign of `amount`, or is 0."""

    issued_on: Day
    due_on: Day | None
    """Null if nothing was to be paid when it was issued."""
    status: PaymentStatus
    amount: Decimal
    """What it adds to the balance: what it brings forward, commission and tax, less proceeds."""
    cancelled: Decimal
    """Offset by the document that cancels it, or that it cancels."""
    paid: Decimal
    credited: Decimal
    """Offset between statements and credits."""
    open: Decimal
    age: Literal["not_due", "days_1_30", "days_31_60", "days_61_90", "days_over_90"] | None
    """Null if the agency owes nothing for it."""


class StatementWithFiles(StatementWithStatus, StatementActions):
    """A released statement with links to its files, and its status."""

    preview: Literal[False]
    history: list[StatementChange]
    payment: PaymentState | None
    """Whether it is paid; null for a moment after it was made."""
    links_valid_seconds: Count
    files: list[LinkedFile]
    cancelled: Cancellation | None
    """Null unless it is cancelled. Once a new statement replaces it, that one is shown."""
    documents: list[StatementDocument]
    """All that were released of the account and the period, in their order."""


_FromDay = TypedDict("_FromDay", {"from": Day})


class TaxPoints(_FromDay):
    """The first and the last of some tax points."""

    to: Day
    kind: NotRequired[Kind]
    """Of adjustments that the tax profile names."""
    category: NotRequired[Text]
    """Of lines whose category the tax profile names."""


class TaxRow(TypedDict):
    """The tax of all tax points with one scheme and percentage."""

    scheme: Literal["standard", "reverse_charge", "exempt", "outside_scope"] | None
    """Null without a tax profile."""
    percent: Decimal
    note: str
    base: Decimal
    """The commission, rounded once to the currency's minor unit."""
    tax: Decimal
    """The percentage of the base, rounded once."""
    tax_points: list[TaxPoints]


class StatementPreview(NamedStatement):
    """What the statement of a period without one would be now. It is not stored."""

    preview: Literal[True]
    state: PeriodState
    as_of: Instant
    opening: Decimal
    gross: Decimal
    refunds: Decimal
    """All negative amounts: refunds, voids and adjustments."""
    net: Decimal
    commission_exact: Decimal
    commission: Decimal
    tax: Decimal
    payable: Decimal
    proceeds: Decimal
    """With `collects` `marketplace`, the net sales that it owes the agency, rounded; else 0."""
    payments: Decimal
    closing: Decimal
    lines: Count
    taxes: list[TaxRow]
    """A single row of a period without a draft: all is taxed as of its last day, or of today if that is earlier."""


class DraftCheck(TypedDict):
    """A check that a draft does not pass."""

    check: Literal[
        "held", "order", "owner", "agency", "tax", "refused", "default_rate", "change", "disputes", "held_events"
    ]
    level: Literal["failed", "warning"]
    """A failed check keeps the draft from being released; a warning does not."""
    message: str
    """What is wrong, and what to do."""


class DraftDecision(TypedDict):
    """A decision about a draft: the state that it gave, who made it, when and why."""

    state: DraftState
    by: str
    """`release` if a release itself made it."""
    at: Instant
    reason: str


class ListedDraft(NamedStatement, DraftFigures):
    """A draft: what a statement is made of once it is released."""

    state: DraftState
    lines: Count
    prior_period_lines: Count
    recorded_until: Instant
    number: str | None
    """Of its statement; null without one."""
    seen: Count
    """The number of decisions: send it as `seen` with the next one."""
    last_decision: DraftDecision | None
    """The decision that gave its state; null before the first one."""
    checks: list[DraftCheck]


class PreviewedDraft(ListedDraft):
    """A draft in a list, with figures of the statement that it would be, if they were requested."""

    commission: NotRequired[Decimal | None]
    """Rounded, as on the statement; null if it was released at this moment, as `tax` and `closing`."""
    tax: NotRequired[Decimal | None]
    closing: NotRequired[Decimal | None]
    """The closing balance after the last document and the earlier drafts of the account."""


class DraftDecisions(TypedDict):
    """The state of a draft, with all decisions about it."""

    state: DraftState
    decisions: list[DraftDecision]


class DraftWithStatement(ListedDraft):
    """A draft, and the statement that it would be if it were released now."""

    decisions: list[DraftDecision]
    statement: dict[str, Any] | None
    """The content of `statement.json`, with an empty `number`; null if the draft has a statement."""


class ReleasedDocuments(TypedDict):
    """A release: documents that became final at once."""

    release: Count
    planned_at: Instant
    code_version: str
    manifest_sha256: Sha256
    statements: Count
    credit_notes: Count
    lines: Count
    currencies: dict[str, DocumentSums]


class Dispute(NamedStatement):
    """A disputed line of a statement."""

    source: Name
    id: Name
    status: Literal["open", "resolved"]
    opened: PartyDecision
    resolved: NotRequired[PartyDecision]
    correction: NotRequired[EventName]
    """The correction that resolved it, if one did."""
    thread: str
    """The path of the messages about the line."""


class Aging(TypedDict):
    """What statements have open, by the days after their due dates; the sum is `open`."""

    not_due: Decimal
    days_1_30: Decimal
    days_31_60: Decimal
    days_61_90: Decimal
    days_over_90: Decimal


class OpenSums(TypedDict):
    """Sums of what is open."""

    open: Decimal
    """What agencies owe for statements."""
    credits: Decimal
    """What the marketplace owes for credit notes, and for what it collected: 0 or less."""
    unallocated: Decimal
    """Payments that clear nothing; below 0 if the marketplace has paid more than it owes."""
    balance: Decimal
    """`open` + `credits` - `unallocated`."""
    aging: Aging


class OpenStatement(PaymentState):
    """A statement or a credit note of which something is open."""

    period: Month
    number: str
    document: Literal["statement", "credit_note"]


class UnknownPayment(TypedDict):
    """A payment that names no statement of its account. It clears the oldest first."""

    source: Name
    id: Name
    statement: Text
    amount: Decimal


class LastPaid(TypedDict):
    """The last period with payments, by their business time, and their sum."""

    period: Month
    payments: Decimal


class AccountReceivables(OpenSums):
    """What is open of an account."""

    agency: Name
    currency: Currency
    last_paid: LastPaid | None
    """Null if nothing was paid."""
    statements: list[OpenStatement]
    """The oldest first; those that are paid are left out."""
    unknown: list[UnknownPayment]


class CurrencyReceivables(OpenSums):
    """What is open in a currency."""

    currency: Currency
    paid: Decimal
    """The payments of the month of `on`, less payouts; also those of accounts of which nothing is open."""


class Receivables(TypedDict):
    """A page of the accounts with something open, and their totals."""

    on: Day
    """The business date of age and status."""
    items: list[AccountReceivables]
    next: Token | None
    """The parameter `next` of the following page; null on the last page."""
    totals: list[CurrencyReceivables]
    """The sums of the accounts on this page: add those of all pages."""


class ProposedPayment(TypedDict):
    """A payment of a line as a CloudEvent, ready for `POST /events`."""

    specversion: Literal["1.0"]
    source: Name
    id: Name
    type: Literal["payment.recorded"]
    subject: Name
    """The agency."""
    time: Instant
    """The start of the day on which the bank booked it."""
    data: dict[str, Any]


class MatchedLine(TypedDict):
    """A line of a bank's file, and what it would pay."""

    line: Count
    """Its place in the file, from 1."""
    date: Day
    """The day on which the bank booked it."""
    amount: Decimal
    """Negative for money that left the account."""
    currency: Currency
    account: str
    """The account of the marketplace. Empty, like the texts below, if the file does not say it."""
    name: str
    """The other party."""
    iban: str
    """The other party's account."""
    reference: str
    bank_reference: str
    reversal: bool
    """Whether it takes back an earlier line."""
    recorded: Decimal
    """What is recorded of it already."""
    match: Literal[
        "number",
        "numbers",
        "part",
        "payer",
        "all",
        "amount",
        "ambiguous",
        "excess",
        "contradiction",
        "reversal",
        "recorded",
        "none",
    ]
    certain: bool
    """Whether nobody needs to look at it before it is recorded."""
    reason: str
    candidates: list[str]
    """The numbers of the statements among which a person chooses."""
    events: list[ProposedPayment]
    """What would record it. The events of a line have the same ids in every file that has it."""


class MatchedFile(TypedDict):
    """The lines of a bank's file, matched to open statements."""

    format: Literal["camt.053", "mt940", "csv"]
    problems: list[str]
    """What is wrong about the whole file, such as lines that do not add up to its balances."""
    lines: list[MatchedLine]


class LastStatement(TypedDict):
    """The document from which a balance starts: a statement, or one that cancels a statement."""

    period: Month
    number: str
    closing: Decimal
    recorded_until: Instant


class Unbilled(TypedDict):
    """What is on no statement yet, rounded and taxed as its statement will be."""

    commission: Decimal
    tax: Decimal
    proceeds: Decimal
    """The net sales that the marketplace has collected for the agency; 0 if the agency collects them."""
    payments: Decimal


class AccountBalance(TypedDict):
    """What an agency owes in a currency; negative if it is owed."""

    agency: Name
    currency: Currency
    as_of: Instant
    balance: Decimal
    """The closing balance of the last document, plus unbilled commission and tax, less proceeds and payments."""
    collects: Literal["agency", "marketplace"]
    """Who holds the customers' money, by the agency's registration of then."""
    statement: LastStatement | None
    """The last document of the account; null before the first one."""
    unbilled: Unbilled


# ---------------------------------------------------------------- events


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


class BadRow(TypedDict):
    """A row without an event, or a line without an agency."""

    line: Annotated[int, constrained(minimum=1)]
    """The line of the file on which it starts."""
    reason: str


class ConvertedPart(TypedDict):
    """What a part of a CSV file gives."""

    items: list[dict[str, Any]]
    """Its events, as `POST /events` takes them."""
    bad: list[BadRow]
    rows: Count
    """The number of its rows."""
    read: Count
    """How many bytes of the part were read: the next part begins behind them."""
    next: Token | None
    """What to send with the next part; null at the end of the file."""


class AgencyOfFile(TypedDict):
    """An agency in a file."""

    line: Annotated[int, constrained(minimum=1)]
    agency: Name
    content: dict[str, Any]
    """The content of its registration, as `PUT /agencies/{agency}` takes it."""


class MapQuestion(TypedDict):
    """An entry of a map that the file does not decide."""

    line: Count
    """The number of its line in the map."""
    name: str
    question: str
    answers: list[str]
    """The values in TOML from which to choose, the likeliest first."""


class ProposedMap(TypedDict):
    """A map for a file."""

    map: str
    """TOML. An entry that is a question has the value `"?"`, which no request accepts."""
    questions: list[MapQuestion]
    shipped: list[str]
    """The maps that come with Quarterhour whose columns the file has: use one of them instead."""
    certain: list[str]
    """What the file decides."""
    checks: list[str]
    """What to check."""
    unused: list[str]
    """The columns that the map leaves out."""


class AgenciesOfFile(TypedDict):
    """The agencies of a file."""

    items: list[AgencyOfFile]
    bad: list[BadRow]


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


class Decision(TypedDict):
    """A decision of finance or of an operator about a held event."""

    by: NotRequired[Text]
    """Who decided; people of an agency do not see it."""
    at: Instant
    reason: Text


class Release(Decision):
    """The decision to post a held event without what it waited for."""

    waived: HeldReason
    """What it waited for."""


class HeldEvent(TypedDict):
    """An event that is held, or that was discarded."""

    source: Name
    id: Name
    status: Literal["held", "discarded"]
    reason: HeldReason
    held_at: Instant
    problems: list[FieldProblem]
    """Why it cannot be posted yet."""
    event: dict[str, str | RecordedRerating]
    """The event's type, agency, currency and figures, and its optional facts."""
    approved: NotRequired[Decision]
    """The second person, who approved what another one has recorded."""
    released: NotRequired[Release]
    """Who lets it be posted without what it waited for then."""
    discarded: NotRequired[Decision]
    """Who discarded it."""


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


class CurrencyTotals(SalesTotals):
    """Totals of sales in one currency."""

    currency: Currency


class LocationSales(TypedDict):
    """The sales of a day at a location and the locations below it."""

    day: Day
    location: Location
    sales: list[CurrencyTotals]


class SoldTotals(CurrencyTotals):
    """Totals of events in one currency, with amounts of the events `sale.recorded` among them, or null."""

    lowest: Decimal | None
    highest: Decimal | None
    latest: Decimal | None
    """That of the sale with the last position in the ledger."""
    latest_at: Instant | None
    """When that sale was recorded."""


class Sold(TypedDict):
    """What was sold on a day: of a product, of a category, or in total."""

    day: Day
    product: NotRequired[str | None]
    """With `by=product`; null for events that name none."""
    category: NotRequired[str | None]
    """With `by=category`; null for events that name none."""
    others: NotRequired[bool | None]
    """True if it is what a run sold beyond the products that it names."""
    sales: list[SoldTotals]


# ---------------------------------------------------------------- orders


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


# ---------------------------------------------------------------- documents


class DocumentVersion(TypedDict):
    """A version of a document, without its content."""

    document: str
    version: Count
    sha256: Sha256
    """The hash of the content as canonical JSON."""
    written_at: Instant
    written_by: str
    valid_from: NotRequired[Instant]
    """For a rate card or an agency: the start of its validity."""


class RateCardInForce(DocumentVersion):
    """The version of a rate card that is in force."""

    rules: list[Rule]


class RateCardsInForce(TypedDict):
    """The rate cards in force for an agency that the caller may read, in the order of precedence."""

    items: list[RateCardInForce]


class DocumentContent(DocumentVersion):
    """A version of a document."""

    content: Any


class DocumentMetadata(TypedDict):
    """The data of a document as a whole."""

    document: str
    kind: Literal["document", "rate-card", "agency", "owner", "reconciliation"]
    created_at: Instant
    created_by: str


class AgencyVersion(TypedDict):
    """A version of an agency's registration, without its content."""

    agency: Name
    version: Count
    sha256: Sha256
    """The hash of the content as canonical JSON."""
    written_at: Instant
    written_by: str
    valid_from: Instant
    """The start of its validity."""


class AgencyContent(AgencyVersion):
    """A version of an agency's registration."""

    content: dict[str, Any]
    """As it was registered."""


class ListedAgency(TypedDict):
    """A registered agency by the latest version of its registration; what was not registered is left out."""

    agency: Name
    version: Count
    valid_from: Instant
    legal_name: NotRequired[Text]
    country: NotRequired[Country]
    currency: NotRequired[Currency]
    group: NotRequired[Name]
    status: Literal["active", "closed"]


class Readers(TypedDict):
    """The agencies and people who may read a document; machines and staff always may."""

    agencies: list[Name]
    people: list[Text]
    """The subjects (`sub`) of their tokens."""


# ---------------------------------------------------------------- callers


class Caller(TypedDict):
    """Who sends the request, and what they may do."""

    name: str
    """The ARN of a machine's IAM principal; the subject (`sub`) of a person's token."""
    machine: bool
    """Whether it is a machine, which may use every route that its IAM policy allows."""
    roles: list[Literal["agency", "auditor", "finance", "support"]]
    """A person's roles; none for a machine."""
    agencies: list[Name]
    """The agencies whose data a person with the role `agency` may see; none for staff and machines, who see all."""


# ---------------------------------------------------------------- search


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


# ---------------------------------------------------------------- messages


class Redacted(TypedDict):
    """When and why the text of a message was removed."""

    at: Instant
    reason: Text


class Message(TypedDict):
    """A message about the subject of a thread."""

    user: Name
    role: NotRequired[Literal["agency", "finance", "support"]]
    """The role in which a person wrote it."""
    at: Instant
    id: Name
    text: str
    """Empty, if it was removed."""
    redacted: NotRequired[Redacted]


class Messages(Page[Message]):
    """A page of messages, with tokens in both directions."""

    previous: Token | None
    """The parameter `next` of the previous page; null on the first page."""


# ---------------------------------------------------------------- subscriptions

NotificationKind = Literal[
    "report.sealed",
    "drafts.sealed",
    "release.sealed",
    "statement.issued",
    "statement.answered",
    "event.held",
    "event.posted",
    "event.discarded",
    "records.parked",
]
DeliveryOutcome = Literal[
    "delivered",
    "bad_status",
    "redirected",
    "timed_out",
    "disconnected",
    "bad_answer",
    "bad_certificate",
    "tls_failed",
    "unknown_host",
    "refused_address",
    "no_secret",
    "bus_failed",
]


class Subscription(TypedDict):
    """A subscription, without its secret."""

    name: str
    address: str
    """Empty for the subscription `bus`."""
    kinds: list[NotificationKind]
    agency: Name | None
    created_at: Instant
    version: Count
    """It rises with each change that people or programs make."""
    status: Literal["active", "disabled"]
    """`disabled`: a delivery has failed for three days."""
    attempts: Count
    """Failed attempts to deliver the next notification."""
    failing_since: Instant | None
    retry_at: Instant | None
    last_outcome: DeliveryOutcome | None
    secret_rotates_until: Instant | None
    """Until when the secret before is signed with, too."""


class NewSubscription(Subscription):
    """A subscription with its new secret."""

    secret: str
    """`whsec_` and Base64, as the Standard Webhooks specification has it. Keep it: it is not shown again."""


class DeletedSubscription(TypedDict):
    """The subscription that was deleted."""

    name: str
    deleted: Literal[True]


class Delivery(TypedDict):
    """The delivery of a notification, after its latest attempt."""

    id: str
    """The `webhook-id`."""
    type: NotificationKind
    timestamp: Instant
    """Of the notification."""
    agency: Name | None
    outcome: DeliveryOutcome
    http_status: int | None
    """Of the receiver's answer."""
    attempts: Count
    at: Instant
    """Of the latest attempt."""


# ---------------------------------------------------------------- the operation and its schedule


class QueueDepth(TypedDict):
    """The messages of a queue, which SQS counts approximately."""

    queue: str
    """The name of its alarm."""
    waiting: Count
    in_flight: Count
    """Received by somebody, and not deleted yet."""


class ReportDelay(TypedDict):
    """How long the oldest final quarter-hour has waited to be reported."""

    sealed_until: Instant | None
    """The end of the last sealed quarter-hour; null before the first event."""
    delay_seconds: float
    delay_firings: float
    """The delay in firings of the schedule."""
    late: bool
    """Whether that is two firings or more."""


class Operations(TypedDict):
    """What an operator looks at first."""

    queues: list[QueueDepth]
    reports: ReportDelay


class ScheduleSetting(TypedDict):
    """A state of the schedule."""

    expression: str
    paused: bool
    overridden: bool
    """True if a request has set the expression: no deployment changes it then."""


class Schedule(TypedDict):
    """The schedule of the reports."""

    expression: str
    """The actual expression in the scheduler."""
    state: Literal["enabled", "paused"]
    firings: list[Instant]
    """The next firings."""
    desired: ScheduleSetting
    version: Count
    """The number of changes: send it as `seen` with the next one."""
    deployed: str


_FromSetting = TypedDict("_FromSetting", {"from": ScheduleSetting})


class ScheduleChange(_FromSetting):
    """A change of the schedule."""

    version: Count
    at: Instant
    by: str
    to: ScheduleSetting
    reason: Text | None


class ScheduleWithChanges(Schedule, Page[ScheduleChange]):
    """The schedule, and a page of its changes, newest first."""
