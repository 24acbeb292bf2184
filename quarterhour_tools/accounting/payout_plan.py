"""Payouts, pure: which statements have an open credit that the marketplace pays out now."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.ledger.events.event import PAYMENT
from quarterhour.model import money
from quarterhour.model.clock import iso_seconds
from quarterhour.model.fields import shown
from quarterhour.model.periods import Period, start_of, time_zone
from quarterhour.registry.agencies.agency import BY_MARKETPLACE
from quarterhour.registry.agencies.ibans import is_iban
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
from quarterhour_tools.accounting.document import Party, StatementDocument, in_force
from quarterhour_tools.accounting.open_items import allocated
from quarterhour_tools.accounting.payees import Payee
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
    ``refunds``: the agencies that collect themselves, and whose credits are paid all the same.
    """

    name: str
    minimum: Decimal = money.ZERO
    last: Period | None = None
    refunds: frozenset[str] = frozenset()


class PayoutFacts(NamedTuple):
    """What is known beside sealed files. Without a stack nothing is: the newest document says who is paid.

    ``payees``: by agency, as registered now. ``went_by``: as registered when the run recorded its first payout.
    ``disputed``: the numbers of statements.
    """

    payees: Mapping[str, Payee] = MappingProxyType({})
    went_by: Mapping[str, Payee] = MappingProxyType({})
    disputed: frozenset[str] = frozenset()


NO_FACTS: Final = PayoutFacts()


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
    facts: PayoutFacts = NO_FACTS,
) -> PayoutPlan:
    """Return the payouts of a run: what it has recorded, and what else is open of each credit.

    ``payments`` hold what the run has recorded, sealed or not. A recorded payout keeps its amount and its id, whatever
    has cleared its statement since. What else is open does not follow from the payments of the run itself. So the same
    run again has the same plan. A credit is paid if the marketplace collects, or the document has proceeds. The
    registration says who collects, and where an agency is paid: that in force now, and for a recorded payout that by
    which the run went. Only euros are paid.
    """
    found = list(documents)
    by_account: dict[Account, list[StatementDocument]] = {}
    for document in found:
        by_account.setdefault(document.account, []).append(document)
    others: dict[Account, list[SealedPayment]] = {}
    recorded: dict[Account, dict[str, SealedPayment]] = {}
    for payment in payments:
        if is_of(payment, run.name):
            recorded.setdefault(payment.account, {})[payment.statement] = payment
        else:
            others.setdefault(payment.account, []).append(payment)
    plan = PayoutPlan((), ())
    for account, newest in sorted({**_newest(found), **_newest(in_force(found))}.items()):
        known = recorded.get(account, {})
        sums = _Account(newest, by_account[account], others.get(account, []), known)
        plan = plan.plus(_plan_account(sums, run, facts))
    return plan


def open_credits(
    documents: Iterable[StatementDocument], payments: Iterable[SealedPayment]
) -> list[tuple[StatementDocument, Decimal]]:
    """Return the documents with an open credit, each with what the marketplace owes of it."""
    by_account: dict[Account, tuple[list[StatementDocument], list[SealedPayment]]] = {}
    for document in documents:
        by_account.setdefault(document.account, ([], []))[0].append(document)
    for payment in payments:
        if payment.account in by_account:
            by_account[payment.account][1].append(payment)
    return [credit for both in by_account.values() for credit in _open_credits(*both)]


def is_of(payment: SealedPayment, run: str) -> bool:
    """Return whether a payment is a payout of a run."""
    return payment.identity.source == SOURCE and payment.reason == reason_of(run)


class _Account(NamedTuple):
    """An account; ``recorded``: what the run has recorded of it, by statement, and ``payments`` all others."""

    newest: StatementDocument
    documents: Sequence[StatementDocument]
    payments: Sequence[SealedPayment]
    recorded: Mapping[str, SealedPayment]


def _plan_account(account: _Account, run: PayoutRun, facts: PayoutFacts) -> PayoutPlan:
    newest, documents, payments, recorded = account
    agency, of_document = newest.account.agency, Payee.of_document(newest)
    payee = facts.payees.get(agency, of_document)
    before = facts.went_by.get(agency, of_document)
    due = [
        Payout(document, money.negated(known.amount), before.account, known.identity.id, is_recorded=True)
        for document in documents
        if (known := recorded.get(document.number))
    ]
    due += (
        Payout(document, amount, payee.account, _event_id(document, payments))
        for document, amount in _open_credits(documents, payments)
        if document.number not in recorded and (run.last is None or document.period <= run.last)
    )
    due.sort(key=lambda one: one.document.age)
    decisions = [None if one.is_recorded else _decided(one.document, payee, run, facts) for one in due]
    total = money.total(one.amount for one, decision in zip(due, decisions, strict=True) if not decision)
    payouts: list[Payout] = []
    left_out: list[LeftOut] = []
    for one, decision in zip(due, decisions, strict=True):
        if decision:
            left_out.append(LeftOut(one.document, one.amount, decision, waits=True))
        elif reason := _obstacle(newest, one):
            left_out.append(LeftOut(one.document, one.amount, reason))
        elif total < run.minimum and not one.is_recorded:
            reason = f"below the minimum of {money.plain(run.minimum)}"
            left_out.append(LeftOut(one.document, one.amount, reason, waits=True))
        else:
            payouts.append(one)
    return PayoutPlan(tuple(payouts), tuple(left_out))


def _decided(document: StatementDocument, payee: Payee, run: PayoutRun, facts: PayoutFacts) -> str | None:
    """Return why a credit is not to be paid now, by what people have decided; ``None`` if it is."""
    agency = document.account.agency
    if payee.hold:
        return f"payouts to the agency are held: {payee.hold}"
    if document.number in facts.disputed:
        return "the statement is disputed"
    is_own = payee.collects != BY_MARKETPLACE and not document.is_paid_out
    if is_own and agency not in run.refunds:
        return f"the agency collects: it reduces what the agency owes next, or --refund {shown(agency)} pays it"
    return None


def _event_id(document: StatementDocument, payments: Iterable[SealedPayment]) -> str:
    """Return the id of a payout's event: a statement is paid out once, and again if that was withdrawn."""
    before = sum(1 for one in payments if one.identity.source == SOURCE and one.statement == document.number)
    return f"payout-{document.number}" + (f"-{before + 1}" if before else "")


def _open_credits(
    documents: Sequence[StatementDocument], payments: Sequence[SealedPayment]
) -> Iterator[tuple[StatementDocument, Decimal]]:
    """Yield the documents of an account with an open credit, each with what the marketplace owes of it."""
    by_number = {one.number: one for one in documents}
    for one in allocated(documents, payments).receivables:
        if one.open < 0:
            yield by_number[one.document.number], money.negated(one.open)


def _obstacle(newest: StatementDocument, payout: Payout) -> str | None:
    """Return why a credit cannot be paid, ``None`` if it can; ``newest``: the account's newest document."""
    currency, amount = newest.account.currency, payout.amount
    if currency != EURO:
        return f"in {currency}: a SEPA credit transfer moves euros alone"
    if money.on_statement(amount, currency) != amount:
        return "the amount has more decimal places than euros have"
    if amount > LARGEST:
        return f"more than {money.plain(LARGEST)} EUR, the most that a SEPA credit transfer moves"
    return _obstacle_of_parties(newest.owner, payout.recipient)


def _obstacle_of_parties(owner: Party, recipient: BankAccount) -> str | None:
    iban = recipient.iban
    if not iban:
        return "the agency's registration has no IBAN"
    if not is_iban(iban):
        return "the agency's IBAN is wrong"
    if not is_in_sepa(iban):
        return f"the agency's IBAN is of {country_of(iban)}, which is outside the SEPA area"
    if not name_at_banks(recipient.name):
        return "the agency's legal name has no character that banks take"
    if needs_address(owner.iban or iban, iban) and postal_address(owner._asdict()) is None:
        needed = "the payer's town and country: register the owner's"
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
