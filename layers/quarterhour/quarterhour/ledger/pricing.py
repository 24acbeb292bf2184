"""What commission an event pays: as it says itself, as its sale did, by its agency's rate card, or at the default rate.

Decided when the event is claimed, and stored with it; nothing that comes later changes it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.ledger.event import ADJUSTMENT, Event
from quarterhour.model import money
from quarterhour.rate_cards import arithmetic
from quarterhour.rate_cards.arithmetic import Charge, Named, Share
from quarterhour.rate_cards.plan import InForce, Wanted
from quarterhour.rate_cards.rate_card import Sold

BY_EVENT: Final = "event"
"""The terms of an event that names its rate, or its commission."""
BY_SALE: Final = "sale"
"""The terms of a linked refund."""
BY_DEFAULT: Final = "default"
BY_CARD: Final = "card "
"""What the terms begin with where a rate card gives them; its version follows."""
_ONE: Final = Decimal(1)


class Price(NamedTuple):
    """The rate of an event's commission, where its terms come from, and the arithmetic where it is more than the rate.

    ``terms`` is empty where the event was claimed before they were told.
    """

    rate: Decimal
    terms: str
    arithmetic: str = ""

    def commission(self, amount: Decimal) -> Decimal | None:
        """Return the commission of an amount at this price, ``None`` where it needs more than 38 digits.

        The arithmetic holds the amount that it was made for, and gives the commission of that.
        """
        if self.arithmetic:
            return arithmetic.commission(arithmetic.read(self.arithmetic))
        return money.times(amount, self.rate)


def is_open(event: Event) -> bool:
    """Tell whether an event leaves its commission to its agency's card."""
    return event.commission is None and event.commission_rate is None and event.refunded_sale is None


def wanted_cards(events: Iterable[Event], now: datetime) -> set[Wanted]:
    """Return whose cards these events need, and as of when: an event's own time, or now where it has none."""
    return {(event.account.agency, card_time(event, now)) for event in events if is_open(event)}


def card_time(event: Event, now: datetime) -> datetime:
    """Return as of when a card is in force for an event that is recorded now."""
    return event.time or now


def price_of(event: Event, card: InForce | None, default_rate: Decimal) -> Price:
    """Price an event that is no linked refund, by the card in force for it."""
    if event.commission is not None:
        return Price(money.ZERO, BY_EVENT, arithmetic.write(Named(event.commission)))
    if event.commission_rate is not None:
        return Price(event.commission_rate, BY_EVENT)
    sold = sold_by(event.type, event.amount, event.account.currency, event.details)
    rule = card.card.rule_for(sold) if card else None
    if card is None or rule is None:
        return Price(default_rate, BY_DEFAULT)
    return charged(rule.charge(sold), f"{BY_CARD}{card.version}")


def charged(charge: Charge, terms: str) -> Price:
    """Return the price that a charge makes."""
    is_plain = charge.fixed is charge.least is charge.most is None
    return Price(arithmetic.rate(charge.percent), terms, "" if is_plain else arithmetic.write(charge))


def refund_price(amount: Decimal, sale: Price, left: Decimal) -> Price:
    """Price a refund (an amount of 0 or less) of a sale of which so much is left."""
    if not sale.arithmetic:
        return Price(sale.rate, BY_SALE)
    charge = arithmetic.read(sale.arithmetic)
    commission = sale.commission(money.ZERO)
    if not isinstance(charge, Charge) or commission is None:
        raise ValueError(f"{sale.arithmetic!r} is no arithmetic of a sale")
    before = money.add(charge.of, money.negated(left))
    after = money.add(before, money.negated(amount))
    return Price(sale.rate, BY_SALE, arithmetic.write(Share(commission, charge.of, before, after)))


def sold_by(type_: str, amount: Decimal, currency: str, details: Mapping[str, str]) -> Sold:
    """Return what a card looks at in an event; for nothing, and by an adjustment, no item is sold or given back."""
    # A fee on a sale of nothing could never be taken back: refunds take back what falls to their amount.
    items = None if type_ == ADJUSTMENT or amount.is_zero() else Decimal(details.get("quantity", _ONE)).copy_abs()
    return Sold(amount, currency, items, details.get("category", ""), details.get("location", ""))
