"""Applies the parked deliveries of connections again, once their map or their connection is repaired."""

import json
from dataclasses import dataclass

from quarterhour.intake.connections.apply_queue import APPLY, ApplyQueue
from quarterhour.intake.connections.connection import Connection
from quarterhour.intake.connections.mapping import DeliveryRecorder
from quarterhour.intake.connections.parked import Parked
from quarterhour.intake.connections.request import Payload
from quarterhour.intake.connections.state import StateChange, counts_of
from quarterhour.intake.connections.store import ConnectionStore
from quarterhour.intake.service import Seconds


@dataclass(frozen=True, slots=True)
class ParkedDeliveries:
    """Applies parked deliveries again."""

    store: ConnectionStore
    recorder: DeliveryRecorder

    def take(self, body: str, queue: ApplyQueue, request_id: str, seconds: Seconds) -> bool:
        """Do what a message asks for; return ``False`` for a message about something else."""
        message = json.loads(body)
        if APPLY not in message:
            return False
        name, after = message[APPLY]["connection"], message[APPLY]["after"]
        if (rest := self.apply(name, after, request_id, seconds)) is not None:
            queue.send(name, rest)
        return True

    def apply(self, name: str, after: str | None, request_id: str, seconds: Seconds) -> str | None:
        """Apply the parked deliveries of a connection behind an id; return the last one, if there is no time for more.

        Those that still cannot be recorded stay parked. Raises ``UnavailableError`` if an event could not be written.
        """
        connection = self.store.get(name)
        if connection is None:
            return None
        for number, one in enumerate(self.store.parked(name, after)):
            if number and seconds() <= 0:
                return after
            self._apply(connection, one, f"{request_id}.{number}", seconds)
            after = one.id
        return None

    def apply_waiting(self, connection: Connection, keys: frozenset[str], request_id: str, seconds: Seconds) -> None:
        """Apply the parked deliveries that wait for one of the events of these keys."""
        for number, one in enumerate(self.store.parked(connection.name)):
            if seconds() <= 0:
                return
            if not keys.isdisjoint(one.waits_for):
                self._apply(connection, one, f"{request_id}.w{number}", seconds)

    def _apply(self, connection: Connection, one: Parked, request_id: str, seconds: Seconds) -> None:
        payload = Payload.of(self.store.content(connection.name, one))
        taken = self.recorder.record(connection, one.topic, payload, request_id, seconds)
        if taken.reason:
            self.store.explain(connection.name, one, taken.reason)
            return
        counts = counts_of(taken.outcomes, taken.excluded)
        self.store.unpark(connection.name, one, StateChange({**counts, **one.change(-1)}))
