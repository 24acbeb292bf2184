"""Rerating, the pure part: the commissions of recorded events by another rate card, and the events that apply it.

A sale is rerated together with its linked refunds and its earlier adjustments. The ledger computes the difference when
it records a re-rating, so a second run has nothing to post.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from quarterhour.ledger.events.event import ADJUSTMENT, REFUND, RERATING, VOID, Rerating, reference
from quarterhour.ledger.events.rerating_ids import adjustment_id, is_adjustment_id
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.recording.order_fees import order_key
from quarterhour.ledger.recording.pricing import (
    BY_RATE_CARD,
    BY_REFUND,
    CommissionTerms,
    has_own_terms,
    terms_by,
)
from quarterhour.ledger.recording.remaining import Left, OwnParts, Parts, charges_left, is_equal, left_after
from quarterhour.model import money
from quarterhour.model.charges import Charges, read_charges, total
from quarterhour.model.clock import parse_iso
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.periods import Period
from quarterhour.model.tiers import scheme_of, stacked
from quarterhour.registry.rate_cards.charge import Pricing
from quarterhour.registry.rate_cards.rate_card import RateCard

if TYPE_CHECKING:
    from quarterhour.ledger.rerating import api
    from quarterhour.model.tiers import Per

_REVERSALS: Final = frozenset({REFUND, VOID})
_COPIED: Final = ("product", "category", "order_id", "line", "location")
"""The details that an adjustment copies from its event, so that both count under the same product and location."""

PricingOf = Callable[[Facts], Pricing]
"""A function that returns what the charges of a recorded event depend on beside it."""
Fee = tuple[str | None, str]
"""A fee that an order pays once: the key of the order, and the name of the charge."""
BearersOf = Callable[[Collection[Facts]], Mapping[Fee, Identity]]
"""A function that returns which lines bear the fees of the orders of some lines; without a fee that none bears."""


class ReratingRequest(NamedTuple):
    """An operator's request to rerate: the rate card, and the reason."""

    rerating: Rerating
    reason: str


@dataclass(slots=True)
class Rerated:
    """An event priced again by a new rate card, with the totals of its linked refunds and earlier re-ratings.

    ``terms``: by the new rate card. ``left``: of the event after the refunds that stand; it is void if it was voided,
    so that it keeps no fee. ``recorded``: the charges of the event, its refunds and its re-ratings. ``posted``: the ids
    of adjustments of it that are taken.
    """

    facts: Facts
    terms: CommissionTerms
    left: Left
    recorded: list[Charges]
    posted: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, facts: Facts, terms: CommissionTerms) -> Self:
        """Return a recorded event, priced again on some terms."""
        return cls(facts, terms, Left(Decimal(facts["amount"])), [charges_of(facts)])

    @property
    def identity(self) -> Identity:
        """The event's identity."""
        return Identity(self.facts["source"], self.facts["id"])

    @property
    def account(self) -> Account:
        """The event's account."""
        return Account(self.facts["agency"], self.facts["currency"])

    @property
    def paid_charges(self) -> Charges:
        """The charges that were recorded."""
        return total(self.recorded)

    @property
    def is_void(self) -> bool:
        """Whether nothing stands of it, so that no rate card changes anything: a fee may have stayed with its order."""
        return self.left.is_void and self.left.amount.is_zero()

    @property
    def due_charges(self) -> Charges:
        """The charges due by the new rate card, less the refunded part of them.

        Raises ``ValueError`` if they need more than 38 digits.
        """
        if self.is_void:
            return self.paid_charges
        due = charges_left(self.terms, Parts.of(self.facts), self.left)
        if due is None:
            raise ValueError(f"the commission of {self.identity} would need more than {money.MAX_DIGITS} digits")
        return due

    @property
    def paid(self) -> Decimal:
        """The commission that was recorded."""
        return self.paid_charges.commission

    @property
    def due(self) -> Decimal:
        """The commission due by the new rate card; raises as ``due_charges`` does."""
        return self.due_charges.commission

    @property
    def difference(self) -> Decimal:
        """The commission still to pay; below 0, the commission paid too much."""
        return _minus(self.due, self.paid)

    @property
    def is_changed(self) -> bool:
        """Whether there is something to post."""
        return not is_equal(self.due_charges, self.paid_charges)

    def add(self, facts: Facts, refund: Facts | None = None) -> None:
        """Add an event that refers to this one, if it is a refund, a void or a re-rating, or has the id of one.

        ``refund``: the one of this event that a void takes back.
        """
        if is_adjustment_id(facts["id"], self.identity):
            self.posted.add(facts["id"])
        if facts["type"] in _REVERSALS:
            own = OwnParts.of(facts) if refund is None else OwnParts.of(refund).negated
            self.left = left_after(Parts.of(self.facts), self.left, Decimal(facts["amount"]), own)
        if facts["type"] == VOID and facts.get("terms") != BY_REFUND:
            self.left = self.left._replace(is_void=True)
        if facts["type"] in _REVERSALS or RERATING in facts:
            self.recorded.append(charges_of(facts))

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


def charges_of(facts: Facts) -> Charges:
    """Return the recorded charges of an event."""
    return read_charges(facts.get("charges", ""), Decimal(facts["commission"]))


def rerated(
    events: Iterable[Facts],
    rate_card: RateCard,
    span: tuple[datetime, datetime],
    pricing_of: PricingOf,
    bearers_of: BearersOf,
) -> list[Rerated]:
    """Return the events recorded from the start to before the end of a span that a rate card prices, priced by it.

    ``events``: all events recorded from the start until now, because refunds and adjustments can be later.
    ``bearers_of`` takes one line of each order, as a line that was recorded before the start can bear its fees.
    """
    by_identity: dict[Identity, Rerated] = {}
    linked: list[tuple[Identity, Facts]] = []
    for facts in events:
        target = reference(facts["source"], facts)
        if target and (facts["type"] in _REVERSALS or RERATING in facts or is_adjustment_id(facts["id"], target)):
            linked.append((target, facts))
        elif (
            span[0] <= parse_iso(facts["recorded_at"]) < span[1]
            and has_own_terms(facts.get("terms", ""))
            and (terms := terms_by(rate_card, facts, pricing_of(facts), BY_RATE_CARD))
        ):
            event = Rerated.of(facts, terms)
            by_identity[event.identity] = event
    refunds = {
        Identity(facts["source"], facts["id"]): (target, facts) for target, facts in linked if facts["type"] == REFUND
    }
    for target, facts in linked:
        # A void that takes a refund back corrects the sale of the refund.
        sale, refund = refunds.get(target, (target, None))
        if sale in by_identity:
            by_identity[sale].add(facts, refund)
    lines = [one for one in by_identity.values() if one.terms.in_order]
    _bear_fees(lines, bearers_of({order_key(one.facts): one.facts for one in lines if one.terms.order_fees}.values()))
    return list(by_identity.values())


def _bear_fees(lines: Collection[Rerated], bearers: Mapping[Fee, Identity]) -> None:
    """Leave the fees that an order pays once with the line that bears it, or else with the first that stands."""
    found = dict(bearers)
    for one in lines:
        fees = {(order_key(one.facts), name) for name in one.terms.order_fees}
        for fee in fees if not one.is_void else ():
            found.setdefault(fee, one.identity)
        owned = {name for key, name in fees if found.get((key, name)) == one.identity}
        one.terms = one.terms.bearing(owned, Decimal(one.facts["amount"]))


def by_account(found: Iterable[Rerated]) -> dict[Account, list[Rerated]]:
    """Return rerated events by their account, in the order of accounts."""
    accounts: dict[Account, list[Rerated]] = {}
    for one in found:
        accounts.setdefault(one.account, []).append(one)
    return dict(sorted(accounts.items()))


def sums_of(events: Collection[Rerated]) -> "api.ReratedSums":
    """Return the sums of rerated events: their number, how many change, their commissions, and the difference.

    What tiers charge of these events is part of both commissions: of each span, of the turnover of the events in it.
    """
    paid = money.add(money.total(one.paid for one in events), _by_tiers(events, lambda one: one.paid_charges))
    due = money.add(money.total(one.due for one in events), _by_tiers(events, lambda one: one.due_charges))
    return {
        "events": len(events),
        "changed": sum(one.is_changed for one in events),
        "commission": money.plain(paid),
        "would_be": money.plain(due),
        "difference": money.plain(_minus(due, paid)),
    }


def _by_tiers(events: Collection[Rerated], charges: Callable[[Rerated], Charges]) -> Decimal:
    """Return what tiers charge of the turnover of events of an account, which are in the order of recording."""
    spans: dict[tuple[str, Per, str | None, Period], dict[str, Decimal]] = {}
    for event in events:
        period = Period.parse(event.facts["period"])
        for (name, text), turnover in charges(event).turnover.items():
            scheme = scheme_of(text)
            span = spans.setdefault((name, scheme.per, scheme.group, scheme.per.first(period)), {})
            span[text] = money.add(span.get(text, money.ZERO), turnover)
    stacks = (stacked([(scheme_of(text), turnover) for text, turnover in one.items()]) for one in spans.values())
    return money.total(tier.commission for stack in stacks for tiers in stack for tier in tiers)


def _minus(left: Decimal, right: Decimal) -> Decimal:
    return money.add(left, money.negated(right))
