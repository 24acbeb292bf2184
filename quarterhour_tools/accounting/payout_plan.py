"""Payouts, pure: which statements of agencies leave a credit that the marketplace pays out now."""

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.agencies.ibans import is_iban
from quarterhour.ledger.event import PAYMENT
from quarterhour.model import money
from quarterhour.model.clock import iso_seconds
from quarterhour.model.periods import start_of, time_zone
from quarterhour_tools.accounting.credit_transfer import EURO, BankAccount, CreditTransfer
from quarterhour_tools.accounting.document import BY_MARKETPLACE, StatementDocument

if TYPE_CHECKING:
    from quarterhour.model.identifiers import Account

SOURCE: Final = "quarterhour/payouts"
"""The source of the events that record payouts."""


class Payout(NamedTuple):
    """What an agency is paid for a statement."""

    document: StatementDocument
    amount: Decimal

    @property
    def event_id(self) -> str:
        """The id of the event that records it: a statement is paid out once."""
        return f"payout-{self.document.number}"

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


class PayoutPlan(NamedTuple):
    """The payouts of a run, and the credits that it leaves out, by account."""

    payouts: tuple[Payout, ...]
    left_out: tuple[LeftOut, ...]


def newest_documents(documents: Iterable[StatementDocument]) -> list[StatementDocument]:
    """Return the newest document of each account, sorted by account; a cancelled one is none."""
    found = list(documents)
    cancelled = {one.cancels for one in found if one.cancels}
    newest: dict[Account, StatementDocument] = {}
    for one in found:
        if one.number not in cancelled and (one.account not in newest or one.age >= newest[one.account].age):
            newest[one.account] = one
    return [document for _, document in sorted(newest.items())]


def plan_payouts(documents: Iterable[StatementDocument], minimum: Decimal) -> PayoutPlan:
    """Return the payouts of the newest documents of accounts; only euros are paid.

    ``minimum``: a smaller credit waits for the next statement, which carries it forward.
    """
    payouts: list[Payout] = []
    left_out: list[LeftOut] = []
    for document in newest_documents(documents):
        amount = money.negated(document.closing)
        if document.collects != BY_MARKETPLACE or amount <= 0:
            continue
        if reason := _obstacle(document, amount):
            left_out.append(LeftOut(document, amount, reason))
        elif amount < minimum:
            left_out.append(LeftOut(document, amount, f"below the minimum of {money.plain(minimum)}", waits=True))
        else:
            payouts.append(Payout(document, amount))
    return PayoutPlan(tuple(payouts), tuple(left_out))


def _obstacle(document: StatementDocument, amount: Decimal) -> str | None:
    """Return why a credit cannot be paid, ``None`` if it can."""
    currency, iban = document.account.currency, document.customer.iban
    if currency != EURO:
        return f"in {currency}: a SEPA credit transfer moves euros alone"
    if money.on_statement(amount, currency) != amount:
        return "the amount has more decimal places than euros have"
    if iban is None:
        return "the agency's registration has no IBAN"
    return None if is_iban(iban) else "the agency's IBAN is wrong"


def reason_of(run: str) -> str:
    """Return the reason of a run's events, by which another run knows whose they are."""
    return f"payout {run}"


def event_of(payout: Payout, run: str, execution_date: date) -> dict[str, Any]:
    """Return the event that records a payout of a run: a payment below 0, at the beginning of its day.

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
            "amount": money.plain(document.closing),
            "currency": document.account.currency,
            "reason": reason_of(run),
            "extra": {"run": run, "statement": document.number},
        },
    }


def transfers_of(payouts: Sequence[Payout]) -> list[CreditTransfer]:
    """Return the transfers of payouts, in their order."""
    return [
        CreditTransfer(
            BankAccount(one.document.name, one.document.customer.iban or ""),
            one.amount,
            one.document.number,
            one.remittance,
        )
        for one in payouts
    ]
