"""What recorded events would have paid under another rate card, and the adjustments that make up for it.

A sale goes together with its linked refunds, and with the adjustments that were posted for it before: what is posted is
what is missing to the new card's terms. So a second run finds nothing left to post.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import base58

from quarterhour.ledger.event import ADJUSTMENT, REFUND
from quarterhour.ledger.explanation import Facts
from quarterhour.ledger.pricing import BY_CARD, BY_DEFAULT, Price, charged, refund_price, sold_by
from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.identifiers import Account, Identity
from quarterhour.rate_cards.rate_card import RateCard

_SUFFIX_LENGTH: Final = 22
_OURS: Final = "rerate-"
_PLACE: Final = ("product", "category", "order_id", "line", "location")
"""What an adjustment takes over from its event, so that it counts where that does."""


def adjustment_id(of: Identity, number: int) -> str:
    """Return the id of an event's adjustment, counted from 1: always the same one for the same event."""
    return f"{_OURS}{number}-{_suffix(of)}"


def _suffix(of: Identity) -> str:
    return base58.b58encode(of.hash).decode()[:_SUFFIX_LENGTH]


@dataclass(slots=True)
class Rerated:
    """An event that left its commission open, with what belongs to it: its commission as it stands, and as it would be.

    ``price`` is the new card's; ``refunded`` and ``paid`` sum up its linked refunds, and all commissions until now.
    """

    facts: Facts
    price: Price
    paid: Decimal
    refunded: Decimal = money.ZERO
    adjustments: int = 0

    @property
    def identity(self) -> Identity:
        """The event's."""
        return Identity(self.facts["source"], self.facts["id"])

    @property
    def account(self) -> Account:
        """The event's."""
        return Account(self.facts["agency"], self.facts["currency"])

    @property
    def due(self) -> Decimal:
        """What is to be paid by the new card, less what its refunds take back of it.

        Raises ``ValueError`` where that cannot be exact.
        """
        amount = Decimal(self.facts["amount"])
        paid, back = self.price.commission(amount), self._given_back(amount)
        if paid is None or back is None:
            raise ValueError(f"the commission of {self.identity} would need more than {money.MAX_DIGITS} digits")
        return money.add(paid, back)

    def _given_back(self, amount: Decimal) -> Decimal | None:
        if self.refunded.is_zero():
            return money.ZERO
        return refund_price(self.refunded, self.price, amount).commission(self.refunded)

    @property
    def difference(self) -> Decimal:
        """What is missing, or (below 0) too much."""
        return money.add(self.due, money.negated(self.paid))

    def is_own(self, facts: Facts) -> bool:
        """Tell whether an adjustment was posted for this event by a run before."""
        return facts["type"] == ADJUSTMENT and facts["id"].endswith(f"-{_suffix(self.identity)}")

    def add(self, facts: Facts) -> None:
        """Take in a linked refund, or an adjustment that was posted before."""
        self.paid = money.add(self.paid, Decimal(facts["commission"]))
        if facts["type"] == REFUND:
            self.refunded = money.add(self.refunded, Decimal(facts["amount"]))
        else:
            self.adjustments += 1

    def adjustment(self) -> dict[str, Any]:
        """Return the CloudEvent that makes up for the difference: commission alone, linked to the event."""
        place = {name: self.facts[name] for name in _PLACE if self.facts.get(name)}
        return {
            "specversion": "1.0",
            "source": self.identity.source,
            "id": adjustment_id(self.identity, self.adjustments + 1),
            "type": ADJUSTMENT,
            "subject": self.account.agency,
            "data": {
                "amount": "0",
                "currency": self.account.currency,
                "commission": money.plain(self.difference),
                "refers_to": self.identity.id,
                **place,
            },
        }


def rerated(events: Iterable[Facts], card: RateCard, start: datetime, end: datetime) -> list[Rerated]:
    """Return what the card covers of the events that were recorded from the start to before the end.

    ``events``: all that were recorded from the start until now, as refunds and adjustments may come later.
    """
    found: dict[Identity, Rerated] = {}
    linked: list[Facts] = []
    for facts in events:
        if facts.get("refers_to") and (facts["type"] == REFUND or facts["id"].startswith(_OURS)):
            linked.append(facts)
        elif start <= parse_iso(facts["recorded_at"]) < end and (price := _price(facts, card)):
            one = Rerated(facts, price, Decimal(facts["commission"]))
            found[one.identity] = one
    for facts in linked:
        of = found.get(Identity(facts["source"], facts["refers_to"]))
        if of and (facts["type"] == REFUND or of.is_own(facts)):
            of.add(facts)
    return list(found.values())


def _price(facts: Facts, card: RateCard) -> Price | None:
    """Return what the card asks for an event; ``None`` where that named its own terms, or the card is not for it."""
    terms = facts.get("terms", "")
    at = parse_iso(facts.get("time") or facts["recorded_at"])
    if not (terms == BY_DEFAULT or terms.startswith(BY_CARD)) or at < card.valid_from:
        return None
    sold = sold_by(facts["type"], Decimal(facts["amount"]), facts["currency"], facts)
    rule = card.rule_for(sold)
    return charged(rule.charge(sold), BY_CARD) if rule else None
