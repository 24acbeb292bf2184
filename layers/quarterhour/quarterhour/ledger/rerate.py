"""Rerating, the pure part: the commissions of recorded events by another rate card, and the events that apply it.

A sale is rerated together with its linked refunds and its earlier adjustments. The ledger computes the difference when
it records a re-rating, so a second run has nothing to post.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import count
from typing import Any, Final, NamedTuple

from quarterhour.ledger.event import ADJUSTMENT, REFUND, RERATING, VOID, Rerating, reference
from quarterhour.ledger.explanation import Facts
from quarterhour.ledger.pricing import BY_RATE_CARD, CommissionTerms, commission_left, has_own_terms, terms_by
from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.identifiers import Account, Identity, base58_prefix
from quarterhour.registry.rate_cards.rate_card import RateCard

_SUFFIX_LENGTH: Final = 22
_MOST_DIGITS: Final = 9
"""The most digits of an adjustment's number."""
_PREFIX: Final = "rerate-"
_REVERSALS: Final = frozenset({REFUND, VOID})
_COPIED: Final = ("product", "category", "order_id", "line", "location")
"""The details that an adjustment copies from its event, so that both count under the same product and location."""


def adjustment_id(identity: Identity, number: int) -> str:
    """Return the id of an event's adjustment of this number, from 1 on; it depends on nothing else."""
    return f"{_PREFIX}{number}-{_suffix(identity)}"


def is_adjustment_id(id_: str, identity: Identity) -> bool:
    """Return whether an id is that of an adjustment of an event."""
    number = id_.removeprefix(_PREFIX).partition("-")[0]
    return number.isdecimal() and len(number) <= _MOST_DIGITS and id_ == adjustment_id(identity, int(number))


def _suffix(identity: Identity) -> str:
    return base58_prefix(identity.hash, _SUFFIX_LENGTH)


class ReratingRequest(NamedTuple):
    """An operator's request to rerate: the rate card, and the reason."""

    rerating: Rerating
    reason: str


@dataclass(slots=True)
class Rerated:
    """An event priced again by a new rate card, with the totals of its linked refunds and earlier adjustments.

    ``terms``: by the new rate card. ``paid``: the commissions of the event, its refunds and its adjustments. ``loose``:
    those of adjustments that 0.1.0 posted, which later refunds do not follow. ``refunded``: the amounts of its refunds,
    0 or less. ``posted``: the ids of the adjustments that earlier runs have posted for it.
    """

    facts: Facts
    terms: CommissionTerms
    paid: Decimal
    loose: Decimal = money.ZERO
    refunded: Decimal = money.ZERO
    posted: set[str] = field(default_factory=set)

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
        due = commission_left(self.terms, Decimal(self.facts["amount"]), self.refunded)
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
        return bool(self.difference) or bool(self.loose)

    def add(self, facts: Facts) -> None:
        """Add an event that refers to this one, if it is a refund, a void, a re-rating or an earlier adjustment."""
        own = facts["type"] == ADJUSTMENT and facts["id"].startswith(_PREFIX) and facts["id"].endswith(self._suffix)
        if own:
            self.posted.add(facts["id"])
            if RERATING not in facts:
                self.loose = money.add(self.loose, Decimal(facts["commission"]))
        if facts["type"] in _REVERSALS:
            self.refunded = money.add(self.refunded, Decimal(facts["amount"]))
        if own or facts["type"] in _REVERSALS or RERATING in facts:
            self.paid = money.add(self.paid, Decimal(facts["commission"]))

    def adjustments(self, request: ReratingRequest) -> Iterator[tuple[dict[str, Any], Decimal]]:
        """Yield the CloudEvents to post, each with its commission: what 0.1.0 posted is reversed, then the re-rating.

        Each is left out if it would change nothing. Each has the first id that is not taken. So the reversal that an
        interrupted run lacked is sent again under its own id.
        """
        ids = (id_ for id_ in (adjustment_id(self.identity, number) for number in count(1)) if id_ not in self.posted)
        if self.loose:
            back = money.negated(self.loose)
            yield self._adjustment(next(ids), request, amount="0", commission=money.plain(back)), back
        if difference := _minus(self.due, _minus(self.paid, self.loose)):
            yield self._adjustment(next(ids), request, rerating=request.rerating.as_dict()), difference

    def _adjustment(self, id_: str, request: ReratingRequest, **own: str | dict[str, Any]) -> dict[str, Any]:
        copied = {name: self.facts[name] for name in _COPIED if self.facts.get(name)}
        return {
            "specversion": "1.0",
            "source": self.identity.source,
            "id": id_,
            "type": ADJUSTMENT,
            "subject": self.account.agency,
            "data": {
                "currency": self.account.currency,
                "refers_to": self.identity.id,
                "reason": request.reason,
                **copied,
                **own,
            },
        }

    @property
    def _suffix(self) -> str:
        return f"-{_suffix(self.identity)}"


def rerated(events: Iterable[Facts], rate_card: RateCard, start: datetime, end: datetime) -> list[Rerated]:
    """Return the events recorded from the start to before the end that a rate card prices, priced by it.

    ``events``: all events recorded from the start until now, because refunds and adjustments can be later.
    """
    by_identity: dict[Identity, Rerated] = {}
    linked: list[tuple[Identity, Facts]] = []
    for facts in events:
        target = reference(facts["source"], facts)
        if target and (facts["type"] in _REVERSALS or facts["id"].startswith(_PREFIX) or RERATING in facts):
            linked.append((target, facts))
        elif (
            start <= parse_iso(facts["recorded_at"]) < end
            and has_own_terms(facts.get("terms", ""))
            and (terms := terms_by(rate_card, facts, BY_RATE_CARD))
        ):
            event = Rerated(facts, terms, Decimal(facts["commission"]))
            by_identity[event.identity] = event
    for target, facts in linked:
        if target in by_identity:
            by_identity[target].add(facts)
    return list(by_identity.values())


def by_account(found: Iterable[Rerated]) -> dict[Account, list[Rerated]]:
    """Return rerated events by their account, in the order of accounts."""
    accounts: dict[Account, list[Rerated]] = {}
    for one in found:
        accounts.setdefault(one.account, []).append(one)
    return dict(sorted(accounts.items()))


def sums_of(events: Collection[Rerated]) -> dict[str, Any]:
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
