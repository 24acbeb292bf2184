"""Payouts, pure: which statements have an open credit that the marketplace pays out now."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.ledger.events.event import PAYMENT
from quarterhour.model import money
from quarterhour.model.clock import iso_seconds
from quarterhour.model.periods import Period, start_of, time_zone
from quarterhour.registry.agencies.ibans import is_iban
from quarterhour.statements.listing import CREDIT_NOTE, STATEMENT_DOCUMENT
from quarterhour.statements.receivables.plan import BilledDocument, NamedPayment, Receivable, allocate
from quarterhour_tools.accounting.credit_transfer import (
    EURO,
    LARGEST,
    BankAccount,
    CreditTransfer,
    country_of,
    is_in_sepa,
    name_at_banks,
    needs_address,
)
from quarterhour_tools.accounting.document import StatementDocument, in_force
from quarterhour_tools.accounting.postal_address import postal_address
from quarterhour_tools.accounting.sealed_payments import SealedPayment

if TYPE_CHECKING:
    from quarterhour.model.identifiers import Account

SOURCE: Final = "quarterhour/payouts"
"""The source of the events that record payouts."""


class Payout(NamedTuple):
    """What an agency is paid for a statement.

    ``event_id``: the id of the event that records it. ``is_recorded``: whether the run has recorded it before.
    """

    document: StatementDocument
    amount: Decimal
    recipient: BankAccount
    event_id: str
    is_recorded: bool = False

    @property
    def remittance(self) -> str:
        """What the recipient reads on the bank's statement."""
        return f"{self.document.number} {self.document.period} {self.document.owner.legal_name or ''}"


class LeftOut(NamedTuple):
    """A credit that is not paid out. ``waits``: it is carried forward without anybody's doing."""

    document: StatementDocument
    amount: Decimal
    reason: str
    waits: bool = False


class PayoutRun(NamedTuple):
    """A run: its name, the least amount that an account is paid, and the last period whose statements are paid.

    An account with a smaller credit waits for the next run. ``last``: ``None`` pays the statements of all periods.
    """

    name: str
    minimum: Decimal = money.ZERO
    last: Period | None = None


class PayoutPlan(NamedTuple):
    """The payouts of a run, and the credits that it leaves out, by account and statement."""

    payouts: tuple[Payout, ...]
    left_out: tuple[LeftOut, ...]

    def plus(self, other: "PayoutPlan") -> "PayoutPlan":
        """Return both."""
        return PayoutPlan(self.payouts + other.payouts, self.left_out + other.left_out)


def _newest(documents: Iterable[StatementDocument]) -> "dict[Account, StatementDocument]":
    """Return the newest document of each account."""
    newest: dict[Account, StatementDocument] = {}
    for one in documents:
        if one.account not in newest or one.age >= newest[one.account].age:
            newest[one.account] = one
    return newest


def plan_payouts(
    documents: Iterable[StatementDocument],
    payments: Iterable[SealedPayment],
    run: PayoutRun,
) -> PayoutPlan:
    """Return the payouts of a run: what it has recorded, and what else is open of each credit.

    ``payments`` hold what the run has recorded, sealed or not. A recorded payout keeps its amount and its id, whatever
    has cleared its statement since. What else is open does not follow from the payments of the run itself. So the same
    run again has the same plan. A credit is paid if the marketplace collects, or the document has
    proceeds. The newest document of an account says where its agency is paid. Only euros are paid.
    """
    found = list(documents)
    by_account: dict[Account, list[StatementDocument]] = {}
    for document in found:
        by_account.setdefault(document.account, []).append(document)
    others: dict[Account, list[SealedPayment]] = {}
    recorded: dict[Account, dict[str, SealedPayment]] = {}
    for payment in payments:
        if payment.identity.source == SOURCE and payment.reason == reason_of(run.name):
            recorded.setdefault(payment.account, {})[payment.statement] = payment
        else:
            others.setdefault(payment.account, []).append(payment)
    plan = PayoutPlan((), ())
    for account, newest in sorted({**_newest(found), **_newest(in_force(found))}.items()):
        known = recorded.get(account, {})
        plan = plan.plus(_plan_account(newest, by_account[account], others.get(account, []), known, run))
    return plan


def _plan_account(
    newest: StatementDocument,
    documents: Sequence[StatementDocument],
    payments: Sequence[SealedPayment],
    recorded: Mapping[str, SealedPayment],
    run: PayoutRun,
) -> PayoutPlan:
    """Return the plan of an account; ``recorded``: what the run has recorded of it, by statement."""
    address = postal_address(newest.customer.address, newest.customer.country)
    recipient = BankAccount(newest.name, newest.customer.iban or "", address)
    due = [
        Payout(document, money.negated(known.amount), recipient, known.identity.id, is_recorded=True)
        for document in documents
        if (known := recorded.get(document.number))
    ]
    due += (
        Payout(document, amount, recipient, _event_id(document, payments))
        for document, amount in _open_credits(documents, payments)
        if document.is_paid_out
        and document.number not in recorded
        and (run.last is None or document.period <= run.last)
    )
    due.sort(key=lambda one: one.document.age)
    total = money.total(one.amount for one in due)
    payouts: list[Payout] = []
    left_out: list[LeftOut] = []
    for one in due:
        if reason := _obstacle(newest, one.amount):
            left_out.append(LeftOut(one.document, one.amount, reason))
        elif total < run.minimum and not one.is_recorded:
            reason = f"below the minimum of {money.plain(run.minimum)}"
            left_out.append(LeftOut(one.document, one.amount, reason, waits=True))
        else:
            payouts.append(one)
    return PayoutPlan(tuple(payouts), tuple(left_out))


def _event_id(document: StatementDocument, payments: Iterable[SealedPayment]) -> str:
    """Return the id of a payout's event: a statement is paid out once, and again if that was withdrawn."""
    before = sum(1 for one in payments if one.identity.source == SOURCE and one.statement == document.number)
    return f"payout-{document.number}" + (f"-{before + 1}" if before else "")


def _open_credits(
    documents: Sequence[StatementDocument], payments: Sequence[SealedPayment]
) -> Iterator[tuple[StatementDocument, Decimal]]:
    """Yield the documents of an account with an open credit, each with what the marketplace owes of it."""
    by_number = {one.number: one for one in documents}
    for one in _allocated(documents, payments):
        if one.open < 0:
            yield by_number[one.document.number], money.negated(one.open)


def _allocated(documents: Sequence[StatementDocument], payments: Sequence[SealedPayment]) -> tuple[Receivable, ...]:
    """Return what is open of the documents of an account."""
    return allocate(
        [
            BilledDocument(
                one.period,
                one.number,
                CREDIT_NOTE if one.is_credit_note else STATEMENT_DOCUMENT,
                one.amount,
                one.issued_on,
                cancels=one.cancels,
            )
            for one in documents
        ],
        money.total(one.amount for one in payments),
        [NamedPayment(one.identity, one.statement, one.amount) for one in payments if one.statement],
    ).receivables


def _obstacle(newest: StatementDocument, amount: Decimal) -> str | None:
    """Return why a credit cannot be paid, ``None`` if it can; ``newest``: the account's newest document."""
    currency = newest.account.currency
    if currency != EURO:
        return f"in {currency}: a SEPA credit transfer moves euros alone"
    if money.on_statement(amount, currency) != amount:
        return "the amount has more decimal places than euros have"
    if amount > LARGEST:
        return f"more than {money.plain(LARGEST)} EUR, the most that a SEPA credit transfer moves"
    return _obstacle_of_parties(newest)


def _obstacle_of_parties(newest: StatementDocument) -> str | None:
    owner, iban = newest.owner, newest.customer.iban
    if iban is None:
        return "the agency's registration has no IBAN"
    if not is_iban(iban):
        return "the agency's IBAN is wrong"
    if not is_in_sepa(iban):
        return f"the agency's IBAN is of {country_of(iban)}, which is outside the SEPA area"
    if not name_at_banks(newest.name):
        return "the agency's legal name has no character that banks take"
    if needs_address(owner.iban or iban, iban) and postal_address(owner.address, owner.country) is None:
        needed = "the payer's town, post code and country: no line of the owner's address has them"
        return f"a transfer outside the European Economic Area needs {needed}"
    return None


def reason_of(run: str) -> str:
    """Return the reason of a run's events, by which another run knows whose they are."""
    return f"payout {run}"


def event_of(payout: Payout, run: str, execution_date: date) -> dict[str, Any]:
    """Return the event that records a payout of a run: a payment below 0 of its statement, at the start of its day.

    The same payout of the same run is the same event, and that of another run conflicts with it.
    """
    document = payout.document
    return {
        "specversion": "1.0",
        "source": SOURCE,
        "id": payout.event_id,
        "type": PAYMENT,
        "subject": document.account.agency,
        "time": iso_seconds(start_of(execution_date, time_zone(document.time_zone))),
        "data": {
            "amount": money.plain(money.negated(payout.amount)),
            "currency": document.account.currency,
            "statement": document.number,
            "reason": reason_of(run),
            "extra": {"run": run},
        },
    }


def transfers_of(payouts: Sequence[Payout]) -> list[CreditTransfer]:
    """Return the transfers of payouts, in their order."""
    return [CreditTransfer(one.recipient, one.amount, one.document.number, one.remittance) for one in payouts]
