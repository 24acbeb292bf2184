"""Reading connections for deliveries: each process keeps them, with their secrets, for up to a minute."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from quarterhour.aws.secrets import SecretStore
from quarterhour.intake.connections.connection import Connection
from quarterhour.intake.connections.store import ConnectionStore
from quarterhour.model import clock

_FRESH_FOR: Final = timedelta(minutes=1)
"""How long a connection is used after it was read."""
_AGAIN_AFTER: Final = timedelta(seconds=5)
"""How long after it was read it may be read again, for a signature by a new secret."""
_MOST: Final = 200
"""The most connections that a process keeps: names of none are kept, too."""


@dataclass(frozen=True, slots=True)
class Known:
    """A connection, or that there is none, with its secrets, as they were read at an instant."""

    connection: Connection | None
    secrets: tuple[str, ...]
    read_at: datetime


@dataclass(slots=True)
class ConnectionReader:
    """Reads connections and their secrets."""

    store: ConnectionStore
    secrets: SecretStore
    _known: dict[str, Known] = field(default_factory=dict)

    def get(self, name: str) -> Known:
        """Return a connection, which was read in the last minute."""
        return self._read(name, _FRESH_FOR)

    def again(self, name: str) -> Known:
        """Return a connection, which was read in the last seconds."""
        return self._read(name, _AGAIN_AFTER)

    def now(self, name: str) -> Known:
        """Return a connection, which is read now."""
        return self._read(name, timedelta(0))

    def _read(self, name: str, fresh_for: timedelta) -> Known:
        now, before = clock.now(), self._known.get(name)
        if before and now - before.read_at < fresh_for:
            return before
        connection = self.store.get(name)
        ids = connection.secrets_at(now) if connection else []
        was = before.connection if before else None
        # A secret is written once under its id, so it need not be read again.
        if before and was and was.secrets_at(now) == ids and len(before.secrets) == len(ids):
            secrets = before.secrets
        else:
            secrets = tuple(self.secrets.get(ids))
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[name] = known = Known(connection, secrets, now)
        return known
