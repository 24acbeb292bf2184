"""What people and programs do with subscriptions: write and delete them, rotate secrets, deliver again."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import uuid4

from quarterhour.aws.secrets import SecretRef, SecretStore, new_secret, rotated
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis, iso_seconds
from quarterhour.model.errors import ConflictError, FieldProblem, InvalidError, NotFoundError, UnavailableError
from quarterhour.notifications.keys import KEPT, before
from quarterhour.notifications.requests import SubscriptionRequest
from quarterhour.notifications.store import NotificationStore
from quarterhour.notifications.subscription import DeliveryProgress, Subscription

MOST: Final = 100
"""The most subscriptions of a deployment."""
_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class SubscriptionService:
    """Writes subscriptions. ``on``: whether the deployment sends notifications."""

    store: NotificationStore
    secrets: SecretStore
    on: bool

    def put(self, name: str, request: SubscriptionRequest) -> tuple[Subscription, str | None]:
        """Create or change a subscription; return it and, if it is new, its secret.

        A new one begins with what happens from now on. A changed one keeps its secret and its place, and is active.
        """
        self._check_on()
        found = self.store.get(name)
        if found is None:
            return self._create(name, request)

        def changed(seen: Subscription) -> Subscription:
            same = (seen.address, seen.kinds, seen.agency) == request
            if same and seen.progress == seen.progress.at(seen.progress.place):
                return seen
            return replace(
                seen,
                **request._asdict(),
                version=seen.version + 1,
                progress=seen.progress.at(seen.progress.place),
            )

        return self._change(name, changed), None

    def rotate(self, name: str) -> tuple[Subscription, str]:
        """Give a subscription a new secret; return both. The secret before is signed with for another day, too."""
        self._check_on()
        secret, id_ = new_secret(), str(uuid4())
        self.secrets.put(id_, secret)
        old: list[str] = []

        def changed(seen: Subscription) -> Subscription:
            secrets = rotated(seen.secrets, SecretRef(id_), clock.now())
            old[:] = [one.id for one in seen.secrets if one.id not in {kept.id for kept in secrets}]
            return replace(seen, secrets=secrets, version=seen.version + 1)

        try:
            subscription = self._change(name, changed)
        except (NotFoundError, UnavailableError):
            self.secrets.delete([id_])
            raise
        self.secrets.delete(old)
        return subscription, secret

    def replay(self, name: str, since: datetime) -> Subscription:
        """Deliver again everything from an instant on, or from where delivery is, if that is earlier.

        So nothing is skipped. The subscription is active then.
        """
        self._check_on()
        now = clock.now()
        if not now - KEPT <= since <= now:
            earliest = iso_seconds(now - KEPT)
            expected = f"an instant from {earliest} to now: notifications are kept for {KEPT.days} days"
            raise InvalidError(
                f"from: is {iso_seconds(since)}: expected {expected}",
                FieldProblem("from", f"is {iso_seconds(since)}", expected),
            )

        def from_there(seen: Subscription) -> Subscription:
            return replace(seen, progress=seen.progress.at(min(seen.progress.place, before(since))))

        return self._change(name, from_there)

    def delete(self, name: str) -> None:
        """Delete a subscription and its secrets; one that does not exist is deleted already."""
        found = self.store.get(name)
        if found:
            self.store.delete(found)
            self.secrets.delete([one.id for one in found.secrets])

    def _create(self, name: str, request: SubscriptionRequest) -> tuple[Subscription, str]:
        if len(self.store.all()) >= MOST:
            raise ConflictError(f"there are {MOST} subscriptions, which is the most: delete one")
        now = clock.now()
        secret, id_ = new_secret(), str(uuid4())
        self.secrets.put(id_, secret)
        made = Subscription(
            name,
            id_,
            *request,
            iso_millis(now),
            1,
            (SecretRef(id_),),
            DeliveryProgress(self.store.last().place or before(now)),
        )
        if not self.store.write(made, None):
            self.secrets.delete([id_])
            raise ConflictError(f"{name} was created by somebody else in the meantime: read it first")
        return made, secret

    def _change(self, name: str, change: Callable[[Subscription], Subscription]) -> Subscription:
        """Change a subscription that deliveries may move in the meantime; return it."""
        for _ in range(_ATTEMPTS):
            seen = self.store.get(name)
            if seen is None:
                raise NotFoundError(f"there is no subscription {name}")
            changed = change(seen)
            if changed == seen or self.store.write(changed, seen):
                return changed
        raise UnavailableError(f"the subscription {name} is changing all the time: try again")

    def _check_on(self) -> None:
        if not self.on:
            raise ConflictError("this deployment sends no notifications: set its parameter Notifications to on")
