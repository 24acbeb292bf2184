"""Pricing, the pure part: an event's commission by the event itself, its sale, a rate card or the default rate.

The terms are decided when the event is claimed, and stored with the claim. They never change after that.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.ledger.events.event import ADJUSTMENT, PAYMENT, REFUND, RERATING, VOID, Event, Rejection
from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import FieldProblem
from quarterhour.registry.documents.keys import rate_card_name
from quarterhour.registry.rate_cards import arithmetic
from quarterhour.registry.rate_cards.arithmetic import Charge, Difference, Named, Share
from quarterhour.registry.rate_cards.plan import InForce, RateCardQuery, RateCards, Version
from quarterhour.registry.rate_cards.rate_card import RateCard, Sold

BY_EVENT: Final = "event"
"""The origin of terms that the event names: its commission rate, or its commission."""
BY_SALE: Final = "sale"
"""The origin of the terms of a linked refund or a void."""
BY_REFUND: Final = "refund"
"""The origin of the terms of a void that takes a refund back."""
BY_RERATING: Final = "rerating"
"""The origin of the terms of a re-rating."""
BY_PAYMENT: Final = "payment"
"""The origin of the terms of a payment: it bears no commission."""
BY_DEFAULT: Final = "default"
"""The origin of terms at the default commission rate."""
BY_RATE_CARD: Final = "card "
"""The prefix of the origin of terms by a rate card.

The rate card's version follows, and the name of its document if it is not the agency's own:
``card 3 rate-card:group/eu``.
"""
_ONE: Final = Decimal(1)


class CommissionTerms(NamedTuple):
    """Commission rate and origin of an event's commission, and an arithmetic if the rate is not enough.

    ``origin`` is one of the constants above; after ``BY_RATE_CARD`` with a version and perhaps a document.
    ``unregistered``: the rate cards were looked up for an agency that was not registered.
    """

    commission_rate: Decimal
    origin: str
    arithmetic: str = ""
    unregistered: bool = False

    def commission(self, amount: Decimal) -> Decimal | None:
        """Return the commission of an amount on these terms, or ``None`` if it needs more than 38 digits.

        An arithmetic holds its own amount, and gives the commission of that amount.
        """
        if self.arithmetic:
            return arithmetic.commission(arithmetic.read(self.arithmetic))
        return money.times(amount, self.commission_rate)


def needs_rate_card(event: Event) -> bool:
    """Return whether an event's commission depends on its agency's rate card."""
    return event.commission is None and event.commission_rate is None and not has_terms_of_sale(event)


def has_terms_of_sale(event: Event) -> bool:
    """Return whether the claim of its sale fixes an event's terms: it is a void, a linked refund or a re-rating."""
    return event.type == VOID or (event.type == REFUND and event.linked_to is not None) or RERATING in event.details


def can_be_unlinked(event: Event) -> bool:
    """Return whether an event says something without the sale that it refers to: voids and re-ratings do not."""
    return event.type != VOID and RERATING not in event.details


def standalone(event: Event) -> Event:
    """Return an event without its reference to a sale, so that it has terms of its own."""
    return event.unlinked if event.linked_to else event


def named_rate_cards(events: Iterable[Event]) -> set[Version]:
    """Return the versions of rate cards that the re-ratings among these events name."""
    return {(rerating.rate_card, rerating.version) for event in events if (rerating := event.rerating)}


def needed_rate_cards(events: Iterable[Event], now: datetime) -> set[RateCardQuery]:
    """Return the agencies whose rate cards price these events, each with the instant at which it must be in force."""
    return {(event.account.agency, rate_card_time(event, now)) for event in events if needs_rate_card(event)}


def rate_card_time(event: Event, now: datetime) -> datetime:
    """Return the instant whose rate card prices an event: the event's own time, or now if it has none."""
    return event.time or now


def terms_of(event: Event, in_force: Iterable[InForce], default_commission_rate: Decimal) -> CommissionTerms:
    """Return the terms of an event that does not have the terms of a sale.

    They are those of a payment, or named by the event, or by the first rate card with a rule for it. ``in_force``: the
    rate cards in the order of precedence.
    """
    if event.commission is not None:
        return CommissionTerms(money.ZERO, BY_EVENT, arithmetic.write(Named(event.commission)))
    if event.commission_rate is not None:
        return CommissionTerms(event.commission_rate, BY_PAYMENT if event.type == PAYMENT else BY_EVENT)
    sold = sold_in(event.type, event.amount, event.account.currency, event.details)
    for one in in_force:
        if rule := one.rate_card.rule_for(sold):
            return charge_terms(rule.charge(sold), origin_of(one.document, one.version, event.account.agency))
    return CommissionTerms(default_commission_rate, BY_DEFAULT)


def own_terms(event: Event, rate_cards: RateCards, default_commission_rate: Decimal, now: datetime) -> CommissionTerms:
    """Return the terms that an event has itself, whatever it refers to, by the rate cards that it needs."""
    own, agency = standalone(event), event.account.agency
    terms = terms_of(own, rate_cards.at(agency, rate_card_time(event, now)), default_commission_rate)
    if needs_rate_card(own) and not rate_cards.is_registered(agency):
        return terms._replace(unregistered=True)
    return terms


def has_own_terms(origin: str) -> bool:
    """Return whether the origin of terms is a rate card or the default rate: not the event itself, nor another."""
    return origin == BY_DEFAULT or origin.startswith(BY_RATE_CARD)


def origin_of(document: str, version: int, agency: str) -> str:
    """Return the origin of an agency's terms by a version of a rate card."""
    own = f"{BY_RATE_CARD}{version}"
    return own if document == rate_card_name(agency) else f"{own} {document}"


def rate_card_in(origin: str, agency: str) -> Version | None:
    """Return the rate card in an origin of an agency's terms, or ``None`` if no rate card applied."""
    if not origin.startswith(BY_RATE_CARD):
        return None
    version, _, document = origin.removeprefix(BY_RATE_CARD).partition(" ")
    return document or rate_card_name(agency), int(version)


def charge_terms(charge: Charge, origin: str) -> CommissionTerms:
    """Return the terms of a charge by a rate card's rule."""
    is_plain = charge.fixed is charge.least is charge.most is None
    return CommissionTerms(arithmetic.fraction(charge.percent), origin, "" if is_plain else arithmetic.write(charge))


def refund_terms(amount: Decimal, sale: CommissionTerms, left: Decimal, *, is_void: bool = False) -> CommissionTerms:
    """Return the terms of a refund or void (an amount of 0 or less), with ``left`` what is not refunded of its sale.

    A refund leaves a fixed fee that the sale's terms keep; a void gives it back. The amount of a void that takes a
    refund back is above 0.
    """
    if not sale.arithmetic:
        return CommissionTerms(sale.commission_rate, BY_SALE)
    charge = arithmetic.read(sale.arithmetic)
    commission = sale.commission(money.ZERO)
    if not isinstance(charge, Charge) or commission is None:
        raise ValueError(f"{sale.arithmetic!r} is no arithmetic of a sale")
    before = money.add(charge.of, money.negated(left))
    after = money.add(before, money.negated(amount))
    kept = charge.kept_of(commission) if charge.of > 0 else money.ZERO
    share = Share(
        money.add(commission, money.negated(kept)), charge.of, before, after, kept if is_void and kept else None
    )
    return CommissionTerms(sale.commission_rate, BY_SALE, arithmetic.write(share))


def taken_back_terms(amount: Decimal, refund: CommissionTerms) -> CommissionTerms | None:
    """Return the terms of a void that takes back a refund of an amount (below 0) whole, by the refund's own terms.

    ``None`` if the commission needs more than 38 digits.
    """
    if not refund.arithmetic:
        return CommissionTerms(refund.commission_rate, BY_REFUND)
    given_back = refund.commission(amount)
    if given_back is None:
        return None
    share = Share(given_back, amount, money.ZERO, amount)
    return CommissionTerms(refund.commission_rate, BY_REFUND, arithmetic.write(share))


def commission_left(
    terms: CommissionTerms, amount: Decimal, refunded: Decimal, *, is_void: bool = False
) -> Decimal | None:
    """Return the commission of an amount on some terms, less the parts that refunds of it (0 or less) have given back.

    ``is_void``: whether a void has given back the kept fee, too. ``None`` if it needs more than 38 digits.
    """
    charged = terms.commission(amount)
    if charged is None or refunded.is_zero():
        return charged
    given_back = refund_terms(refunded, terms, amount, is_void=is_void).commission(refunded)
    left = None if given_back is None else money.add(charged, given_back)
    return left if left is not None and money.fits(left) else None


def terms_by(rate_card: RateCard, facts: Mapping[str, str], origin: str) -> CommissionTerms | None:
    """Return the terms of a recorded event by a rate card, or ``None`` if the rate card does not price it.

    It does not if no rule covers the event, or if the rate card is valid only from a later instant on. ``origin``: that
    of the terms.
    """
    if parse_iso(facts.get("time") or facts["recorded_at"]) < rate_card.valid_from:
        return None
    sold = sold_in(facts["type"], Decimal(facts["amount"]), facts["currency"], facts)
    rule = rate_card.rule_for(sold)
    return charge_terms(rule.charge(sold), origin) if rule else None


def rerating_terms(due: Decimal, paid: Decimal, commission_rate: Decimal) -> CommissionTerms:
    """Return the terms of a re-rating: the commission due for what is left of a sale, less the commission paid."""
    return CommissionTerms(commission_rate, BY_RERATING, arithmetic.write(Difference(due, paid)))


def sold_in(type_: str, amount: Decimal, currency: str, details: Mapping[str, str]) -> Sold:
    """Return the part of an event that a rate card prices; adjustments and amounts of 0 have no items."""
    # A fee on a sale of 0 could never be refunded: a refund gets the part of the commission for its amount.
    items = None if type_ == ADJUSTMENT or amount.is_zero() else Decimal(details.get("quantity", _ONE)).copy_abs()
    return Sold(amount, currency, items, details.get("category", ""), details.get("location", ""))


def commission_too_long(event: Event) -> Rejection:
    """Return the rejection of an event whose commission would need more than 38 digits."""
    problem = FieldProblem(
        "data.amount",
        f"gives a commission of more than {money.MAX_DIGITS} digits by the terms in force",
        "fewer digits, or an event that names its commission_rate",
    )
    return Rejection(event.identity.source, event.identity.id, (problem,))
