"""Records what a delivery says: the map of its provider makes events, and the recorder takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quarterhour.aws.telemetry import logger
from quarterhour.file_formats.webhooks.accounts import completed, incomplete
from quarterhour.file_formats.webhooks.delivery import Delivery, Excluded, Mapped, Provider
from quarterhour.file_formats.webhooks.maps import events_of
from quarterhour.file_formats.webhooks.payload import PayloadError
from quarterhour.intake.connections.agencies import AgenciesById
from quarterhour.intake.connections.connection import Connection
from quarterhour.intake.connections.parked import LONGEST_REASON
from quarterhour.intake.connections.request import Payload
from quarterhour.intake.messages import PARKED
from quarterhour.intake.service import Seconds, record_all
from quarterhour.ledger.events.event import Event, Rejection, read_event
from quarterhour.ledger.recording.metrics import count_outcomes
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.ledger.recording.service import Recorder
from quarterhour.model.errors import UnavailableError, in_words
from quarterhour.model.fields import printable


class Taken(NamedTuple):
    """What became of a delivery: the outcomes of its events, what rules excluded, and why it is parked, if it is.

    ``waits_for``: the keys of the events to which some of its events refer, and with which it is applied again, as
    ``<source>#<id>``.
    """

    outcomes: Sequence[Outcome] = ()
    excluded: Sequence[Excluded] = ()
    reason: str = ""
    waits_for: tuple[str, ...] = ()


def mapped(connection: Connection, topic: str, payload: Payload) -> Mapped:
    """Return what the map of a connection makes of a delivery."""
    if payload.problem:
        return Mapped(problem=payload.problem)
    try:
        return events_of(Delivery(connection.provider, topic, payload.value, connection.settings))
    except Exception as error:  # noqa: BLE001 - a fault of a map must not lose a delivery
        logger.error("map failed", connection=connection.name, error=type(error).__name__)
        return Mapped(problem=f"the map failed ({type(error).__name__}): repair it, then apply the delivery again")


@dataclass(frozen=True, slots=True)
class DeliveryRecorder:
    """Records deliveries."""

    recorder: Recorder
    external_ids: AgenciesById

    def record(self, connection: Connection, topic: str, payload: Payload, request_id: str, seconds: Seconds) -> Taken:
        """Record what a delivery says; raise ``UnavailableError`` if an event could not be written now.

        An event that is rejected or a conflict is a reason to park the delivery; the others are recorded.
        """
        found = mapped(connection, topic, payload)
        if found.problem is not None:
            return Taken(reason=found.problem[:LONGEST_REASON])
        # Other senders name an agency in each event, as the senders of POST /events do.
        needed = [] if connection.provider is Provider.GENERIC else incomplete(found.events)
        known = self.recorder.accounts(needed) if needed else {}
        try:
            bodies = found.events
            if connection.settings.agency.is_external:
                bodies = self.external_ids.named(connection.provider, bodies)
            events = [read_event(one) for one in (completed(bodies, known) if needed else bodies)]
        except PayloadError as error:
            waits_for = tuple(str(one) for one in needed if one not in known)
            return Taken(reason=str(error)[:LONGEST_REASON], waits_for=waits_for)
        outcomes = record_all(self.recorder, events, request_id, seconds)
        count_outcomes(outcomes)
        if any(one.verdict is Verdict.UNAVAILABLE for one in outcomes):
            raise UnavailableError("events of a delivery could not be written in time")
        return Taken(outcomes, found.excluded, _reason(outcomes), _waits_for(events, outcomes))


def _waits_for(events: Sequence[Event | Rejection], outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Return the sales of refunds that are refused: an edit that is delivered later may raise what was sold."""
    refused = (event for event, one in zip(events, outcomes, strict=True) if one.verdict is Verdict.REJECTED)
    sales = (one.linked_to for one in refused if isinstance(one, Event) and one.is_running_total)
    return tuple(dict.fromkeys(str(one) for one in sales if one))


def _reason(outcomes: Sequence[Outcome]) -> str:
    """Return why a delivery is parked: the problems of its events that can never be recorded as they are."""
    problems = [
        f"{one.verdict.value} {printable(one.id)}: {in_words(one.problems)}"
        for one in outcomes
        if one.verdict in PARKED
    ]
    return "; ".join(problems)[:LONGEST_REASON]
