"""Linked refunds, the pure part: never more in sum than the sale, and by the sale's terms."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from quarterhour import money
from quarterhour.errors import FieldProblem
from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.pricing import refund_price
from quarterhour.ledger.recording import Claim, Refundable, Terms


@dataclass(frozen=True, slots=True)
class LinkedRefund:
    """A refund's claim, and what is left of its sale before and after: they move together or not at all."""

    claim: Claim
    sale: Claim
    before: Decimal
    after: Decimal


def linked_refund(event: Event, sale: Claim | None, now: datetime, terms: Terms) -> LinkedRefund | Rejection:
    """Claim a refund against its sale as that stands, or tell why the sale does not allow it."""
    if sale is None or sale.refundable is None:
        return _refuse(event, "data.refers_to", "is no recorded sale of this source", "the id of the sale, sent before")
    problem = _mismatch(event, sale, sale.refundable)
    if problem:
        return Rejection(event.identity.source, event.identity.id, (problem,))
    left = sale.refundable.left
    price = refund_price(event.amount, sale.price, left)
    if price.commission(event.amount) is None:
        return _refuse(event, "data.amount", "gives a commission of more than 38 digits", "fewer digits")
    return LinkedRefund(Claim.of(event, now, terms, price), sale, left, money.add(left, event.amount))


def _mismatch(event: Event, sale: Claim, refundable: Refundable) -> FieldProblem | None:
    left = refundable.left
    if event.account != refundable.account:
        return FieldProblem("data.refers_to", "is a sale of another account", f"{refundable.account}, as it was sold")
    if event.commission_rate not in {None, sale.price.rate}:
        return FieldProblem(
            "data.commission_rate",
            f"is {event.commission_rate}, the sale's was {sale.price.rate}",
            "none, as a refund takes the sale's rate",
        )
    if money.add(left, event.amount) < 0:
        return FieldProblem(
            "data.amount",
            f"is {money.plain(event.amount)}, more than is left of the sale",
            f"{money.plain(money.negated(left))} at the most, as {money.plain(left)} is left",
        )
    return None


def _refuse(event: Event, field: str, problem: str, expected: str) -> Rejection:
    return Rejection(event.identity.source, event.identity.id, (FieldProblem(field, problem, expected),))
