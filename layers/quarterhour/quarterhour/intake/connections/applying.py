"""Applies the parked deliveries of connections again, once their map or their connection is repaired."""

import json
from dataclasses import dataclass

from quarterhour.intake.connections.connection import Connection
from quarterhour.intake.connections.mapping import DeliveryRecorder
from quarterhour.intake.connections.parked import Parked
from quarterhour.intake.connections.request import Payload
from quarterhour.intake.connections.service import APPLY, ApplyQueue
from quarterhour.intake.connections.state import PARKED, StateChange, counts_of
from quarterhour.intake.connections.store import ConnectionStore
from quarterhour.intake.service import Seconds


@dataclass(frozen=True, slots=True)
class ParkedDeliveries:
    """Applies parked deliveries again."""

    store: ConnectionStore
    recorder: DeliveryRecorder
    queue: ApplyQueue

    def take(self, body: str, request_id: str, seconds: Seconds) -> bool:
        """Do what a message asks for; return ``False`` for a message about something else."""
        message = json.loads(body)
        if APPLY not in message:
            return False
        self.apply(message[APPLY]["connection"], message[APPLY]["after"], request_id, seconds)
        return True

    def apply(self, name: str, after: str | None, request_id: str, seconds: Seconds) -> None:
        """Apply the parked deliveries of a connection behind an id, as long as there is time; a message has the rest.

        Those that still cannot be recorded stay parked. Raises ``UnavailableError`` if an event could not be written.
        """
        connection = self.store.get(name)
        if connection is None:
            return
        for number, one in enumerate(self.store.parked(name, after)):
            if number and seconds() <= 0:
                self.queue.send(name, after)
                return
            self._apply(connection, one, f"{request_id}.{number}", seconds)
            after = one.id

    def _apply(self, connection: Connection, one: Parked, request_id: str, seconds: Seconds) -> None:
        payload = Payload.of(self.store.content(connection.name, one))
        taken = self.recorder.record(connection, one.topic, payload, request_id, seconds)
        if taken.reason:
            self.store.explain(connection.name, one, taken.reason)
            return
        counts = counts_of(taken.outcomes, taken.excluded)
        self.store.unpark(connection.name, one, StateChange({**counts, PARKED: -1}))
