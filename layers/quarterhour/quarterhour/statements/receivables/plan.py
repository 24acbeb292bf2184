"""Allocation of payments to statements, pure: what is open of each, its payment status, and aging.

An account's documents are statements (positive: the agency owes) and credits (negative: credit notes, and what a
marketplace that collects owes). They are cleared in this order:

1. A document that cancels another one offsets exactly that one.
2. Payments that name a statement clear that one, at most what is open of it.
3. All other payments, and the rest of those, clear the oldest first: money of the agency its statements, money of the
   marketplace the credits.
4. What is still open of credits reduces the oldest open statements.

Nothing is cleared twice: what is open of all documents, less what is not allocated, is the account's balance.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.identifiers import Identity
from quarterhour.model.periods import Period
from quarterhour.statements.listing import Document

if TYPE_CHECKING:
    from quarterhour.statements.receivables import api


class PaymentStatus(StrEnum):
    """Whether a document is paid."""

    OPEN = "open"
    PARTLY_PAID = "partly_paid"
    """A part of it is paid, or offset by a credit."""
    PAID = "paid"
    """Nothing of it is open."""
    OVERDUE = "overdue"
    """Something of it is open after its due date."""
    CANCELLED = "cancelled"
    """It is reversed whole, or reverses another document."""


class Age(StrEnum):
    """How long something has been due, in days after the due date."""

    NOT_DUE = "not_due"
    UP_TO_30 = "days_1_30"
    UP_TO_60 = "days_31_60"
    UP_TO_90 = "days_61_90"
    OVER_90 = "days_over_90"


_UP_TO: Final = ((0, Age.NOT_DUE), (30, Age.UP_TO_30), (60, Age.UP_TO_60), (90, Age.UP_TO_90))


class BilledDocument(NamedTuple):
    """A statement or a credit note.

    ``amount``: what it adds to the balance, which is what it brings forward, and its commission and tax, less its
    proceeds. ``cancels``: the number of the document that it reverses. ``closing``: the sum that it asks for.
    """

    period: Period
    number: str
    document: str
    amount: Decimal
    issued_on: date
    due_on: date | None = None
    cancels: str | None = None
    proceeds: Decimal = money.ZERO
    closing: Decimal | None = None

    @classmethod
    def of(cls, document: Document) -> Self:
        """Return what is allocated to a document of a release."""
        dates = document.issued_on, document.due_on
        cancels, proceeds = document.cancels or None, document.figures["proceeds"]
        name = document.period, document.number, document.kind
        due = money.subtract(document.closing, document.paid_since)
        return cls(*name, document.amount, *dates, cancels, proceeds, due)


class NamedPayment(NamedTuple):
    """A payment that names a statement by its number. ``recorded_on``: the UTC day of its recording."""

    identity: Identity
    statement: str
    amount: Decimal
    recorded_on: date = date.min


@dataclass(slots=True)
class Receivable:
    """What is cleared of a document; each figure has the sign of the document's amount, or is 0.

    ``cancelled``: by the document that cancels it, or that it cancels. ``credited``: between statements and credits.
    """

    document: BilledDocument
    cancelled: Decimal = money.ZERO
    paid: Decimal = money.ZERO
    credited: Decimal = money.ZERO

    @property
    def open(self) -> Decimal:
        """What is open of it: negative if the marketplace owes it."""
        cleared = money.add(self.cancelled, money.add(self.paid, self.credited))
        return money.add(self.document.amount, money.negated(cleared))

    def takes(self, amount: Decimal) -> Decimal:
        """Return the part of an amount that can clear what is open: of the same sign, and no more than that."""
        if self.open > 0:
            return max(money.ZERO, min(amount, self.open))
        return min(money.ZERO, max(amount, self.open))

    def status(self, on: date) -> PaymentStatus:
        """Return the payment status on a business date."""
        if self.open.is_zero():
            return PaymentStatus.CANCELLED if self.cancelled else PaymentStatus.PAID
        if self.age(on) not in {None, Age.NOT_DUE}:
            return PaymentStatus.OVERDUE
        return PaymentStatus.PARTLY_PAID if self.open != self.document.amount else PaymentStatus.OPEN

    def age(self, on: date) -> Age | None:
        """Return how long what is open has been due on a business date; ``None`` if the agency does not owe it."""
        if self.open <= 0:
            return None
        due_on = self.document.due_on
        days = (on - due_on).days if due_on else 0
        return next((age for most, age in _UP_TO if days <= most), Age.OVER_90)

    def payment(self, on: date) -> "api.PaymentState":
        """Return whether the document is paid, as the API shows it with the document."""
        one = self.document
        return {
            "issued_on": one.issued_on.isoformat(),
            "due_on": one.due_on.isoformat() if one.due_on else None,
            "status": self.status(on),
            "amount": money.plain(one.amount),
            "cancelled": money.plain(self.cancelled),
            "paid": money.plain(self.paid),
            "credited": money.plain(self.credited),
            "open": money.plain(self.open),
            "age": self.age(on),
        }

    def as_dict(self, on: date) -> "api.OpenStatement":
        """Return the document as lists of the API show it."""
        one = self.document
        proceeds = money.plain(one.proceeds)
        return {
            "period": str(one.period),
            "number": one.number,
            "document": one.document,
            "proceeds": proceeds,
            **self.payment(on),
        }


@dataclass(frozen=True, slots=True)
class Allocation:
    """The payments of an account, allocated to its documents, which are in their order.

    ``unallocated``: payments that clear nothing; negative if the marketplace has paid more than it owes.
    ``unknown``: payments that name no statement of the account; they clear the oldest first.
    """

    receivables: tuple[Receivable, ...]
    unallocated: Decimal
    unknown: tuple[NamedPayment, ...]

    @property
    def balance(self) -> Decimal:
        """What the agency owes after its last statement and all payments; negative if it is owed."""
        return money.add(money.total(one.open for one in self.receivables), money.negated(self.unallocated))

    @property
    def is_cleared(self) -> bool:
        """Whether nothing is open, and every payment is allocated."""
        return self.unallocated.is_zero() and all(one.open.is_zero() for one in self.receivables)

    def of(self, number: str) -> Receivable | None:
        """Return the document of a number; ``None`` if the account has none."""
        return next((one for one in self.receivables if one.document.number == number), None)

    def figures(self, on: date) -> "OpenFigures":
        """Return the sums of what is open on a business date."""
        ages = dict.fromkeys(Age, money.ZERO)
        for one in self.receivables:
            if age := one.age(on):
                ages[age] = money.add(ages[age], one.open)
        credits_ = money.total(one.open for one in self.receivables if one.open < 0)
        return OpenFigures(money.total(ages.values()), credits_, self.unallocated, self.balance, ages)


class OpenFigures(NamedTuple):
    """Sums of what is open: of statements, of credits, payments that clear nothing, and the balance of all."""

    open: Decimal
    credits: Decimal
    unallocated: Decimal
    balance: Decimal
    ages: Mapping[Age, Decimal]

    def plus(self, other: "OpenFigures") -> "OpenFigures":
        """Return the sums of both."""
        ages = {age: money.add(amount, other.ages[age]) for age, amount in self.ages.items()}
        return OpenFigures(
            money.add(self.open, other.open),
            money.add(self.credits, other.credits),
            money.add(self.unallocated, other.unallocated),
            money.add(self.balance, other.balance),
            ages,
        )

    def as_dict(self) -> "api.OpenSums":
        """Return the sums as the API shows them."""
        aging = {age: money.plain(amount) for age, amount in self.ages.items()}
        return {
            "open": money.plain(self.open),
            "credits": money.plain(self.credits),
            "unallocated": money.plain(self.unallocated),
            "balance": money.plain(self.balance),
            "aging": {
                "not_due": aging[Age.NOT_DUE],
                "days_1_30": aging[Age.UP_TO_30],
                "days_31_60": aging[Age.UP_TO_60],
                "days_61_90": aging[Age.UP_TO_90],
                "days_over_90": aging[Age.OVER_90],
            },
        }


def allocate(documents: Iterable[BilledDocument], payments: Decimal, named: Sequence[NamedPayment] = ()) -> Allocation:
    """Allocate the payments of an account to its documents, the oldest first.

    ``payments``: the sum of all. ``named``: those of them that name a statement. Of one statement, they are added up:
    so a payment of the opposite sign that names it, too, takes one back.
    """
    found = [Receivable(one) for one in sorted(documents, key=lambda one: (one.period, one.number))]
    by_number = {one.document.number: one for one in found}
    for one in found:
        cancelled = by_number.get(one.document.cancels or "")
        if cancelled:
            _offset(one, cancelled, "cancelled")
    rest = payments
    for number, receivable in by_number.items():
        amount = receivable.takes(money.total(one.amount for one in named if one.statement == number))
        receivable.paid = amount
        rest = money.add(rest, money.negated(amount))
    for receivable in found:
        amount = receivable.takes(rest)
        receivable.paid = money.add(receivable.paid, amount)
        rest = money.add(rest, money.negated(amount))
    for credit in found:
        for receivable in found:
            if credit.open >= 0:
                break
            if receivable.open > 0:
                _offset(credit, receivable, "credited")
    return Allocation(tuple(found), rest, tuple(one for one in named if one.statement not in by_number))


def _offset(one: Receivable, other: Receivable, name: str) -> None:
    """Clear one document with another one of the opposite sign, as far as both are open; ``name``: the figure."""
    amount = one.takes(money.negated(other.open))
    setattr(one, name, money.add(getattr(one, name), amount))
    setattr(other, name, money.add(getattr(other, name), money.negated(amount)))
