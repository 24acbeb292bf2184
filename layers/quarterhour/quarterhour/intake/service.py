"""Records the messages of the queue, and parks what can never be recorded."""

from collections.abc import Callable, Sequence
from typing import Any

from quarterhour.aws.items import chunks
from quarterhour.aws.parking import Parking, Unparked
from quarterhour.aws.streams import Record
from quarterhour.aws.telemetry import logger
from quarterhour.intake.messages import BY, PARKED, SentEvent, events_of, parked_body, parked_event
from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour.ledger.recording.metrics import count_outcomes
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.ledger.recording.service import Recorder
from quarterhour.model import exact_json
from quarterhour.model.errors import UnavailableError

Seconds = Callable[[], float]
"""Returns the seconds that are left for recording."""


def record_all(
    recorder: Recorder, events: Sequence[Event | Rejection], request_id: str, seconds: Seconds
) -> list[Outcome]:
    """Record any number of events, as many requests as it takes; those without time are unavailable."""
    outcomes: list[Outcome] = []
    for number, some in enumerate(chunks(events, MAX_BATCH)):
        try:
            outcomes += recorder.record(some, f"{request_id}.{number}", seconds())
        except UnavailableError:
            outcomes += [Outcome(None, None, Verdict.UNAVAILABLE) for _ in some]
    return outcomes


class QueueIntake:
    """Records the events in messages of the queue."""

    def __init__(self, recorder: Recorder, parking: Parking) -> None:
        self._recorder = recorder
        self._parking = parking

    def take(self, records: Sequence[dict[str, Any]], request_id: str, seconds: Seconds) -> dict[str, Any]:
        """Record the events of a batch; return the messages that SQS must deliver again, as Lambda expects it.

        These are the messages with an event that is unavailable. Of the others, what is rejected or a conflict is
        parked. So the rejected event of a message is parked once, when its other events are recorded.
        """
        sent = [one for record in records for one in events_of(record["messageId"], record["body"])]
        outcomes = record_all(self._recorder, [one.event for one in sent], request_id, seconds)
        count_outcomes(outcomes)
        again = {one.message for one, found in zip(sent, outcomes, strict=True) if found.verdict is Verdict.UNAVAILABLE}
        queues = {record["messageId"]: record["eventSourceARN"].rpartition(":")[2] for record in records}
        refused = [
            (one, found)
            for one, found in zip(sent, outcomes, strict=True)
            if found.verdict in PARKED and one.message not in again
        ]
        again |= self._park(refused, queues)
        return {"batchItemFailures": [{"itemIdentifier": message} for message in queues if message in again]}

    def _park(self, refused: Sequence[tuple[SentEvent, Outcome]], queues: dict[str, str]) -> set[str]:
        """Park events; return the messages that hold one that could not be parked."""
        try:
            self._parking.send(parked_body(one, found, queues[one.message]) for one, found in refused)
        except UnavailableError:
            return {one.message for one, _ in refused}
        if refused:
            # A reason may quote the content, so neither is logged.
            logger.error("events parked", messages=sorted({one.message for one, _ in refused}), events=len(refused))
        return set()

    def unpark(self, request_id: str, seconds: Seconds) -> Unparked:
        """Record the parked events again; those that are still rejected or a conflict stay parked."""

        def record(parked: Record) -> bool:
            (found,) = record_all(self._recorder, [parked_event(parked)], request_id, seconds)
            return found.verdict not in PARKED | {Verdict.UNAVAILABLE}

        return self._parking.replay({BY: record}, lambda: seconds() > 0, exact_json.parse)[BY]
