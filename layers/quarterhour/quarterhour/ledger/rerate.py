"""Rerating, the pure part: the commissions of recorded events by another rate card, and the adjustments to them.

A sale is rerated together with its linked refunds and its earlier adjustments. An adjustment posts only the difference
to the new rate card, so a second run has nothing to post.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from quarterhour.ledger.event import ADJUSTMENT, REFUND, VOID, reference
from quarterhour.ledger.explanation import Facts
from quarterhour.ledger.pricing import BY_RATE_CARD, Price, charge_price, has_own_price, refund_price, sold_in
from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.identifiers import Account, Identity, base58_prefix
from quarterhour.rate_cards.rate_card import RateCard

_SUFFIX_LENGTH: Final = 22
_PREFIX: Final = "rerate-"
_REVERSALS: Final = frozenset({REFUND, VOID})
_COPIED: Final = ("product", "category", "order_id", "line", "location")
"""The details that an adjustment copies from its event, so that both count under the same product and location."""


def adjustment_id(identity: Identity, number: int) -> str:
    """Return the id of an event's adjustment of this number, from 1 on; it depends on nothing else."""
    return f"{_PREFIX}{number}-{_suffix(identity)}"


def _suffix(identity: Identity) -> str:
    return base58_prefix(identity.hash, _SUFFIX_LENGTH)


@dataclass(slots=True)
class Rerated:
    """An event priced again by a new rate card, with the totals of its linked refunds and earlier adjustments.

    ``price``: by the new rate card. ``paid``: the commissions of the event, its refunds and its adjustments.
    ``refunded``: the amounts of its refunds, 0 or less.
    """

    facts: Facts
    price: Price
    paid: Decimal
    refunded: Decimal = money.ZERO
    adjustments: int = 0

    @property
    def identity(self) -> Identity:
        """The event's identity."""
        return Identity(self.facts["source"], self.facts["id"])

    @property
    def account(self) -> Account:
        """The event's account."""
        return Account(self.facts["agency"], self.facts["currency"])

    @property
    def due(self) -> Decimal:
        """The commission due by the new rate card, less the refunded part of it.

        Raises ``ValueError`` if it needs more than 38 digits.
        """
        amount = Decimal(self.facts["amount"])
        commission, refund = self.price.commission(amount), self._refunded_commission(amount)
        if commission is None or refund is None:
            raise ValueError(f"the commission of {self.identity} would need more than {money.MAX_DIGITS} digits")
        return money.add(commission, refund)

    def _refunded_commission(self, amount: Decimal) -> Decimal | None:
        if self.refunded.is_zero():
            return money.ZERO
        return refund_price(self.refunded, self.price, amount).commission(self.refunded)

    @property
    def difference(self) -> Decimal:
        """The commission still to pay; below 0, the commission paid too much."""
        return money.add(self.due, money.negated(self.paid))

    def is_own(self, facts: Facts) -> bool:
        """Return whether an event is an adjustment that an earlier run posted for this one."""
        return facts["type"] == ADJUSTMENT and facts["id"].endswith(f"-{_suffix(self.identity)}")

    def add(self, facts: Facts) -> None:
        """Add a linked refund or an earlier adjustment to the totals."""
        self.paid = money.add(self.paid, Decimal(facts["commission"]))
        if facts["type"] in _REVERSALS:
            self.refunded = money.add(self.refunded, Decimal(facts["amount"]))
        else:
            self.adjustments += 1

    def adjustment(self) -> dict[str, Any]:
        """Return the CloudEvent that posts the difference: a commission without an amount, linked to the event."""
        copied = {name: self.facts[name] for name in _COPIED if self.facts.get(name)}
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
                **copied,
            },
        }


def rerated(events: Iterable[Facts], rate_card: RateCard, start: datetime, end: datetime) -> list[Rerated]:
    """Return the events recorded from the start to before the end that a rate card covers, priced by it.

    ``events``: all events recorded from the start until now, because refunds and adjustments can be later.
    """
    by_identity: dict[Identity, Rerated] = {}
    linked: list[Facts] = []
    for facts in events:
        if facts.get("refers_to") and (facts["type"] in _REVERSALS or facts["id"].startswith(_PREFIX)):
            linked.append(facts)
        elif start <= parse_iso(facts["recorded_at"]) < end and (price := _price(facts, rate_card)):
            event = Rerated(facts, price, Decimal(facts["commission"]))
            by_identity[event.identity] = event
    for facts in linked:
        target = reference(facts["source"], facts)
        referred = by_identity.get(target) if target else None
        if referred and (facts["type"] in _REVERSALS or referred.is_own(facts)):
            referred.add(facts)
    return list(by_identity.values())


def _price(facts: Facts, rate_card: RateCard) -> Price | None:
    """Return an event's price by a rate card, or ``None`` if the event named its price or no rule covers it."""
    at = parse_iso(facts.get("time") or facts["recorded_at"])
    if not has_own_price(facts.get("terms", "")) or at < rate_card.valid_from:
        return None
    sold = sold_in(facts["type"], Decimal(facts["amount"]), facts["currency"], facts)
    rule = rate_card.rule_for(sold)
    return charge_price(rule.charge(sold), BY_RATE_CARD) if rule else None
