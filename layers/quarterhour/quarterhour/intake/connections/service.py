"""What people and programs do with connections: write and delete them, and have parked deliveries applied again."""

from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

from quarterhour.aws.secrets import SecretRef, SecretStore, rotated
from quarterhour.intake.connections.apply_queue import ApplyQueue
from quarterhour.intake.connections.connection import Connection, digest_of
from quarterhour.intake.connections.requests import ConnectionRequest
from quarterhour.intake.connections.state import PARKED, StateChange
from quarterhour.intake.connections.store import ConnectionStore
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, FieldProblem, InvalidError

MOST: Final = 100
"""The most connections of a deployment."""


@dataclass(frozen=True, slots=True)
class ConnectionService:
    """Writes connections."""

    store: ConnectionStore
    secrets: SecretStore
    queue: ApplyQueue

    def put(self, name: str, request: ConnectionRequest) -> tuple[Connection, bool]:
        """Create or change a connection; return it, and whether it is new.

        A new secret replaces the one before, which is accepted for another day. Then parked deliveries are applied.
        Raises ``ConflictError`` for a change of another version than the one that the request has seen.
        """
        self._check_on()
        seen = self.store.get(name)
        if seen is None:
            if request.seen:
                raise ConflictError(f"{name} was deleted in the meantime: send seen 0 to create it again")
            return self._create(name, request), True
        is_new = bool(request.secret) and digest_of(seen.secrets[0].id, request.secret) != seen.digest
        is_same = seen.provider is request.provider and seen.settings == request.settings and not is_new
        if request.seen not in {None, seen.version} and not is_same:
            raise ConflictError(f"version {seen.version} of {name} was written in the meantime: read it first")
        if seen.provider is not request.provider:
            raise ConflictError(f"{name} is a connection of {seen.provider}: delete it, or use another name")
        secrets = self._with(request.secret, seen) if is_new else seen.secrets
        digest = digest_of(secrets[0].id, request.secret) if is_new else seen.digest
        changed = replace(seen, settings=request.settings, secrets=secrets, digest=digest)
        if changed != seen:
            changed = replace(changed, version=seen.version + 1)
            if not self.store.write(changed, seen):
                self.secrets.delete([secrets[0].id] if is_new else [])
                raise ConflictError(f"{name} was changed by somebody else in the meantime: read it first")
            kept = {one.id for one in secrets}
            self.secrets.delete([one.id for one in seen.secrets if one.id not in kept])
        self.apply(name)
        return changed, False

    def delete(self, name: str) -> None:
        """Delete a connection and its secrets; one that does not exist is deleted already."""
        seen = self.store.get(name)
        if seen is None:
            return
        if not self.store.delete(seen):
            raise ConflictError(f"{name} has parked deliveries, or was changed in the meantime: apply or discard them")
        self.secrets.delete([one.id for one in seen.secrets])

    def apply(self, name: str) -> int:
        """Have the parked deliveries of a connection applied again; return their number."""
        self._check_on()
        parked = int((self.store.state(name) or {}).get(PARKED, 0))
        if parked:
            self.queue.send(name)
        return parked

    def discard(self, name: str, id_: str) -> None:
        """Discard a parked delivery; one that is not parked is discarded already."""
        found = self.store.parked_one(name, id_)
        if found:
            self.store.unpark(name, found, StateChange(found.change(-1)))

    def _create(self, name: str, request: ConnectionRequest) -> Connection:
        if not request.secret:
            problem = FieldProblem("secret", "is missing", "the secret with which the provider signs")
            raise InvalidError("secret is missing: a new connection needs it", problem)
        if len(self.store.all()) >= MOST:
            raise ConflictError(f"there are {MOST} connections, which is the most: delete one")
        id_ = str(uuid4())
        self.secrets.put(id_, request.secret)
        now = iso_millis(clock.now())
        digest = digest_of(id_, request.secret)
        made = Connection(name, request.provider, request.settings, now, 1, (SecretRef(id_),), digest)
        if not self.store.write(made, None):
            self.secrets.delete([id_])
            raise ConflictError(f"{name} was created by somebody else in the meantime: read it first")
        return made

    def _with(self, secret: str, seen: Connection) -> tuple[SecretRef, ...]:
        """Store a new secret; return the secrets of a connection with it."""
        id_ = str(uuid4())
        self.secrets.put(id_, secret)
        return rotated(seen.secrets, SecretRef(id_), clock.now())

    def _check_on(self) -> None:
        if not self.queue.url:
            raise ConflictError("this deployment takes no deliveries: set its parameter Intake to queue")
