"""The responses about periods, statements and balances, as types."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import (
    Count,
    Country,
    Currency,
    Day,
    Decimal,
    From,
    Instant,
    Kind,
    Month,
    Name,
    Sha256,
    Text,
    one_of,
)
from quarterhour.reports.api import LinkedFile

DocumentKind = Annotated[str, one_of(["statement", "credit_note"])]

PeriodState = Annotated[str, one_of(["open", "closed", "running", "sealed"])]


class DocumentSums(TypedDict):
    """Sums over the documents of a release in one currency."""

    opening: Decimal
    brought_forward: Decimal
    sales: Decimal
    voids: Decimal
    refunds: Decimal
    adjustments: Decimal
    net: Decimal
    commission: Decimal
    tax: Decimal
    proceeds: Decimal
    payments: Decimal
    closing: Decimal


class DraftFigures(TypedDict):
    """The exact figures of a draft, or sums over the drafts of a period in one currency."""

    brought_forward: Decimal
    net: Decimal
    commission_exact: Decimal
    payments: Decimal


class LeftOut(TypedDict):
    """The sums of the lines in one currency that are on no statement."""

    lines: Count
    net: Decimal
    commission: Decimal


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
    lines: NotRequired[Count]
    currencies: NotRequired[dict[str, DraftFigures]]
    before_first_period: NotRequired[dict[str, LeftOut]]
    """By currency: what was recorded for these drafts, and is on none, as it counts before the first period."""


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
    issued_on: Day
    due_on: Day | None
    """Null unless `closing` is owed by the agency."""
    dispute_until: Day | None
    """The last day on which the agency may dispute it; then silence accepts it. Null without `acceptance_days`."""
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
    """The net of the sales, and of their corrections, whose money the marketplace has collected."""
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
    issued_on: Day
    due_on: Day | None
    cancels: str | None
    """The number of the statement that it cancels."""
    amount: Decimal
    """What it adds to the balance: what it brings forward, its commission and tax, less its proceeds."""


_FromDay = TypedDict("_FromDay", {"from": Day})


class TaxPoints(_FromDay):
    """The first and the last of some tax points."""

    to: Day
    kind: NotRequired[Kind]
    """Of adjustments that the tax profile names."""
    category: NotRequired[Text]
    """Of lines whose category the tax profile names."""
    charge: NotRequired[Text]
    """That the tax profile names."""


class TaxedCharge(TypedDict):
    """What is charged by one name, scheme and percentage."""

    name: Text
    exact: Decimal
    amount: Decimal
    """Rounded once to the currency's minor unit, with what the statements before have left."""


class TaxRow(TypedDict):
    """The tax of all tax points with one scheme and percentage."""

    scheme: Annotated[str, one_of(["standard", "reverse_charge", "exempt", "outside_scope"])] | None
    """Null without a tax profile."""
    percent: Decimal
    country: Country | None
    """That of the agency at the tax points, as the VAT id and the legal ground."""
    vat_id: Text | None
    reason: Text | None
    """The legal ground, in words and as a code of the list VATEX; null unless its tax profile has one."""
    reason_code: Text | None
    note: str
    base: Decimal
    """The sum of the charges."""
    tax: Decimal
    """The percentage of the base, rounded once."""
    tax_points: list[TaxPoints]
    charges: list[TaxedCharge]


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
    """The net, rounded, of the sales and their corrections whose money the marketplace has collected."""
    payments: Decimal
    closing: Decimal
    lines: Count
    taxes: list[TaxRow]
    """A single row of a period without a draft: all is taxed as of its last day, or of today if that is earlier."""


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
    """The net of the sales and their corrections whose money the marketplace has collected."""
    payments: Decimal


class AccountBalance(TypedDict):
    """What an agency owes in a currency; negative if it is owed."""

    agency: Name
    currency: Currency
    as_of: Instant
    balance: Decimal
    """The closing balance of the last document, plus unbilled commission and tax, less proceeds and payments."""
    collects: Annotated[str, one_of(["agency", "marketplace"])]
    """Who collects the money of sales of then, by the agency's registration."""
    statement: LastStatement | None
    """The last document of the account; null before the first one."""
    unbilled: Unbilled


class Cancellation(TypedDict):
    """The document that cancels a statement."""

    number: str
    issued_on: Day


class StatementDocument(TypedDict):
    """A document of an account and a period: a statement, or what cancels it, with links to its files."""

    number: str
    document: DocumentKind
    release: Count
    """The number of its release."""
    issued_on: Day
    cancels: str | None
    """The number of the statement that it cancels."""
    closing: Decimal
    files: list[LinkedFile]


class StatementFiles(TypedDict):
    """Links to the files of a statement, and of each document of the account and the period."""

    links_valid_seconds: Count
    files: list[LinkedFile]
    cancelled: Cancellation | None
    """Null unless it is cancelled. Once a new statement replaces it, that one is shown."""
    documents: list[StatementDocument]
    """All that were released of the account and the period, in their order."""


class FoundStatement(NamedStatement):
    """The statement to which a document belongs."""

    number: str
    document: DocumentKind


class FoundStatements(TypedDict):
    """The statements that a text names."""

    statements: list[FoundStatement]
