"""Lists held and discarded events, the oldest first."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

from quarterhour.aws.entity import IndexRange, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.ledger.events.event import RECORDED_BY, shown_facts, without_operator
from quarterhour.ledger.held.store import merged
from quarterhour.ledger.keys import HIGHEST, LOWEST, HeldStatus, agency_partition, held_partitions
from quarterhour.ledger.recording.held_event import HeldDecision, HeldEvent, HeldReason, waits_for
from quarterhour.model import money
from quarterhour.model.clock import iso_exact, iso_millis
from quarterhour.web.access import Caller
from quarterhour.web.paging import Page, Paging, within

if TYPE_CHECKING:
    from quarterhour.ledger.held import api

EXAMINED: Final = 1000
"""The most entries that a page with a ``reason`` examines; such a page can be short though more follow."""


@dataclass(frozen=True, slots=True)
class HeldQuery:
    """A query for events of a status: of an agency, of a reason, held before an instant; ``None`` for any."""

    status: HeldStatus
    agency: str | None
    reason: HeldReason | None
    before: datetime | None


@dataclass(frozen=True, slots=True)
class HeldQueries:
    """Reads pages of held events."""

    entities: EntityReader

    def page(self, query: HeldQuery, paging: Paging, caller: Caller) -> "Page[api.HeldEvent]":
        """Return a page of held events, the oldest first, as the caller may see them.

        People of agencies do not see what waits for a second person: it is not decided yet.

        Raises ``HeldItemError``, which names the item's place, if an item is not readable.
        """
        high = iso_millis(query.before) if query.before else HIGHEST
        after = paging.start(lambda place: within(LOWEST, place, high), LOWEST)
        index = "gsi1sk" if query.agency is None else "gsi2sk"
        examined = list(islice(self._entries(query, after, high, paging.limit + 1), EXAMINED))
        hidden = () if caller.is_of_marketplace else (HeldReason.NEEDS_APPROVAL,)
        fitting = [
            entry
            for entry in examined
            if query.reason in {None, entry.get("reason")} and entry.get("reason") not in hidden
        ]
        page = paging.cut(fitting, lambda entry: shown(HeldEvent.parse(entry), caller), lambda entry: str(entry[index]))
        if page.after is None and len(examined) == EXAMINED:
            return Page(page.items, (str(examined[-1][index]),))
        return page

    def _entries(self, query: HeldQuery, after: str, high: str, page: int) -> Iterator[Values]:
        if query.agency is None:
            return merged(self.entities, held_partitions(query.status), after, high, page)
        entries = IndexRange("gsi2", agency_partition(query.status, query.agency), after, high)
        return (entry for entry in self.entities.read_index(entries, page) if entry["gsi2sk"] > after)


def shown(held: HeldEvent, caller: Caller) -> "api.HeldEvent":
    """Return the JSON object of a held event; people of agencies do not see who recorded it or decided about it."""
    event = held.event
    details = {**event.details, **({RECORDED_BY: event.recorded_by} if event.recorded_by else {})}
    facts = details if caller.is_of_marketplace else without_operator(details)
    figures = {
        "amount": event.amount,
        "commission_rate": event.commission_rate,
        "commission": event.commission,
    }
    shown: api.HeldEvent = {
        "source": event.identity.source,
        "id": event.identity.id,
        "status": held.status,
        "reason": held.reason,
        "held_at": held.held_at,
        "problems": [one.as_dict() for one in held.problems or (waits_for(event, held.reason),)],
        "event": {
            "type": event.type,
            "agency": event.account.agency,
            "currency": event.account.currency,
            **{name: money.plain(value) for name, value in figures.items() if value is not None},
            **({"time": iso_exact(event.time)} if event.time else {}),
            **shown_facts(facts),
            **({"attributes": event.attributes} if event.attributes else {}),
        },
    }
    if held.approved:
        shown["approved"] = _decision(held.approved, caller)
    if held.released:
        shown["released"] = {**_decision(held.released, caller), "waived": held.released.waived}
    if held.discarded:
        shown["discarded"] = _decision(held.discarded, caller)
    return shown


def _decision(decision: HeldDecision, caller: Caller) -> "api.Decision":
    shown: api.Decision = {"at": decision.at, "reason": decision.reason}
    if caller.is_of_marketplace:
        shown["by"] = decision.by
    return shown
