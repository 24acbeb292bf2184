"""Takes the deliveries of connections: checks the signature, records or parks, counts, answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from quarterhour.aws.telemetry import Metric, count, logger
from quarterhour.file_formats.webhooks.delivery import Excluded
from quarterhour.intake.connections.applying import ParkedDeliveries
from quarterhour.intake.connections.connection import Connection
from quarterhour.intake.connections.keys import delivery_id
from quarterhour.intake.connections.mapping import Taken
from quarterhour.intake.connections.parked import Parked, content_items
from quarterhour.intake.connections.reader import ConnectionReader, Known
from quarterhour.intake.connections.request import MAX_BODY, TEST, Payload, delay_of, is_ping, is_test, topic_of
from quarterhour.intake.connections.signatures import Headers, is_signed
from quarterhour.intake.connections.state import DELIVERED, REFUSED, StateChange, counts_of
from quarterhour.intake.connections.store import ConnectionStore
from quarterhour.intake.service import Seconds
from quarterhour.ledger.recording.outcomes import Verdict
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import NotFoundError, UnauthenticatedError, UnavailableError
from quarterhour.model.fields import is_slug
from quarterhour.web import http
from quarterhour.web.bodies import check_size

IN_LEDGER: Final = frozenset({Verdict.RECORDED, Verdict.DUPLICATE})
_COUNT_REFUSED_EVERY: Final = timedelta(seconds=10)
"""How often a process writes how many signatures it has refused, so that nobody makes it write as often as they ask."""


@dataclass(slots=True)
class DeliveryIntake:
    """Takes deliveries."""

    reader: ConnectionReader
    store: ConnectionStore
    parked: ParkedDeliveries
    _refused: dict[str, int] = field(default_factory=dict)
    _refused_at: datetime | None = None

    def take(self, event: Mapping[str, Any], request_id: str, seconds: Seconds) -> http.Response:
        """Record or park a delivery; return the answer.

        Raises ``RequestError`` for what is not signed, and ``UnavailableError`` if it could be neither recorded nor
        parked. What is signed is answered with no other 4xx: the provider would end its subscription.
        """
        name = str((event.get("pathParameters") or {}).get("name", ""))
        headers, body = http.headers_of(dict(event)), http.body_of(dict(event))
        check_size(body, MAX_BODY)
        known = self.reader.get(name) if is_slug(name) else None
        if known is None or known.connection is None:
            raise NotFoundError("there is no connection of this name")
        if is_ping(known.connection.provider, body):
            return http.response(200, {"delivery": "ping"})
        signed = self._signed(name, known, headers, body)
        if signed is None:
            self._count_refused(name)
            raise UnauthenticatedError("the signature is missing, too old, or not by a secret of this connection")
        return self._taken(signed, headers, body, request_id, seconds)

    def _signed(self, name: str, known: Known, headers: Headers, body: bytes) -> Connection | None:
        """Return the connection by one of whose secrets a delivery is signed; it may have got a new one just now."""
        if _is_signed(known, headers, body):
            return known.connection
        newer = self.reader.again(name)
        return newer.connection if newer is not known and _is_signed(newer, headers, body) else None

    def _taken(
        self, connection: Connection, headers: Headers, body: bytes, request_id: str, seconds: Seconds
    ) -> http.Response:
        now, provider = clock.now(), connection.provider
        payload = Payload.of(body)
        topic = topic_of(provider, headers, payload.value)
        if is_test(provider, headers) and not connection.settings.with_test:
            taken = Taken(excluded=[Excluded(TEST)])
        else:
            taken = self.parked.recorder.record(connection, topic, payload, request_id, seconds)
            changed = self.reader.now(connection.name).connection if taken.reason else None
            if changed and changed.version != connection.version:
                taken = self.parked.recorder.record(changed, topic, payload, request_id, seconds)
        counts = {DELIVERED: 1, **counts_of(taken.outcomes, taken.excluded)}
        change = StateChange(counts, now, delay_of(provider, headers, payload.value, now))
        if taken.reason:
            self._park(connection.name, topic, taken, body, change)
        is_waited = self._count(connection.name, change) if not taken.reason else bool(taken.waits_for)
        if is_waited:
            self._apply_waiting(connection, taken, request_id, seconds)
        return http.response(200, {"delivery": "parked" if taken.reason else "taken", "counts": counts})

    def _apply_waiting(self, connection: Connection, taken: Taken, request_id: str, seconds: Seconds) -> None:
        """Apply what waits for the events of a delivery, and a delivery that waits for what came at the same moment.

        What fails here stays parked: the delivery itself is recorded, or parked.
        """
        recorded = {f"{one.source}#{one.id}" for one in taken.outcomes if one.verdict in IN_LEDGER}
        try:
            self.parked.apply_waiting(connection, frozenset({*recorded, *taken.waits_for}), request_id, seconds)
        except UnavailableError as error:
            logger.warning("waiting deliveries not applied", connection=connection.name, error=str(error))

    def _park(self, name: str, topic: str, taken: Taken, body: bytes, change: StateChange) -> None:
        """Park a delivery; raise ``UnavailableError`` if that fails. Then nothing is lost: it is delivered again."""
        id_ = delivery_id(topic, body)
        contents = content_items(name, id_, body)
        at = iso_millis(clock.now())
        one = Parked(id_, topic, taken.reason, at, len(body), len(contents), taken.waits_for)
        parking = StateChange({**change.counts, **one.change(1)}, change.at, change.delay)
        if self.store.park(name, one, contents, parking):
            count(Metric.DELIVERIES_PARKED, 1)
            # The reason may quote the content, so neither is logged.
            logger.error("delivery parked", connection=name, id=id_)
        else:
            self.store.explain(name, one, taken.reason)
            self._count(name, change)

    def _count(self, name: str, change: StateChange) -> bool:
        """Count a delivery that is recorded; return whether another one waits for an event.

        The answer does not wait for a count that cannot be written.
        """
        try:
            return self.store.count(name, change)
        except UnavailableError as error:
            logger.warning("delivery not counted", connection=name, error=str(error))
            return True

    def _count_refused(self, name: str) -> None:
        self._refused[name] = self._refused.get(name, 0) + 1
        now = clock.now()
        if self._refused_at and now - self._refused_at < _COUNT_REFUSED_EVERY:
            return
        self._refused_at, refused, self._refused = now, self._refused, {}
        for one, number in refused.items():
            self._count(one, StateChange({REFUSED: number}))


def _is_signed(known: Known, headers: Headers, body: bytes) -> bool:
    return known.connection is not None and is_signed(
        known.connection.provider, headers, body, known.secrets, clock.now()
    )
