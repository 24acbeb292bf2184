"""Payouts, pure: which statements have an open credit that the marketplace pays out now."""

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.agencies.agency import BY_MARKETPLACE
from quarterhour.agencies.ibans import is_iban
from quarterhour.ledger.event import PAYMENT
from quarterhour.model import money
from quarterhour.model.clock import iso_seconds
from quarterhour.model.periods import Period, start_of, time_zone
from quarterhour.receivables.plan import BilledDocument, NamedPayment, Receivable, allocate
from quarterhour.statements.listing import CREDIT_NOTE, STATEMENT_DOCUMENT
from quarterhour_tools.accounting.credit_transfer import EURO, BankAccount, CreditTransfer, name_at_banks
from quarterhour_tools.accounting.document import StatementDocument, in_force
from quarterhour_tools.accounting.sealed_payments import SealedPayment

if TYPE_CHECKING:
    from quarterhour.model.identifiers import Account

SOURCE: Final = "quarterhour/payouts"
"""The source of the events that record payouts."""


class Payout(NamedTuple):
    """What an agency is paid for a statement; ``before``: the payouts of the statement by other runs."""

    document: StatementDocument
    amount: Decimal
    recipient: BankAccount
    before: int = 0

    @property
    def event_id(self) -> str:
        """The id of the event that records it: a statement is paid out once, and again if that was withdrawn."""
        return f"payout-{self.document.number}" + (f"-{self.before + 1}" if self.before else "")

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


def newest_documents(documents: Iterable[StatementDocument]) -> list[StatementDocument]:
    """Return the newest document in force of each account, sorted by account."""
    newest: dict[Account, StatementDocument] = {}
    for one in in_force(documents):
        if one.account not in newest or one.age >= newest[one.account].age:
            newest[one.account] = one
    return [document for _, document in sorted(newest.items())]


def plan_payouts(
    documents: Iterable[StatementDocument],
    payments: Iterable[SealedPayment],
    run: PayoutRun,
) -> PayoutPlan:
    """Return the payouts of a run: what is open of each credit, after all payments but those of the run itself.

    So the same run again has the same plan. The newest document of an account says who collects, and where its agency
    is paid. Only euros are paid.
    """
    by_account: dict[Account, list[StatementDocument]] = {}
    found = list(documents)
    for document in found:
        by_account.setdefault(document.account, []).append(document)
    paid: dict[Account, list[SealedPayment]] = {}
    for payment in payments:
        if not (payment.identity.source == SOURCE and payment.reason == reason_of(run.name)):
            paid.setdefault(payment.account, []).append(payment)
    plan = PayoutPlan((), ())
    for newest in newest_documents(found):
        if newest.collects == BY_MARKETPLACE:
            plan = plan.plus(_plan_account(newest, by_account[newest.account], paid.get(newest.account, []), run))
    return plan


def _plan_account(
    newest: StatementDocument,
    documents: Sequence[StatementDocument],
    payments: Sequence[SealedPayment],
    run: PayoutRun,
) -> PayoutPlan:
    by_number = {one.number: one for one in documents}
    credits_ = [
        (by_number[one.document.number], money.negated(one.open))
        for one in _allocated(documents, payments)
        if one.open < 0 and (run.last is None or one.document.period <= run.last)
    ]
    total = money.total(amount for _, amount in credits_)
    payouts: list[Payout] = []
    left_out: list[LeftOut] = []
    recipient = BankAccount(newest.name, newest.customer.iban or "")
    for document, amount in credits_:
        if reason := _obstacle(newest, amount):
            left_out.append(LeftOut(document, amount, reason))
        elif total < run.minimum:
            left_out.append(LeftOut(document, amount, f"below the minimum of {money.plain(run.minimum)}", waits=True))
        else:
            before = sum(1 for one in payments if one.identity.source == SOURCE and one.statement == document.number)
            payouts.append(Payout(document, amount, recipient, before))
    return PayoutPlan(tuple(payouts), tuple(left_out))


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
    currency, iban = newest.account.currency, newest.customer.iban
    if currency != EURO:
        return f"in {currency}: a SEPA credit transfer moves euros alone"
    if money.on_statement(amount, currency) != amount:
        return "the amount has more decimal places than euros have"
    if iban is None:
        return "the agency's registration has no IBAN"
    if not is_iban(iban):
        return "the agency's IBAN is wrong"
    return None if name_at_banks(newest.name) else "the agency's legal name has no character that banks take"


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
