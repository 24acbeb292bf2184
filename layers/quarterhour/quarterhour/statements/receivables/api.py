"""The responses about receivables and the files of banks, as types."""

from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from quarterhour.file_formats.bank.line import FORMATS
from quarterhour.model.api import BadRow, Count, Currency, Day, Decimal, Instant, Month, Name, Text, named, one_of
from quarterhour.statements.api import DocumentKind
from quarterhour.statements.receivables.matching import LineOutcome, Match
from quarterhour.statements.receivables.plan import Age, PaymentStatus
from quarterhour.web.api import Page


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
    age: Age | None
    """Null if the agency owes nothing for it."""


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
    document: DocumentKind
    proceeds: Decimal
    """The part of `amount` that the marketplace has collected and owes."""


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


class Receivables(Page[AccountReceivables]):
    """A page of the accounts with something open, and their totals."""

    on: Day
    """The business date of age and status."""
    totals: list[CurrencyReceivables]
    """The sums of the accounts on this page: add those of all pages."""


class UnassignedPayment(TypedDict):
    """A payment of a line as a CloudEvent without `subject`, the agency."""

    specversion: Literal["1.0"]
    source: Name
    id: Name
    type: Literal["payment.recorded"]
    time: Instant
    """The start of the day on which the bank booked it."""
    data: dict[str, Any]


class ProposedPayment(UnassignedPayment):
    """A payment of a line as a CloudEvent, ready for `POST /events`."""

    subject: Name
    """The agency."""


class BankFileLine(TypedDict):
    """A line of a bank's file."""

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
    statement: Count | None
    """The place of its statement in the file, from 1. Null if the file is CSV."""


class Proposal(TypedDict):
    """What a line of a bank's file matches."""

    match: Match
    outcome: LineOutcome
    certain: bool
    """Whether nobody needs to look at it before it is recorded."""
    reason: str
    candidates: list[str]
    """The numbers of the statements among which a person chooses."""


class MatchedLine(BankFileLine, Proposal):
    """A line of a bank's file, and what it would pay."""

    line: Count
    """Its place in the file, from 1."""
    recorded: Decimal
    """What is recorded of it already."""
    events: list[ProposedPayment]
    """What would record it. The events of a line have the same ids in every file that has it."""
    rest: UnassignedPayment | None
    """For a person who knows the agency: what would record all of it that is not recorded. Null if it is certain,
    recorded or excluded."""


class MatchedStatement(TypedDict):
    """A statement of a bank's file. Its opening balance and its lines give its closing balance."""

    statement: Count
    """Its place in the file, from 1."""
    account: str
    number: str
    """The bank's own."""
    currency: Currency
    since: Day | None
    """The day of the opening balance."""
    until: Day | None
    opening: Decimal
    amount: Decimal
    """The sum of its booked lines."""
    closing: Decimal
    lines: Count
    """How many are booked."""
    recorded: Count
    """How many of them are recorded already: an earlier file had them, too."""
    repeats: Count | None
    """The statement before it that is the same; its lines are excluded."""


class LineSum(TypedDict):
    """Lines of a bank's file in one currency with one outcome."""

    outcome: LineOutcome
    lines: Count
    amount: Decimal


class CurrencyLines(TypedDict):
    """The lines of a bank's file in one currency; those of its outcomes add up to them."""

    currency: Currency
    lines: Count
    amount: Decimal
    outcomes: list[LineSum]


class BadBankRow(BadRow):
    """A row of CSV that is no line, to be corrected in the file, which is then read again as a whole."""

    text: str
    """Its beginning in the file."""


class MatchedFile(TypedDict):
    """The lines of a bank's file, matched to open statements."""

    format: Annotated[str, one_of(FORMATS)]
    problems: list[str]
    """What needs a look about the whole file, such as statements that are missing between others."""
    statements: list[MatchedStatement]
    """Empty for CSV."""
    sums: list[CurrencyLines]
    bad: list[BadBankRow]
    """The rows of CSV that cannot be read."""
    unread: Count
    """How many of them are in no sum, as their amount or currency cannot be read."""
    lines: list[MatchedLine]


BankFile = Annotated[
    str,
    named("BankFile", "A file of a bank, as the bank made it: CAMT.053, MT940 or CSV, of up to 4 MB and 5,000 lines."),
]
