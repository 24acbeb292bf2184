"""Linked events, the pure part: what an event that refers to a sale may do to it, and the claims of both.

A linked event is claimed in one transaction with the claim of its sale, which holds what is left of the sale. A void
may refer to a refund: it takes the refund back, and is claimed together with the claims of both.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, assert_never

from quarterhour.ledger.events.event import ADJUSTMENT, OPENING, PAYMENT, REFUND, VOID, Event, Rejection, Rerating
from quarterhour.ledger.postings.posting import TAX_POINT, Facts
from quarterhour.ledger.recording.claims import Claim, Refundable
from quarterhour.ledger.recording.held_event import Held, HeldReason, Hold, Reservation
from quarterhour.ledger.recording.order_fees import OrderFees, order_key
from quarterhour.ledger.recording.pricing import (
    BY_REFUND,
    BY_SALE,
    CommissionTerms,
    has_own_terms,
    has_terms_of_sale,
    needs_rate_card,
    origin_of,
    terms_by,
)
from quarterhour.ledger.recording.remaining import (
    Left,
    OrderChange,
    OwnParts,
    Parts,
    charges_left,
    fees_left,
    is_equal,
    left_after,
    linked_terms,
    rerating_terms,
)
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.ledger.recording.ticket import Result, result_of
from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import FieldProblem
from quarterhour.model.identifiers import Account, Identity
from quarterhour.registry.rate_cards.charge import Pricing
from quarterhour.registry.rate_cards.plan import NO_RATE_CARDS, RateCards, Version
from quarterhour.registry.rate_cards.rate_card import RateCard


class Target(NamedTuple):
    """The recorded event that a linked event refers to: its claim, and its facts in the ledger."""

    claim: Claim
    facts: Facts

    @property
    def terms(self) -> CommissionTerms:
        """The terms in force; of a line of an order, with the fees of the order that it bears, as it is recorded."""
        terms = self.claim.terms_in_force
        if self.claim.rerated is None and terms.in_order:
            return terms._replace(arithmetic=self.facts.get("arithmetic", ""))
        return terms


@dataclass(frozen=True, slots=True)
class Gathered:
    """What linked events are planned from.

    ``claims``: the current claims and reservations of the events, of what they refer to, and of the sales of refunds.
    ``facts``: those of what they refer to, as far as it is in the ledger. ``terms``: those of adjustments; the terms of
    a refund, a void or a re-rating follow from its sale. ``rate_cards``: the versions that the re-ratings name, as far
    as they exist. ``groups``: those of the agencies of re-ratings, if a rate card needs them.
    ``orders``: the fees of the orders of sales that are voided or priced again, by their keys.
    """

    claims: Mapping[Identity, Claim | Reservation]
    facts: Mapping[Identity, Facts]
    terms: Mapping[Identity, CommissionTerms]
    rate_cards: Mapping[Version, RateCard] = field(default_factory=dict)
    groups: RateCards = NO_RATE_CARDS
    orders: Mapping[str, OrderFees] = field(default_factory=dict)

    def order_of(self, facts: Facts) -> OrderFees | None:
        """Return the fees of the order of an event, if they were read and there are any."""
        key = order_key(facts)
        return self.orders.get(key) if key else None

    def sale_of(self, refund: Claim) -> Target | None:
        """Return the sale of a refund, unless it is not known here."""
        sale = self.claims.get(refund.sale) if refund.sale else None
        if not isinstance(sale, Claim) or not sale.refundable or sale.identity not in self.facts:
            return None
        return Target(sale, self.facts[sale.identity])


@dataclass(frozen=True, slots=True)
class LinkedClaim:
    """The claim of a linked event, and the claim of its sale before and after it; all are written, or none.

    An adjustment that is no re-rating leaves the claim of its sale as it is. ``was_held``: the claim replaces the
    reservation of the event, which was held until now. ``refund``: the claim of the refund that a void takes back, if
    that names a sale. ``order``: the fees of the order of the sale before and after it, if it changes them.
    """

    claim: Claim
    before: Claim
    after: Claim
    was_held: bool = False
    refund: Claim | None = None
    order: tuple[OrderFees | None, OrderFees] | None = None

    @property
    def corrected(self) -> Sequence[tuple[Claim, Claim]]:
        """The claims of all that the event corrects, before and after it, that of the sale first."""
        sale = (self.before, self.after)
        return (
            (sale,) if self.refund is None else (sale, (self.refund, _changed(self.refund, voided=self.claim.identity)))
        )


class _Change(NamedTuple):
    """What a linked event does: its amount, its terms, the claim of its sale before and after it.

    ``refund``: the claim of the refund that it takes back, if that names a sale.
    """

    amount: Decimal
    terms: CommissionTerms
    before: Claim
    after: Claim
    refund: Claim | None = None
    order: tuple[OrderFees | None, OrderFees] | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """Another writer has changed the claim of the sale since it was read: the linked event must be planned again."""


LinkedPlan = Result | LinkedClaim | Hold
"""What to write for a linked event, or the result if there is nothing to write."""


def linked_claim(
    event: Event, target: Target, gathered: Gathered, now: datetime, settings: RecordingSettings
) -> LinkedClaim | Rejection:
    """Return a linked event's claim against the current claim of its sale, or why the sale does not allow it."""
    change = _change(event, target, gathered, settings)
    if isinstance(change, Rejection):
        return change
    claim = Claim.of(event, now, settings, change.terms, date.fromisoformat(target.facts[TAX_POINT]))
    category, kind = _taken(event, target.facts)
    claim = claim._replace(category=category, kind=kind)
    if change.amount != event.amount:
        claim = claim._replace(amount=change.amount)
    if event.type == REFUND:
        claim = claim._replace(sale=event.linked_to)
    return LinkedClaim(claim, change.before, change.after, refund=change.refund, order=change.order)


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


def _change(event: Event, target: Target, gathered: Gathered, settings: RecordingSettings) -> _Change | Rejection:
    if rerating := event.rerating:
        return _rerating(event, rerating, target, gathered, settings)
    if event.type == VOID and target.facts["type"] == REFUND:
        return _taking_back(event, target, gathered)
    claim, terms = target.claim, gathered.terms.get(event.identity)
    sale = claim.refundable
    if sale and event.account != sale.account:
        return _of_another_account(event)
    if terms and (sale or _corrects_commission(event, target.facts)):
        return _Change(event.amount, terms, claim, claim)
    if sale is None:
        return _of_no_sale(event, target.facts["type"])
    return _void(event, target, sale, gathered) if event.type == VOID else _refund(event, target, sale)


def _corrects_commission(adjustment: Event, facts: Facts) -> bool:
    """Return whether an adjustment changes only the commission of an event, and the event has terms of its own."""
    if not has_own_terms(facts.get("terms", "")) or not _is_of_commission_alone(adjustment):
        return False
    return Account(facts["agency"], facts["currency"]) == adjustment.account


def _is_of_commission_alone(event: Event) -> bool:
    return event.commission is not None and event.amount.is_zero()


def _rerating(
    event: Event, rerating: Rerating, target: Target, gathered: Gathered, settings: RecordingSettings
) -> _Change | Rejection:
    """Return the change that charges an event, priced by a rate card or the default rate, by another rate card.

    Its terms then are those of the rate card, and the re-rating posts the difference for what is left. So all
    commissions together are what the rate card charges, and later refunds give back parts of that.
    """
    facts, claim = target.facts, target.claim
    terms = _rerated_terms(event, rerating, facts, gathered, settings)
    if isinstance(terms, Rejection):
        return terms
    parts = Parts.of(facts)
    left = claim.left_of(parts.amount)
    order = _rerated_order(target, terms, gathered)
    if order:
        terms = terms.bearing(order[1].owned_by(claim.identity), parts.amount)
    due, paid = (charges_left(one, parts, left) for one in (terms, target.terms))
    posted = due and paid and rerating_terms(due, paid, terms.commission_rate)
    if due is None or paid is None or posted is None or posted.commission(event.amount) is None:
        return _refuse(event, "data.rerating", "gives a commission of more than 38 digits", "a rule with fewer digits")
    if is_equal(due, paid):
        problem = f"changes nothing: the commission of what is left is {money.plain(paid.commission)} already"
        return _refuse(event, "data.rerating", problem, "a rate card that gives another commission")
    changed = order if order and order[0] != order[1] else None
    return _Change(event.amount, posted, claim, _changed(claim, rerated=terms), order=changed)


def _rerated_order(
    target: Target, terms: CommissionTerms, gathered: Gathered
) -> tuple[OrderFees | None, OrderFees] | None:
    """Return the fees of the order of a sale before and after it is priced again; ``None`` if there are none."""
    key = order_key(target.facts) if terms.in_order else None
    if key is None:
        return None
    before = gathered.orders.get(key)
    known = before or OrderFees.of(key, target.claim.expires_at)
    return before, known.rerated(target.claim.identity, terms.order_fees)


def _rerated_terms(
    event: Event, rerating: Rerating, facts: Facts, gathered: Gathered, settings: RecordingSettings
) -> CommissionTerms | Rejection:
    """Return the terms of a recorded event by the rate card of a re-rating, or why it has none."""
    agency = event.account.agency
    if event.account != Account(facts["agency"], facts["currency"]):
        return _of_another_account(event)
    if not has_own_terms(facts.get("terms", "")):
        problem = f"is {facts['type']} with the terms {facts.get('terms', '')!r}"
        return _refuse(event, "data.refers_to", problem, "an event that was priced by a rate card or the default rate")
    document, version, _ = rerating
    if (document, version) not in gathered.rate_cards:
        return _refuse(event, "data.rerating.version", f"is no version of {document}", "a version that was written")
    group = gathered.groups.group(agency, parse_iso(facts.get("time") or facts["recorded_at"]))
    rate_card, origin = gathered.rate_cards[document, version], origin_of(document, version, agency)
    terms = terms_by(rate_card, facts, Pricing(settings.rounding, group), origin)
    if terms is None:
        return _refuse(event, "data.rerating", "does not price the event", "a rate card that is valid and has a rule")
    return terms


def _of_no_sale(event: Event, type_: str) -> Rejection:
    if type_ == PAYMENT:
        return _refuse(event, "data.refers_to", f"is no sale, but {type_}", "a payment of the opposite sign")
    if event.type == VOID:
        return _refuse(event, "data.refers_to", f"is no sale and no refund, but {type_}", "the id of a sale or refund")
    return _refuse(event, "data.refers_to", f"is no sale, but {type_}", "the id of a sale")


def _of_another_account(event: Event, what: str = "a sale") -> Rejection:
    return _refuse(event, "data.refers_to", f"is {what} of another account", f"{what} of {event.account}")


def _refund(event: Event, target: Target, sale: Refundable) -> _Change | Rejection:
    claim = target.claim
    if event.commission_rate not in {None, target.terms.commission_rate}:
        problem = f"is {event.commission_rate}, the sale's was {target.terms.commission_rate}"
        expected = "none, as a refund has the commission rate of its sale"
        return _refuse(event, "data.commission_rate", problem, expected)
    if claim.voided and sale.left.is_zero() and not event.rest:
        return _refuse(event, "data.refers_to", f"was voided, by {claim.voided}", "a sale that was not voided")
    amount = max(event.amount, money.negated(sale.left)) if event.rest else event.amount
    if money.add(sale.left, amount) < 0:
        problem = f"is {money.plain(amount)}, more than is left of the sale"
        expected = f"{money.plain(money.negated(sale.left))} at the most, as {money.plain(sale.left)} is left"
        return _refuse(event, "data.amount", problem, expected)
    return _reversal(event, amount, target, OwnParts.of(event.details))


def _void(event: Event, target: Target, sale: Refundable, gathered: Gathered) -> _Change | Rejection:
    if target.claim.voided and sale.left.is_zero():
        return _voided_before(event, target.claim.voided, "a sale")
    # A sale of 0 can be voided, though nothing is left of it either.
    if sale.left.is_zero() and not Decimal(target.facts["amount"]).is_zero():
        problem, expected = "was refunded whole, so nothing is left to void", "a sale that was not refunded whole"
        return _refuse(event, "data.refers_to", problem, expected)
    return _reversal(event, money.negated(sale.left), target, OwnParts(), order=gathered.order_of(target.facts))


def _taking_back(event: Event, target: Target, gathered: Gathered) -> _Change | Rejection:
    """Return the change by a void that takes a refund back, at the terms of its sale; without one, at the refund's."""
    refund, facts = target.claim, target.facts
    if event.account != Account(facts["agency"], facts["currency"]):
        return _of_another_account(event, "a refund")
    if refund.voided:
        return _voided_before(event, refund.voided, "a refund")
    amount = Decimal(facts["amount"])
    if amount.is_zero():
        return _refuse(event, "data.refers_to", "gave back nothing", "a refund below 0")
    if refund.sale and (sale := gathered.sale_of(refund)):
        return _reversal(event, money.negated(amount), sale, OwnParts.of(facts).negated, refund)
    parts = Parts.of(facts)
    terms = linked_terms(refund.terms_in_force, parts, Left(amount), Left(money.ZERO), BY_REFUND)
    if terms.commission(money.negated(amount)) is None:
        return _too_long(event)
    return _Change(money.negated(amount), terms, refund, _changed(refund, voided=event.identity))


def _voided_before(event: Event, by: Identity, what: str) -> Rejection:
    return _refuse(event, "data.refers_to", f"was voided before, by {by}", f"{what} that was not voided before")


def _reversal(  # noqa: PLR0913 - what is taken back, of what, and what follows
    event: Event,
    amount: Decimal,
    sale: Target,
    own: OwnParts,
    refund: Claim | None = None,
    *,
    order: OrderFees | None = None,
) -> _Change | Rejection:
    """Return the change that takes an amount (0 or less) back from a sale, with its part of the charges.

    ``own``: the parts that are taken, as far as they are said. The amount of a ``refund`` that is taken back is above
    0, and is left of the sale again.
    """
    claim, parts = sale.claim, Parts.of(sale.facts)
    is_void = event.type == VOID and refund is None
    before = claim.left_of(parts.amount)
    left = left_after(parts, before, amount, own)
    # After a void, a refund from before it may be taken back: the next void has no kept fee to give back.
    left = left._replace(is_void=is_void or before.is_void)
    fees = OrderChange()
    if order and not before.is_void:
        is_last = order.is_last(claim.identity)
        fees = OrderChange(keeps=not is_last, given_back=order.left if is_last else {})
    terms = linked_terms(sale.terms, parts, before, left, BY_REFUND if refund else BY_SALE, fees)
    if terms.commission(amount) is None:
        return _too_long(event)
    refundable = claim.refundable and replace(claim.refundable, left=left.amount, tax=left.tax, shipping=left.shipping)
    after = _changed(claim, refundable=refundable, voided=event.identity if is_void else claim.voided)
    changed = None
    if order and not before.is_void:
        changed = order, order.without_line(claim.identity, fees_left(sale.terms, parts, before))
    return _Change(amount, terms, claim, after, refund, changed)


def _changed(claim: Claim, **fields: Any) -> Claim:  # noqa: ANN401 - those of a claim
    """Return a claim that a linked event has changed."""
    return claim._replace(changes=claim.changes + 1, **fields)


def _too_long(event: Event) -> Rejection:
    return _refuse(event, "data.amount", "gives a commission of more than 38 digits", "fewer digits")


def in_rounds(events: Iterable[Event], sales: Mapping[Identity, Identity]) -> list[list[Event]]:
    """Return linked events in rounds: one round has one event of a sale, in the given order.

    An event that refers to another one of them is in a later round, where the other one is known. ``sales``: those of
    refunds recorded before, which voids may take back. Raises ``ValueError`` for an event that is not linked.
    """
    ordered = _after_what_they_refer_to(events)
    sales = {**sales, **{event.identity: of for event in ordered.values() if (of := event.linked_to)}}
    rounds: list[list[Event]] = []
    round_of: dict[Identity, int] = {}
    next_of: dict[Identity, int] = {}
    for event in ordered.values():
        of = event.linked_to
        if of is None:
            raise ValueError(f"{event.identity} refers to no sale")
        sale = sales.get(of, of) if event.type == VOID else of
        number = max(next_of.get(sale, 0), round_of.get(of, -1) + 1)
        rounds += [[] for _ in range(number + 1 - len(rounds))]
        rounds[number].append(event)
        round_of[event.identity], next_of[sale] = number, number + 1
    return rounds


def _after_what_they_refer_to(events: Iterable[Event]) -> dict[Identity, Event]:
    """Return events in their order, but each after the one of them that it refers to, unless that refers back."""
    among = {event.identity: event for event in events}
    ordered: dict[Identity, Event] = {}
    for event in among.values():
        chain: dict[Identity, Event] = {}
        one: Event | None = event
        while one and one.identity not in chain and one.identity not in ordered:
            chain[one.identity] = one
            one = among.get(one.linked_to) if one.linked_to else None
        is_circle = one is not None and one.identity in chain
        ordered |= {event.identity: event} if is_circle else dict(reversed(chain.items()))
    return ordered


def plan_linked(
    events: Iterable[Event], gathered: Gathered, now: datetime, settings: RecordingSettings
) -> dict[Identity, LinkedPlan]:
    """Return what to write for each linked event; no two of them are of one sale.

    The existing claim or reservation if the event has one that stays; the rejection if its sale does not allow it. The
    result lacks an event whose sale is claimed and not in the ledger yet: the sender of the sale has no response
    either.
    """
    planned = {event.identity: _planned(event, gathered, now, settings) for event in events}
    return {identity: one for identity, one in planned.items() if one is not None}


def _planned(event: Event, gathered: Gathered, now: datetime, settings: RecordingSettings) -> LinkedPlan | None:
    existing = gathered.claims.get(event.identity)
    if isinstance(existing, Claim) or (existing and not existing.may_become_claim(event)):
        return result_of(existing)
    planned = _against_target(event, gathered, now, settings)
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


def _against_target(
    event: Event, gathered: Gathered, now: datetime, settings: RecordingSettings
) -> LinkedClaim | Hold | Rejection | None:
    identity = event.linked_to
    if identity is None:
        raise ValueError(f"{event.identity} refers to no sale")
    target = gathered.claims.get(identity)
    if target is None or (isinstance(target, Reservation) and not (why := _why_not(target, event))):
        return Hold.of(event, HeldReason.UNKNOWN_SALE)
    if isinstance(target, Reservation):
        return _refuse(event, "data.refers_to", why, "the id of a sale")
    facts = gathered.facts.get(identity)
    if facts is None:
        # Whether another event than a sale may be corrected depends on its facts.
        depends = event.type == VOID or event.rerating is not None or _is_of_commission_alone(event)
        can_be_allowed = target.refundable is not None or depends
        return None if can_be_allowed else _refuse(event, "data.refers_to", "is no sale", "the id of a sale")
    return linked_claim(event, Target(target, facts), gathered, now, settings)


def _why_not(held: Reservation, event: Event) -> str:
    """Return why an event cannot refer to a held or discarded one; empty if it can wait for that."""
    if held.discarded is not None:
        return "was discarded by an operator"
    if held.refers_to == event.identity:
        return "refers back to this event"
    return "" if held.may_be_corrected_by(event) else "is a held event, and no sale"


def _refuse(event: Event, field: str, problem: str, expected: str) -> Rejection:
    return Rejection(event.identity.source, event.identity.id, (FieldProblem(field, problem, expected),))
