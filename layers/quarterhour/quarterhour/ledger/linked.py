"""Linked events, the pure part: what an event that refers to a sale may do to it, and the claims of both.

A linked event is claimed in one transaction with the claim of its sale, which holds what is left of the sale.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.plan import Claim, Claimed, RecordingTerms, Refundable
from quarterhour.ledger.pricing import refund_price
from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.identifiers import Identity


@dataclass(frozen=True, slots=True)
class LinkedClaim:
    """The claim of a linked event, and the claim of its sale before and after it; both are written, or neither."""

    claim: Claim
    before: Claim
    after: Claim


def linked_claim(event: Event, sale: Claim | None, now: datetime, terms: RecordingTerms) -> LinkedClaim | Rejection:
    """Return a linked event's claim against the current claim of its sale, or why the sale does not allow it."""
    if sale is None:
        return unknown_sale(event)
    if sale.refundable is None:
        return _refuse(event, "data.refers_to", "is an event that is no sale", "the id of a sale")
    left = sale.refundable.left
    amount = max(event.amount, money.negated(left)) if event.rest else event.amount
    problem = _mismatch(event, amount, sale, sale.refundable)
    if problem:
        return Rejection(event.identity.source, event.identity.id, (problem,))
    price = refund_price(amount, sale.price, left)
    if price.commission(amount) is None:
        return _refuse(event, "data.amount", "gives a commission of more than 38 digits", "fewer digits")
    claim = Claim.of(event, now, terms, price)
    if amount != event.amount:
        claim = replace(claim, amount=amount)
    after = replace(sale, refundable=Refundable(sale.refundable.account, money.add(left, amount)))
    return LinkedClaim(claim, sale, after)


def unknown_sale(event: Event) -> Rejection:
    """Return the rejection of a linked event whose sale is not recorded."""
    return _refuse(event, "data.refers_to", "is no recorded sale of this source", "the id of the sale, sent before")


def in_rounds(events: Iterable[Event]) -> list[dict[Identity, Event]]:
    """Return linked events in rounds, each by its sale: one round has one event of a sale, in the given order.

    Raises ``ValueError`` for an event that is not linked.
    """
    rounds: list[dict[Identity, Event]] = []
    for event in events:
        sale = event.linked_to
        if sale is None:
            raise ValueError(f"{event.identity} refers to no sale")
        first = next((one for one in rounds if sale not in one), None)
        if first is None:
            rounds.append({sale: event})
        else:
            first[sale] = event
    return rounds


def plan_linked(
    events: Mapping[Identity, Event], known: Mapping[Identity, Claim], now: datetime, terms: RecordingTerms
) -> dict[Identity, Claimed | LinkedClaim | Rejection]:
    """Return what to claim for each linked event, from events by their sales and the current claims of both.

    The existing claim if the event has one; the rejection if its sale does not allow it.
    """
    return {
        event.identity: Claimed(known[event.identity], fresh=False)
        if event.identity in known
        else linked_claim(event, known.get(sale), now, terms)
        for sale, event in events.items()
    }


def _mismatch(event: Event, amount: Decimal, sale: Claim, refundable: Refundable) -> FieldProblem | None:
    left = refundable.left
    if event.account != refundable.account:
        return FieldProblem("data.refers_to", "is a sale of another account", f"{refundable.account}, as it was sold")
    if event.commission_rate not in {None, sale.price.commission_rate}:
        return FieldProblem(
            "data.commission_rate",
            f"is {event.commission_rate}, the sale's was {sale.price.commission_rate}",
            "none, as a refund has the commission rate of its sale",
        )
    if money.add(left, amount) < 0:
        return FieldProblem(
            "data.amount",
            f"is {money.plain(amount)}, more than is left of the sale",
            f"{money.plain(money.negated(left))} at the most, as {money.plain(left)} is left",
        )
    return None


def _refuse(event: Event, field: str, problem: str, expected: str) -> Rejection:
    return Rejection(event.identity.source, event.identity.id, (FieldProblem(field, problem, expected),))
