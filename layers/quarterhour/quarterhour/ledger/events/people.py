"""Events that people record, under their name: payments and adjustments from the source ``finance``, and re-ratings.

From the sources that the settings open to uploads, they record events of all types, such as the sales of a CSV file.
Where two people must agree, whatever changes what is owed waits for a second person, unless money came in.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from quarterhour.ledger.events.event import ADJUSTMENT, PAYMENT, VIEW, Event, Rejection
from quarterhour.ledger.events.rerating_ids import is_adjustment_id
from quarterhour.model import fields
from quarterhour.model.errors import FieldProblem
from quarterhour.registry.settings.settings import Settings
from quarterhour.web.access import Caller

SOURCE: Final = "finance"
"""The source of what people record by hand. So nobody can take the identity of an event that a shop sends."""
TYPES: Final = (PAYMENT, ADJUSTMENT)
"""The types that people may record by hand."""


def sent_by(caller: Caller, item: Event | Rejection, settings: Settings) -> Event | Rejection:
    """Return an event with the person who sent it, or its rejection if people may not record it.

    An event of a machine, and a rejection, stay as they are.
    """
    if caller.is_machine or isinstance(item, Rejection):
        return item
    if problems := tuple(_problems(item, caller, settings.upload_sources)):
        return Rejection(item.identity.source, item.identity.id, problems)
    return replace(item, recorded_by=caller.name, needs_approval=settings.needs_two and _changes_what_is_owed(item))


def _changes_what_is_owed(event: Event) -> bool:
    """Return whether an event changes what is owed without money that came in: a write-off is a payment of a kind."""
    if event.type == PAYMENT:
        return event.amount < 0 or "kind" in event.details
    return event.type != VIEW


def _problems(event: Event, caller: Caller, uploads: frozenset[str]) -> Iterator[FieldProblem]:
    if event.rerating:
        yield from _problems_of_rerating(event, caller)
        return
    if event.identity.source in uploads:
        return
    if event.type not in TYPES:
        yield FieldProblem("type", f"is {event.type}, which machines record", f"of people {' or '.join(TYPES)}")
    if event.identity.source != SOURCE:
        expected = " or ".join(map(repr, (SOURCE, *sorted(uploads))))
        yield FieldProblem("source", f"is {fields.shown(event.identity.source)}", f"of people {expected}")


def _problems_of_rerating(event: Event, caller: Caller) -> Iterator[FieldProblem]:
    """Yield the problems of a person's re-rating: it has the id that a re-rating of its event has, and their name."""
    rerated, rerating = event.linked_to, event.rerating
    if not (rerated and rerated.source == event.identity.source and is_adjustment_id(event.identity.id, rerated)):
        yield FieldProblem("id", f"is {fields.shown(event.identity.id)}", "that of GET /rerating, for this event")
    if rerating and rerating.by != caller.name:
        yield FieldProblem("data.rerating.by", f"is {fields.shown(rerating.by)}", f"of you {caller.name!r}")
