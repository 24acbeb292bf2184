"""Linked events, the pure part: what an event that refers to a sale may do to it, and the claims of both.

A linked event is claimed in one transaction with the claim of its sale, which holds what is left of the sale.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple, assert_never

from quarterhour.ledger.events.event import ADJUSTMENT, OPENING, PAYMENT, VOID, Event, Rejection, Rerating
from quarterhour.ledger.postings.posting import TAX_POINT, Facts
from quarterhour.ledger.recording.claims import Claim, Refundable
from quarterhour.ledger.recording.held_event import Held, HeldReason, Hold, Reservation
from quarterhour.ledger.recording.pricing import (
    CommissionTerms,
    commission_left,
    has_own_terms,
    has_terms_of_sale,
    needs_rate_card,
    origin_of,
    refund_terms,
    rerating_terms,
    terms_by,
)
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.ledger.recording.ticket import Result, result_of
from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.identifiers import Account, Identity
from quarterhour.registry.rate_cards.plan import Version
from quarterhour.registry.rate_cards.rate_card import RateCard


class Target(NamedTuple):
    """The recorded event that a linked event refers to: its claim, and its facts in the ledger."""

    claim: Claim
    facts: Facts


@dataclass(frozen=True, slots=True)
class Gathered:
    """What linked events are planned from.

    ``claims``: the current claims and reservations of the events and their sales. ``facts``: those of the sales that
    are in the ledger. ``terms``: those of adjustments; the terms of a refund, a void or a re-rating follow from its
    sale. ``rate_cards``: the versions that the re-ratings name, as far as they exist.
    """

    claims: Mapping[Identity, Claim | Reservation]
    facts: Mapping[Identity, Facts]
    terms: Mapping[Identity, CommissionTerms]
    rate_cards: Mapping[Version, RateCard] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinkedClaim:
    """The claim of a linked event, and the claim of its sale before and after it; all are written, or none.

    An adjustment that is no re-rating leaves the claim of its sale as it is. ``was_held``: the claim replaces the
    reservation of the event, which was held until now.
    """

    claim: Claim
    before: Claim
    after: Claim
    was_held: bool = False


class _Change(NamedTuple):
    """What a linked event does: its amount, its terms, and the claim of its sale after it."""

    amount: Decimal
    terms: CommissionTerms
    after: Claim


@dataclass(frozen=True, slots=True)
class Lost:
    """Another writer has changed the claim of the sale since it was read: the linked event must be planned again."""


LinkedPlan = Result | LinkedClaim | Hold
"""What to write for a linked event, or the result if there is nothing to write."""


def linked_claim(
    event: Event, target: Target, gathered: Gathered, now: datetime, settings: RecordingSettings
) -> LinkedClaim | Rejection:
    """Return a linked event's claim against the current claim of its sale, or why the sale does not allow it."""
    change = _change(event, target, gathered)
    if isinstance(change, Rejection):
        return change
    claim = Claim.of(event, now, settings, change.terms, date.fromisoformat(target.facts[TAX_POINT]))
    category, kind = _taken(event, target.facts)
    claim = claim._replace(category=category, kind=kind)
    if change.amount != event.amount:
        claim = claim._replace(amount=change.amount)
    return LinkedClaim(claim, target.claim, change.after)


def _taken(event: Event, facts: Facts) -> tuple[str | None, str | None]:
    """Return the category and the kind that a correction takes from what it corrects; ``None`` where it keeps its own.

    They decide its tax, so that it gives back the tax that was charged. A refund, a void and a re-rating have the
    category of their event, whatever they name. An adjustment that names its commission has what it does not name
    itself; one that a rate card prices has been priced by its own category, and keeps that.
    """
    if needs_rate_card(event):
        return None, None
    own, its = event.details, facts.get("category", "")
    category = its if has_terms_of_sale(event) or "category" not in own else own["category"]
    kind = facts.get("kind") if event.type == ADJUSTMENT and "kind" not in own else None
    return None if category == own.get("category", "") else category, None if kind == OPENING else kind


def _change(event: Event, target: Target, gathered: Gathered) -> _Change | Rejection:
    if rerating := event.rerating:
        return _rerating(event, rerating, target, gathered.rate_cards)
    sale = target.claim.refundable
    terms = gathered.terms.get(event.identity)
    if sale is None:
        if terms is not None and _corrects_commission(event, target.facts):
            return _Change(event.amount, terms, target.claim)
        return _of_no_sale(event, target.facts["type"])
    if event.account != sale.account:
        return _of_another_account(event)
    if terms is not None:
        return _Change(event.amount, terms, target.claim)
    return _void(event, target, sale) if event.type == VOID else _refund(event, target.claim, sale)


def _corrects_commission(adjustment: Event, facts: Facts) -> bool:
    """Return whether an adjustment changes only the commission of an event, and the event has terms of its own."""
    if not has_own_terms(facts.get("terms", "")) or not _is_of_commission_alone(adjustment):
        return False
    return Account(facts["agency"], facts["currency"]) == adjustment.account


def _is_of_commission_alone(event: Event) -> bool:
    return event.commission is not None and event.amount.is_zero()


def _rerating(
    event: Event, rerating: Rerating, target: Target, rate_cards: Mapping[Version, RateCard]
) -> _Change | Rejection:
    """Return the change that charges an event, priced by a rate card or the default rate, by another rate card.

    Its terms then are those of the rate card, and the re-rating posts the difference for what is left. So all
    commissions together are what the rate card charges, and later refunds give back parts of that.
    """
    facts, claim = target.facts, target.claim
    terms = _rerated_terms(event, rerating, facts, rate_cards)
    if isinstance(terms, Rejection):
        return terms
    amount = Decimal(facts["amount"])
    refunded = money.ZERO if claim.refundable is None else money.add(claim.refundable.left, money.negated(amount))
    due, paid = (commission_left(one, amount, refunded) for one in (terms, claim.terms_in_force))
    if due is None or paid is None or not money.fits(money.add(due, money.negated(paid))):
        return _refuse(event, "data.rerating", "gives a commission of more than 38 digits", "a rule with fewer digits")
    if due == paid:
        problem = f"changes nothing: the commission of what is left is {money.plain(paid)} already"
        return _refuse(event, "data.rerating", problem, "a rate card that gives another commission")
    return _Change(event.amount, rerating_terms(due, paid, terms.commission_rate), claim._replace(rerated=terms))


def _rerated_terms(
    event: Event, rerating: Rerating, facts: Facts, rate_cards: Mapping[Version, RateCard]
) -> CommissionTerms | Rejection:
    """Return the terms of a recorded event by the rate card of a re-rating, or why it has none."""
    if event.account != Account(facts["agency"], facts["currency"]):
        return _of_another_account(event)
    if not has_own_terms(facts.get("terms", "")):
        problem = f"is {facts['type']} with the terms {facts.get('terms', '')!r}"
        return _refuse(event, "data.refers_to", problem, "an event that was priced by a rate card or the default rate")
    document, version, _ = rerating
    if (document, version) not in rate_cards:
        return _refuse(event, "data.rerating.version", f"is no version of {document}", "a version that was written")
    terms = terms_by(rate_cards[document, version], facts, origin_of(document, version, event.account.agency))
    if terms is None:
        return _refuse(event, "data.rerating", "does not price the event", "a rate card that is valid and has a rule")
    return terms


def _of_no_sale(event: Event, type_: str) -> Rejection:
    expected = "a payment of the opposite sign" if type_ == PAYMENT else "the id of a sale"
    return _refuse(event, "data.refers_to", f"is no sale, but {type_}", expected)


def _of_another_account(event: Event) -> Rejection:
    return _refuse(event, "data.refers_to", "is a sale of another account", f"a sale of {event.account}")


def _refund(event: Event, claim: Claim, sale: Refundable) -> _Change | Rejection:
    if event.commission_rate not in {None, claim.terms_in_force.commission_rate}:
        problem = f"is {event.commission_rate}, the sale's was {claim.terms_in_force.commission_rate}"
        expected = "none, as a refund has the commission rate of its sale"
        return _refuse(event, "data.commission_rate", problem, expected)
    if sale.voided and not event.rest:
        return _refuse(event, "data.refers_to", f"was voided, by {sale.voided}", "a sale that was not voided")
    amount = max(event.amount, money.negated(sale.left)) if event.rest else event.amount
    if money.add(sale.left, amount) < 0:
        problem = f"is {money.plain(amount)}, more than is left of the sale"
        expected = f"{money.plain(money.negated(sale.left))} at the most, as {money.plain(sale.left)} is left"
        return _refuse(event, "data.amount", problem, expected)
    return _reversal(event, amount, claim, sale)


def _void(event: Event, target: Target, sale: Refundable) -> _Change | Rejection:
    if sale.voided:
        problem, expected = f"was voided before, by {sale.voided}", "a sale that was not voided before"
        return _refuse(event, "data.refers_to", problem, expected)
    # A sale of 0 can be voided, though nothing is left of it either.
    if sale.left.is_zero() and not Decimal(target.facts["amount"]).is_zero():
        problem, expected = "was refunded whole, so nothing is left to void", "a sale that was not refunded whole"
        return _refuse(event, "data.refers_to", problem, expected)
    return _reversal(event, money.negated(sale.left), target.claim, replace(sale, voided=event.identity))


def _reversal(event: Event, amount: Decimal, claim: Claim, sale: Refundable) -> _Change | Rejection:
    """Return the change that takes an amount (0 or less) back from a sale, with its part of the commission."""
    terms = refund_terms(amount, claim.terms_in_force, sale.left, is_void=event.type == VOID)
    if terms.commission(amount) is None:
        return _refuse(event, "data.amount", "gives a commission of more than 38 digits", "fewer digits")
    return _Change(amount, terms, claim._replace(refundable=replace(sale, left=money.add(sale.left, amount))))


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
    events: Mapping[Identity, Event], gathered: Gathered, now: datetime, settings: RecordingSettings
) -> dict[Identity, LinkedPlan]:
    """Return what to write for each linked event, from events by their sales.

    The existing claim or reservation if the event has one that stays; the rejection if its sale does not allow it. The
    result lacks an event whose sale is claimed and not in the ledger yet: the sender of the sale has no response
    either.
    """
    planned = {event.identity: _planned(event, sale, gathered, now, settings) for sale, event in events.items()}
    return {identity: one for identity, one in planned.items() if one is not None}


def _planned(
    event: Event, sale: Identity, gathered: Gathered, now: datetime, settings: RecordingSettings
) -> LinkedPlan | None:
    existing = gathered.claims.get(event.identity)
    if isinstance(existing, Claim) or (existing and not existing.may_become_claim(event)):
        return result_of(existing)
    planned = _against_sale(event, sale, gathered, now, settings)
    return _still_held(existing, planned) if existing else planned


def _still_held(existing: Reservation, planned: LinkedClaim | Hold | Rejection | None) -> LinkedClaim | Held | None:
    """Return what becomes of a held event: what was answered as held stays so, until it is posted or discarded."""
    match planned:
        case LinkedClaim():
            return replace(planned, was_held=True)
        case Rejection():
            return Held.waiting(existing, HeldReason.UNKNOWN_SALE, planned.problems)
        case Hold():
            return Held.waiting(existing, planned.reservation.reason)
        case None:
            return None
        case _:
            assert_never(planned)


def _against_sale(
    event: Event, identity: Identity, gathered: Gathered, now: datetime, settings: RecordingSettings
) -> LinkedClaim | Hold | Rejection | None:
    sale = gathered.claims.get(identity)
    if sale is None or (isinstance(sale, Reservation) and sale.is_of_sale):
        return Hold.of(event, HeldReason.UNKNOWN_SALE)
    if isinstance(sale, Reservation):
        return _refuse(event, "data.refers_to", _why_no_sale(sale, event), "the id of a sale")
    facts = gathered.facts.get(identity)
    if facts is None:
        # Whether another event than a sale may be corrected depends on its facts.
        can_be_allowed = sale.refundable is not None or event.rerating is not None or _is_of_commission_alone(event)
        return None if can_be_allowed else _refuse(event, "data.refers_to", "is no sale", "the id of a sale")
    return linked_claim(event, Target(sale, facts), gathered, now, settings)


def _why_no_sale(held: Reservation, event: Event) -> str:
    """Return why an event cannot refer to a held or discarded one."""
    if held.discarded is not None:
        return "was discarded by an operator"
    return "refers back to this event" if held.refers_to == event.identity else "is a held event, and no sale"


def _refuse(event: Event, field: str, problem: str, expected: str) -> Rejection:
    return Rejection(event.identity.source, event.identity.id, (FieldProblem(field, problem, expected),))
