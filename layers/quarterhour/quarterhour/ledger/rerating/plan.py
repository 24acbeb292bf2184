"""Rerating, the pure part: the commissions of recorded events by another rate card, and the events that apply it.

A sale is rerated together with its linked refunds and its earlier adjustments. The ledger computes the difference when
it records a re-rating, so a second run has nothing to post.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.ledger.events.event import ADJUSTMENT, REFUND, RERATING, VOID, Rerating, reference
from quarterhour.ledger.events.rerating_ids import adjustment_id, is_adjustment_id
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.recording.pricing import (
    BY_RATE_CARD,
    BY_REFUND,
    CommissionTerms,
    commission_left,
    has_own_terms,
    terms_by,
)
from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.identifiers import Account, Identity
from quarterhour.registry.rate_cards.rate_card import RateCard

if TYPE_CHECKING:
    from quarterhour.ledger.rerating import api

_REVERSALS: Final = frozenset({REFUND, VOID})
_COPIED: Final = ("product", "category", "order_id", "line", "location")
"""The details that an adjustment copies from its event, so that both count under the same product and location."""


class ReratingRequest(NamedTuple):
    """An operator's request to rerate: the rate card, and the reason."""

    rerating: Rerating
    reason: str


@dataclass(slots=True)
class Rerated:
    """An event priced again by a new rate card, with the totals of its linked refunds and earlier re-ratings.

    ``terms``: by the new rate card. ``paid``: the commissions of the event, its refunds and its re-ratings.
    ``refunded``: the amounts of its refunds that stand. ``posted``: the ids of adjustments of it that are taken.
    ``is_voided``: whether it was voided, so that it keeps no fee.
    """

    facts: Facts
    terms: CommissionTerms
    paid: Decimal
    refunded: Decimal = money.ZERO
    posted: set[str] = field(default_factory=set)
    is_voided: bool = False

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
        due = commission_left(self.terms, Decimal(self.facts["amount"]), self.refunded, is_void=self.is_voided)
        if due is None:
            raise ValueError(f"the commission of {self.identity} would need more than {money.MAX_DIGITS} digits")
        return due

    @property
    def difference(self) -> Decimal:
        """The commission still to pay; below 0, the commission paid too much."""
        return _minus(self.due, self.paid)

    @property
    def is_changed(self) -> bool:
        """Whether there is something to post."""
        return bool(self.difference)

    def add(self, facts: Facts) -> None:
        """Add an event that refers to this one, if it is a refund, a void or a re-rating, or has the id of one."""
        if is_adjustment_id(facts["id"], self.identity):
            self.posted.add(facts["id"])
        if facts["type"] == VOID and facts.get("terms") != BY_REFUND:
            self.is_voided = True
        if facts["type"] in _REVERSALS:
            self.refunded = money.add(self.refunded, Decimal(facts["amount"]))
        if facts["type"] in _REVERSALS or RERATING in facts:
            self.paid = money.add(self.paid, Decimal(facts["commission"]))

    def adjustment(self, request: ReratingRequest) -> dict[str, Any]:
        """Return the CloudEvent that applies the change, with the first id that is not taken."""
        ids = (adjustment_id(self.identity, number) for number in count(1))
        copied = {name: self.facts[name] for name in _COPIED if self.facts.get(name)}
        return {
            "specversion": "1.0",
            "source": self.identity.source,
            "id": next(id_ for id_ in ids if id_ not in self.posted),
            "type": ADJUSTMENT,
            "subject": self.account.agency,
            "data": {
                "currency": self.account.currency,
                "refers_to": self.identity.id,
                "reason": request.reason,
                **copied,
                "rerating": request.rerating.as_dict(),
            },
        }


def rerated(events: Iterable[Facts], rate_card: RateCard, start: datetime, end: datetime) -> list[Rerated]:
    """Return the events recorded from the start to before the end that a rate card prices, priced by it.

    ``events``: all events recorded from the start until now, because refunds and adjustments can be later.
    """
    by_identity: dict[Identity, Rerated] = {}
    linked: list[tuple[Identity, Facts]] = []
    for facts in events:
        target = reference(facts["source"], facts)
        if target and (facts["type"] in _REVERSALS or RERATING in facts or is_adjustment_id(facts["id"], target)):
            linked.append((target, facts))
        elif (
            start <= parse_iso(facts["recorded_at"]) < end
            and has_own_terms(facts.get("terms", ""))
            and (terms := terms_by(rate_card, facts, BY_RATE_CARD))
        ):
            event = Rerated(facts, terms, Decimal(facts["commission"]))
            by_identity[event.identity] = event
    sales = {Identity(facts["source"], facts["id"]): target for target, facts in linked if facts["type"] == REFUND}
    for target, facts in linked:
        # A void that takes a refund back corrects the sale of the refund.
        sale = sales.get(target, target)
        if sale in by_identity:
            by_identity[sale].add(facts)
    return list(by_identity.values())


def by_account(found: Iterable[Rerated]) -> dict[Account, list[Rerated]]:
    """Return rerated events by their account, in the order of accounts."""
    accounts: dict[Account, list[Rerated]] = {}
    for one in found:
        accounts.setdefault(one.account, []).append(one)
    return dict(sorted(accounts.items()))


def sums_of(events: Collection[Rerated]) -> "api.ReratedSums":
    """Return the sums of rerated events: their number, how many change, their commissions, and the difference."""
    paid, due = money.total(one.paid for one in events), money.total(one.due for one in events)
    return {
        "events": len(events),
        "changed": sum(one.is_changed for one in events),
        "commission": money.plain(paid),
        "would_be": money.plain(due),
        "difference": money.plain(_minus(due, paid)),
    }


def _minus(left: Decimal, right: Decimal) -> Decimal:
    return money.add(left, money.negated(right))
