"""Running totals: sales whose amount is that of an item so far, which edits of its order raise.

The amount that is recorded first stays. Each later one that is higher adds a sale of the difference, with the id
``<id>:edit:<number>``. So all of them are the highest amount, in whatever order the amounts come.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import takewhile
from typing import Final

from quarterhour.ledger.events.event import CUSTOMER, DETAILS, PARTS, REFUND, SALE, VOID, Event
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.outcomes import TRY_AGAIN, Outcome, Verdict
from quarterhour.ledger.recording.segment_store import SegmentStore
from quarterhour.model import money
from quarterhour.model.clock import iso_exact
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity

_AT_ONCE: Final = 8
"""How many sales of an item are looked up at a time; most have one."""
_TRIES: Final = 10
"""How often an edit is tried again that another request has recorded at the same moment."""
_IN_LEDGER: Final = frozenset({Verdict.RECORDED, Verdict.DUPLICATE})


@dataclass(frozen=True, slots=True)
class EditedItems:
    """Records what the events of running totals say beyond the first one. ``record``: records one event."""

    record: Callable[[Event], Outcome]
    claims: ClaimStore
    segments: SegmentStore

    def completed(self, event: Event, outcome: Outcome) -> Outcome:
        """Return the outcome of an event, once the sales that edits have added are as it says.

        A conflict stays one if the event differs in more than its amount.
        """
        try:
            if event.type == SALE and outcome.verdict is Verdict.CONFLICT:
                return self._raised(event, outcome)
            if event.type == VOID and outcome.verdict in _IN_LEDGER:
                return self._voided(event, outcome)
            if event.type == REFUND and outcome.verdict not in _IN_LEDGER and not event.without_sale:
                return self._given_back(event, outcome)
        except UnavailableError:
            return Outcome(*event.identity, Verdict.UNAVAILABLE, problems=(TRY_AGAIN,))
        return outcome

    def _raised(self, event: Event, outcome: Outcome) -> Outcome:
        """Record what the amount of a sale is more than what is recorded; a lower one is from before an edit."""
        for _ in range(_TRIES):
            sales = self._sales(event.identity)
            facts = self.segments.postings(sales)
            unposted = [one for one in sales if one.identity not in facts]
            if unposted:  # its request has ended too early: recorded again, it is posted
                self.record(_part(event, unposted[0].identity, _left(unposted[0])))
                continue
            if not sales or not all(_is_same(event, facts[one.identity]) for one in sales):
                return outcome
            amount = money.subtract(event.amount, _total(facts.values(), "amount"))
            if amount <= 0:
                return Outcome(*event.identity, Verdict.DUPLICATE, sales[0].receipt)
            edit = _part(event, _edit(event.identity, len(sales)), amount)
            found = self.record(replace(edit, details={**edit.details, **_parts(event, facts.values())}))
            if found.verdict is not Verdict.CONFLICT:
                return found._replace(id=event.identity.id)
        return outcome

    def _voided(self, event: Event, outcome: Outcome) -> Outcome:
        """Void what edits have added to a sale that is voided."""
        sale = event.linked_to
        for number, one in enumerate(self._sales(sale)[1:] if sale else (), 1):
            details = {**event.details, "refers_to": one.identity.id}
            part = replace(event, identity=_edit(event.identity, number), details=details, attributes=None)
            if (found := self.record(part)).verdict is Verdict.UNAVAILABLE:
                return found._replace(id=event.identity.id)
        return outcome

    def _given_back(self, event: Event, outcome: Outcome) -> Outcome:
        """Record a refund that is more than is left of one sale, and no more than of all, without its reference."""
        unlinked = replace(event.unlinked, attributes=None)
        if outcome.verdict is Verdict.CONFLICT:
            claim = self.claims.claims([event.identity]).get(event.identity)
            return self.record(unlinked) if isinstance(claim, Claim) and claim.is_of(unlinked) else outcome
        is_held = outcome.verdict is Verdict.HELD
        is_refused = outcome.verdict is Verdict.REJECTED or (is_held and outcome.problems)
        sales = self._sales(event.linked_to) if event.linked_to and is_refused else ()
        is_of_account = all(one.refundable and one.refundable.account == event.account for one in sales)
        fits = money.total([event.amount, *map(_left, sales)]) >= 0
        if len(sales) <= 1 or not is_of_account or not fits:
            return outcome
        return self.record(replace(event, without_sale=True) if is_held else unlinked)

    def _sales(self, sale: Identity) -> list[Claim]:
        """Return the claims of a sale and of what edits have added; of none that is held."""
        found: list[Claim] = []
        while True:
            some = [_edit(sale, number) for number in range(len(found), len(found) + _AT_ONCE)]
            claims = self.claims.claims(some)
            before = len(found)
            found += [one for one in takewhile(bool, map(claims.get, some)) if isinstance(one, Claim)]
            if len(found) - before < _AT_ONCE:
                return found


def _edit(identity: Identity, number: int) -> Identity:
    """Return the identity of an edit of an event, or of what corrects it; 0 is the event itself."""
    return Identity(identity.source, f"{identity.id}:edit:{number}") if number else identity


def _part(event: Event, identity: Identity, amount: Decimal) -> Event:
    return replace(event, identity=identity, amount=amount, attributes=None)


def _left(sale: Claim) -> Decimal:
    return sale.refundable.left if sale.refundable else money.ZERO


def _total(facts: Iterable[Facts], name: str) -> Decimal:
    return money.total(Decimal(one.get(name, 0)) for one in facts)


def _parts(event: Event, facts: Iterable[Facts]) -> dict[str, str]:
    """Return the parts of the amount that an edit adds: those of the event, less those that are recorded."""
    given = ((name, event.details.get(name)) for name in PARTS)
    return {name: money.plain(money.subtract(Decimal(text), _total(facts, name))) for name, text in given if text}


def _is_same(event: Event, facts: Facts) -> bool:
    """Return whether a recorded sale is one of the item of an event, whatever its amount."""
    own = {
        "type": event.type,
        "agency": event.account.agency,
        "currency": event.account.currency,
        "time": event.time and iso_exact(event.time),
        **{name: event.details.get(name) for name in DETAILS if name != CUSTOMER},
    }
    return event.commission_rate is None and all(facts.get(name) == text for name, text in own.items())
