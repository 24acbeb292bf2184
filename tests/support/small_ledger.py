"""A ledger in a few lines: what identities, refunds, voids and held events come to, apart from the product."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from quarterhour.ledger.events.event import REFUND, SALE, VOID, Event, Rejection, read_event
from quarterhour.model.identifiers import Identity


class SmallLedger:
    """Events by identity. ``conflicts``: events whose identity has another content."""

    def __init__(self) -> None:
        self.events: dict[Identity, Event] = {}
        self.conflicts: list[Event] = []
        self.duplicates = 0

    def add(self, body: dict[str, Any]) -> None:
        """Add an event of a map, which the ledger must accept."""
        event = read_event(self._completed(body))
        assert not isinstance(event, Rejection), event
        known = self.events.setdefault(event.identity, event)
        self.duplicates += known is not event
        if event.is_running_total and replace(known, amount=event.amount).digest == event.digest:
            self.events[event.identity] = max(known, event, key=lambda one: one.amount) if event.type == SALE else known
            return
        if known.digest != event.digest:
            self.conflicts.append(event)

    def _completed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return an event with the agency and the currency of the event to which it refers."""
        refers_to = Identity(body["source"], str(body["data"].get("refers_to")))
        if refers_to not in self.events or "subject" in body:
            return body
        account = self.events[refers_to].account
        data = {"currency": account.currency} | body["data"]
        return body | {"subject": account.agency, "data": data}

    @property
    def held(self) -> list[Event]:
        """The events whose sale or refund never came."""
        return [one for one in self.events.values() if one.linked_to and one.linked_to not in self.events]

    def net(self) -> dict[str, Decimal]:
        """Return the net sales by agency; no refund is larger than what is left of its sale."""
        left = {one.identity: one.amount for one in self.events.values() if one.type == SALE}
        voided = {one.linked_to for one in self.events.values() if one.type == VOID}
        sums: dict[str, Decimal] = {}
        for one in self.events.values():
            amount = Decimal(0) if one.identity in voided else one.amount
            if one.type == REFUND and one.linked_to in left and one.linked_to not in voided:
                left[one.linked_to] += amount
                assert left[one.linked_to] >= 0, f"{one.identity} refunds more than is left"
            sums[one.account.agency] = sums.get(one.account.agency, Decimal(0)) + amount
        return sums
