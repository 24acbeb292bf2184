"""Linked events, the pure part: what an event that refers to a sale may do to it, and the claims of both.

A linked event is claimed in one transaction with the claim of its sale, which holds what is left of the sale.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.held_events import Held, HeldReason, Hold, Reservation
from quarterhour.ledger.plan import Claim, Claimed, RecordingTerms, Refundable
from quarterhour.ledger.pricing import refund_price
from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.identifiers import Identity


@dataclass(frozen=True, slots=True)
class LinkedClaim:
    """The claim of a linked event, and the claim of its sale before and after it; both are written, or neither.

    ``was_held``: the claim replaces the reservation of the event, which was held until now.
    """

    claim: Claim
    before: Claim
    after: Claim
    was_held: bool = False


def linked_claim(
    event: Event, sale: Claim | Reservation | None, now: datetime, terms: RecordingTerms
) -> LinkedClaim | Hold | Rejection:
    """Return a linked event's claim against the current claim of its sale, or why the sale does not allow it.

    The event is held while its sale is unknown, or held itself.
    """
    if sale is None or (isinstance(sale, Reservation) and sale.is_of_sale):
        return Hold.of(event, HeldReason.UNKNOWN_SALE)
    if isinstance(sale, Reservation):
        what = "is a held event, and no sale" if sale.discarded is None else "was discarded by an operator"
        return _refuse(event, "data.refers_to", what, "the id of a sale")
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


def in_rounds(events: Iterable[Event]) -> list[dict[Identity, Event]]:
    """Return linked events in rounds, each by its sale: one round has one event of a sale, in the given order.

    An event that refers to another one of them is in a later round, where the other one is known. Raises
    ``ValueError`` for an event that is not linked.
    """
    events = list(events)
    among = {event.identity for event in events}
    rounds: list[dict[Identity, Event]] = []
    round_of: dict[Identity, int] = {}
    next_of: dict[Identity, int] = {}
    for event in sorted(events, key=lambda event: event.linked_to in among):
        sale = event.linked_to
        if sale is None:
            raise ValueError(f"{event.identity} refers to no sale")
        number = max(next_of.get(sale, 0), round_of.get(sale, -1) + 1)
        rounds += [{} for _ in range(number + 1 - len(rounds))]
        rounds[number][sale] = event
        round_of[event.identity], next_of[sale] = number, number + 1
    return rounds


def plan_linked(
    events: Mapping[Identity, Event],
    known: Mapping[Identity, Claim | Reservation],
    now: datetime,
    terms: RecordingTerms,
) -> dict[Identity, Claimed | LinkedClaim | Hold | Held | Rejection]:
    """Return what to write for each linked event, from events by their sales and what both identities hold now.

    The existing claim or reservation if the event has one that stays; the rejection if its sale does not allow it.
    """
    return {
        event.identity: _planned(event, known.get(event.identity), known.get(sale), now, terms)
        for sale, event in events.items()
    }


def _planned(
    event: Event,
    existing: Claim | Reservation | None,
    sale: Claim | Reservation | None,
    now: datetime,
    terms: RecordingTerms,
) -> Claimed | LinkedClaim | Hold | Held | Rejection:
    if isinstance(existing, Claim):
        return Claimed(existing, fresh=False)
    if existing and not existing.may_become_claim(event.digest):
        return Held(existing)
    planned = linked_claim(event, sale, now, terms)
    if existing is None:
        return planned
    # What was answered as held stays held, until it is posted or an operator discards it.
    match planned:
        case LinkedClaim():
            return replace(planned, was_held=True)
        case Rejection():
            return Held(existing, planned.problems)
        case Hold():
            return Held(existing)


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
