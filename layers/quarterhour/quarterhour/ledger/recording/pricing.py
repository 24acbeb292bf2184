"""Pricing, the pure part: an event's commission by the event itself, its sale, a rate card or the default rate.

The terms are decided when the event is claimed, and stored with the claim. They never change after that.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.ledger.events.event import ADJUSTMENT, PAYMENT, REFUND, RERATING, SALE, VOID, Event, Rejection
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.model import money
from quarterhour.model.charges import COMMISSION, Charges
from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import FieldProblem
from quarterhour.registry.documents.keys import rate_card_name
from quarterhour.registry.rate_cards import arithmetic
from quarterhour.registry.rate_cards.arithmetic import Charge, ChargePart, Named, OrderFee
from quarterhour.registry.rate_cards.charge import Pricing, Sold
from quarterhour.registry.rate_cards.plan import InForce, RateCardQuery, RateCards, Version
from quarterhour.registry.rate_cards.rate_card import RateCard, Rule

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
_HUNDRED: Final = Decimal(100)


class CommissionTerms(NamedTuple):
    """Commission rate and origin of an event's commission, and an arithmetic if the rate is not enough.

    ``commission_rate``: that of the charge ``commission``, or of the first one. ``origin`` is one of the constants
    above; after ``BY_RATE_CARD`` with a version and perhaps a document. ``unregistered``: the rate cards were looked up
    for an agency that was not registered. ``lacks``: what a charge needs and the event does not say. ``in_order``: the
    event is a line of an order, and the rate card has a fee that the order pays once: its arithmetic has that fee
    until it is decided which line bears it.
    """

    commission_rate: Decimal
    origin: str
    arithmetic: str = ""
    unregistered: bool = False
    lacks: str = ""
    in_order: bool = False

    @property
    def order_fees(self) -> frozenset[str]:
        """The names of the charges with a fee that the order pays once."""
        entries = arithmetic.read(self.arithmetic) if self.arithmetic else []
        return frozenset(one.name for one in entries if isinstance(one.how, OrderFee))

    def bearing(self, names: Collection[str], amount: Decimal) -> "CommissionTerms":
        """Return the terms of an event of an amount that bears the fees of the order of these names alone."""
        if not self.arithmetic:
            return self
        entries = [
            one for one in arithmetic.read(self.arithmetic) if not isinstance(one.how, OrderFee) or one.name in names
        ]
        return self._replace(arithmetic=_written(entries, amount))

    def commission(self, amount: Decimal) -> Decimal | None:
        """Return the commission of an amount on these terms, or ``None`` if it needs more than 38 digits.

        An arithmetic holds its own amount, and gives the commission of that amount.
        """
        if self.arithmetic:
            found = self.charges(amount)
            return found and found.commission
        return money.times(amount, self.commission_rate)

    def charges(self, amount: Decimal) -> Charges | None:
        """Return the charges of which ``commission`` returns the sum, by name."""
        if self.arithmetic:
            return arithmetic.charges(arithmetic.read(self.arithmetic))
        commission = money.times(amount, self.commission_rate)
        return None if commission is None else Charges({COMMISSION: commission}, {})

    def entries(self, amount: Decimal) -> list[ChargePart]:
        """Return the arithmetic, or that of the rate and an amount."""
        if self.arithmetic:
            return arithmetic.read(self.arithmetic)
        return [ChargePart(COMMISSION, Charge(money.multiply(self.commission_rate, _HUNDRED), amount))]


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


def terms_of(
    event: Event,
    in_force: Iterable[InForce],
    default_commission_rate: Decimal,
    pricing: Pricing = Pricing(),  # noqa: B008 - it is immutable
) -> CommissionTerms:
    """Return the terms of an event that does not have the terms of a sale.

    They are those of a payment, or named by the event, or by the first rate card with a rule for it. ``in_force``: the
    rate cards in the order of precedence.
    """
    if event.commission is not None:
        return CommissionTerms(
            money.ZERO, BY_EVENT, arithmetic.write([ChargePart(COMMISSION, Named(event.commission))])
        )
    if event.commission_rate is not None:
        return CommissionTerms(event.commission_rate, BY_PAYMENT if event.type == PAYMENT else BY_EVENT)
    sold = sold_in(event.type, event.amount, event.account.currency, event.details)
    for one in in_force:
        if rule := one.rate_card.rule_for(sold):
            origin = origin_of(one.document, one.version, event.account.agency)
            terms = rule_terms(rule, sold, pricing, origin)
            return _in_order(terms, one.rate_card, sold, event.type) if sold.in_order else terms
    return CommissionTerms(default_commission_rate, BY_DEFAULT)


def own_terms(event: Event, rate_cards: RateCards, now: datetime, settings: RecordingSettings) -> CommissionTerms:
    """Return the terms that an event has itself, whatever it refers to, by the rate cards that it needs."""
    own = standalone(event)
    if not needs_rate_card(own):
        return terms_of(own, (), settings.commission_rate)
    agency, at = event.account.agency, rate_card_time(event, now)
    group = rate_cards.group(agency, at)
    pricing = Pricing(settings.rounding, group)
    terms = terms_of(own, rate_cards.at(agency, group, at), settings.commission_rate, pricing)
    return terms if rate_cards.is_registered(agency) else terms._replace(unregistered=True)


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


def rule_terms(rule: Rule, sold: Sold, pricing: Pricing, origin: str) -> CommissionTerms:
    """Return the terms by a rate card's rule."""
    if len(rule.charges) == 1 and rule.charges[0].is_short:
        return CommissionTerms(arithmetic.fraction(rule.charges[0].percent), origin)
    entries = list(rule.entries(sold, pricing))
    charges = {entry.name: entry.how for entry in entries if isinstance(entry.how, Charge)}
    first = charges.get(COMMISSION) or next(iter(charges.values()), None)
    rate = money.ZERO if first is None else arithmetic.fraction(first.percent)
    return CommissionTerms(rate, origin, _written(entries, sold.amount), lacks=rule.lacks(sold))


def _written(entries: Sequence[ChargePart], amount: Decimal) -> str:
    """Return the text of an arithmetic; empty if it is a percentage of the amount as ``commission``, and no more."""
    first = entries[0].how if len(entries) == 1 else None
    is_plain = isinstance(first, Charge) and entries == [ChargePart(COMMISSION, Charge(first.percent, amount))]
    return "" if is_plain else arithmetic.write(entries)


def _in_order(terms: CommissionTerms, rate_card: RateCard, sold: Sold, type_: str) -> CommissionTerms:
    is_line = rate_card.is_once and sold.in_order and type_ == SALE and sold.items is not None
    return terms._replace(in_order=True) if is_line else terms


def terms_by(rate_card: RateCard, facts: Mapping[str, str], pricing: Pricing, origin: str) -> CommissionTerms | None:
    """Return the terms of a recorded event by a rate card, or ``None`` if the rate card does not price it.

    It does not if no rule covers the event, or if the rate card is not valid at its time. ``origin``: that of the
    terms.
    """
    if not rate_card.is_valid(parse_iso(facts.get("time") or facts["recorded_at"])):
        return None
    sold = sold_in(facts["type"], Decimal(facts["amount"]), facts["currency"], facts)
    rule = rate_card.rule_for(sold)
    return _in_order(rule_terms(rule, sold, pricing, origin), rate_card, sold, facts["type"]) if rule else None


def sold_in(type_: str, amount: Decimal, currency: str, details: Mapping[str, str]) -> Sold:
    """Return the part of an event that a rate card prices; adjustments and amounts of 0 have no items."""
    # A fee on a sale of 0 could never be refunded: a refund gets the part of the commission for its amount.
    items = None if type_ == ADJUSTMENT or amount.is_zero() else Decimal(details.get("quantity", _ONE)).copy_abs()
    return Sold(
        amount,
        currency,
        items,
        details.get("category", ""),
        details.get("location", ""),
        details.get("product", ""),
        Decimal(tax) if (tax := details.get("tax")) else None,
        Decimal(shipping) if (shipping := details.get("shipping")) else None,
        bool(details.get("order_id")),
    )


def commission_too_long(event: Event) -> Rejection:
    """Return the rejection of an event whose commission would need more than 38 digits."""
    problem = FieldProblem(
        "data.amount",
        f"gives a commission of more than {money.MAX_DIGITS} digits by the terms in force",
        "fewer digits, or an event that names its commission_rate",
    )
    return Rejection(event.identity.source, event.identity.id, (problem,))
