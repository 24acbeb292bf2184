"""Keeps notifications in one ordered log, and delivers the log to each subscription, in order and at least once.

The log only grows at its end, and a subscription keeps the place up to which it is done. So a run that stops anywhere
repeats at most the delivery whose result it has not written.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from quarterhour.aws.items import chunks
from quarterhour.aws.parking import Parking
from quarterhour.aws.retries import optimistically
from quarterhour.aws.secrets import SecretStore
from quarterhour.aws.streams import Record
from quarterhour.aws.telemetry import Metric, count, logger
from quarterhour.aws.workers import Workers
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.notifications.bus import Bus
from quarterhour.notifications.keys import before
from quarterhour.notifications.notification import Logged, Notification
from quarterhour.notifications.sources import WAKE, of_changes
from quarterhour.notifications.store import AT_ONCE, LEASE_SECONDS, NotificationStore
from quarterhour.notifications.subscription import (
    BUS,
    Attempt,
    DeliveryOutcome,
    DeliveryProgress,
    DeliveryRecord,
    Subscription,
    SubscriptionStatus,
)
from quarterhour.notifications.webhook import WebhookSender

_LEASE: Final = timedelta(seconds=LEASE_SECONDS)
_SKIPPED_AT_ONCE: Final = 500
"""After so many notifications that a subscription does not want, its place is written."""
_JITTER: Final = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class NotificationLog:
    """Appends to the log."""

    store: NotificationStore

    def append(self, notifications: Sequence[Notification]) -> int:
        """Append those notifications that the log does not have, in their order; return their number."""
        unique = list({one.id: one for one in notifications}.values())
        return sum(
            optimistically(lambda some=list(some): self._append(some), "the log of notifications")  # type: ignore[misc]
            for some in chunks(unique, AT_ONCE)
        )

    def _append(self, notifications: Sequence[Notification]) -> int:
        known = self.store.known(notifications)
        new = [one for one in notifications if one.id not in known]
        if new:
            last = self.store.last()
            self.store.append(last, last.following(new, clock.now()))
        return len(new)


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """Appends what records of the Entity table's stream say, and starts the deliveries by a message to a queue."""

    log: NotificationLog
    parking: Parking
    queue: Parking

    def apply(self, records: Sequence[Record]) -> None:
        """Append what the records say, in their order; raise ``UnavailableError`` if they must come again.

        The message is sent for repeated records, too: their first run may have ended before it.
        """
        notifications, poison = of_changes(records)
        self.parking.park(poison)
        if notifications:
            self.log.append(notifications)
            self.queue.send([WAKE])


@dataclass(frozen=True, slots=True)
class DispatchResult:
    """What a run delivered: the deliveries that succeeded and failed, and the subscriptions that are disabled."""

    delivered: int = 0
    failed: int = 0
    disabled: int = 0

    as_dict = asdict


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Delivers the log of a stack to the subscriptions. ``bus``: ``None`` if the deployment has none."""

    store: NotificationStore
    secrets: SecretStore
    sender: WebhookSender
    bus: Bus | None
    workers: Workers
    stack: str

    def run(self, owner: str, seconds: float) -> DispatchResult:
        """Deliver what is due to all subscriptions side by side, within so many seconds.

        ``owner``: the name of this run, by which it has its subscriptions to itself.
        """
        until = clock.now() + timedelta(seconds=seconds)
        last = self.store.last().place
        subscriptions = self._subscriptions()
        now = clock.now()
        due = [one for one in subscriptions if one.progress.is_due(now) and one.progress.place < last]
        results = self.workers.map(lambda one: self._deliver(one, owner, lambda: clock.now() < until), due)
        disabled = sum(one.progress.status is SubscriptionStatus.DISABLED for one in subscriptions)
        result = DispatchResult(
            sum(one.delivered for one in results),
            sum(one.failed for one in results),
            disabled + sum(one.disabled for one in results),
        )
        count(Metric.SUBSCRIPTIONS_DISABLED, result.disabled)
        return result

    def _subscriptions(self) -> list[Subscription]:
        """Return the subscriptions that this deployment sends to; make that of the bus, if it is missing."""
        found = [one for one in self.store.all() if self.bus or not one.is_bus]
        if self.bus and not any(one.is_bus for one in found):
            now = iso_millis(clock.now())
            made = Subscription(BUS, now, "", frozenset(), "", now, 1, (), DeliveryProgress(before(clock.now())))
            if self.store.write(made, None):
                found.append(made)
        return found

    def _deliver(self, found: Subscription, owner: str, in_time: Callable[[], bool]) -> DispatchResult:
        """Deliver to one subscription, until it has the whole log, a delivery fails or the time is over."""
        leased = self.store.lease(found, owner, clock.now(), clock.now() + _LEASE)
        if leased is None or not leased.progress.is_due(clock.now()):
            return DispatchResult()
        run = _Run(self, leased, owner)
        last = self.store.last().place
        for logged in self.store.after(leased.progress.place, last):
            if not (in_time() and run.take(logged.of_stack(self.stack))):
                break
        run.end()
        return run.result


class _Run:
    """The deliveries to one subscription that this run has to itself."""

    def __init__(self, dispatcher: Dispatcher, subscription: Subscription, owner: str) -> None:
        self._dispatcher = dispatcher
        self._subscription = subscription
        self._owner = owner
        self._skipped = 0
        self._passed = subscription.progress.place
        self._is_ours = True
        refs = subscription.secrets_at(clock.now())
        self._secrets = dispatcher.secrets.get([one.id for one in refs])
        self.result = DispatchResult()

    def take(self, logged: Logged) -> bool:
        """Deliver a notification, or pass it by; return whether the next one may follow."""
        if not self._subscription.wants(logged.notification):
            self._passed, self._skipped = logged.place, self._skipped + 1
            return self._skipped % _SKIPPED_AT_ONCE > 0 or self._move(
                replace(self._subscription.progress, place=self._passed)
            )
        attempt = self._attempt(logged)
        now = clock.now()
        progress = self._subscription.progress
        after = progress.after(attempt, logged.place, now, _JITTER.random())
        one = logged.notification
        delivery = DeliveryRecord(
            *(logged.place, one.id, one.kind.value, one.agency, attempt.outcome.value, attempt.http_status),
            *(progress.attempts + 1, iso_millis(now)),
        )
        if not self._move(after, now if attempt.outcome is not DeliveryOutcome.DELIVERED else now + _LEASE, delivery):
            return False
        self._passed = after.place
        if attempt.outcome is DeliveryOutcome.DELIVERED:
            self.result = replace(self.result, delivered=self.result.delivered + 1)
            return True
        disabled = int(after.status is SubscriptionStatus.DISABLED)
        self.result = replace(self.result, failed=self.result.failed + 1, disabled=disabled)
        # Neither the address nor the notification is logged.
        logger.warning("not delivered", outcome=attempt.outcome.value, attempts=after.attempts, disabled=disabled)
        self._is_ours = False
        return False

    def end(self) -> None:
        """Write the place up to which notifications were passed by, and give the subscription back."""
        if self._is_ours:
            progress = self._subscription.progress
            self._move(replace(progress, place=max(self._passed, progress.place)), clock.now())

    def _attempt(self, logged: Logged) -> Attempt:
        """Send a notification once."""
        if not self._subscription.is_bus:
            return self._dispatcher.sender.send(self._subscription.address, logged, self._secrets)
        bus = self._dispatcher.bus
        return bus.put(logged) if bus else Attempt(DeliveryOutcome.BUS_FAILED)

    def _move(
        self, progress: DeliveryProgress, until: datetime | None = None, delivery: DeliveryRecord | None = None
    ) -> bool:
        now = clock.now()
        applied = self._dispatcher.store.move(
            self._subscription, self._owner, progress, until or now + _LEASE, delivery
        )
        self._is_ours = applied
        self._subscription = replace(self._subscription, progress=progress)
        return applied
