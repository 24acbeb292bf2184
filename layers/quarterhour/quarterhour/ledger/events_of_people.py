"""Events that people record: payments and adjustments alone, from the source ``finance`` and under their name.

Where two people must agree, adjustments and payouts wait for the approval of a second person.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from quarterhour.ledger.event import ADJUSTMENT, PAYMENT, Event, Rejection
from quarterhour.model import fields
from quarterhour.model.errors import FieldProblem
from quarterhour.web.access import Caller

SOURCE: Final = "finance"
"""The source of all events that people record. So nobody can take the identity of an event that a shop sends."""
TYPES: Final = (PAYMENT, ADJUSTMENT)
"""The types that people may record."""


def sent_by(caller: Caller, item: Event | Rejection, *, needs_two: bool) -> Event | Rejection:
    """Return an event with the person who sent it, or its rejection if people may not record it.

    An event of a machine, and a rejection, stay as they are. ``needs_two``: whether a second person must agree to
    adjustments and payouts.
    """
    if caller.is_machine or isinstance(item, Rejection):
        return item
    if problems := tuple(_problems(item)):
        return Rejection(item.identity.source, item.identity.id, problems)
    return replace(item, recorded_by=caller.name, needs_approval=needs_two and _gives_money(item))


def _gives_money(event: Event) -> bool:
    """Return whether an event can change what is owed, without money that came in: an adjustment, or a payout."""
    return event.type == ADJUSTMENT or event.amount < 0


def _problems(event: Event) -> Iterator[FieldProblem]:
    if event.type not in TYPES:
        yield FieldProblem("type", f"is {event.type}, which machines record", f"of people {' or '.join(TYPES)}")
    if event.identity.source != SOURCE:
        yield FieldProblem("source", f"is {fields.shown(event.identity.source)}", f"of people {SOURCE!r}")
    if event.rerating:
        yield FieldProblem("data.rerating", "is given, though operators rerate", "an adjustment with a commission")
