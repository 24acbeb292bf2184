"""The notifications' calls to DynamoDB, and the builders of their requests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import NEW, expressions, put_request, set_all, update_request
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import conditional_transaction, conditional_write
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.notifications.keys import (
    KEPT,
    LAST_KEY,
    before,
    delivery_key,
    instant_of,
    log_after,
    marker_key,
    place_of,
    subscription_key,
    subscriptions,
)
from quarterhour.notifications.notification import Logged, Notification
from quarterhour.notifications.subscription import DeliveryProgress, DeliveryRecord, Subscription, SubscriptionStatus

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

AT_ONCE: Final = 45
"""The most notifications of a transaction: each has two items, and the transaction at most 100."""
LEASE_SECONDS: Final = 120
"""How long a sender has a subscription to itself after each of its writes: longer than any attempt."""
_TABLE: Final = "the Entity table"
_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class LastNotification:
    """The last notification of the log: its place (empty before the first one), and its number."""

    place: str = ""
    number: int = 0

    def following(self, notifications: Sequence[Notification], now: datetime) -> list[Logged]:
        """Return notifications at the places that follow; the instants in them never go back."""
        at = max(now, instant_of(self.place)) if self.place else now
        return [Logged(place_of(at, self.number + one), each) for one, each in enumerate(notifications, 1)]


def append_request(table: str, last: LastNotification, logged: Sequence[Logged], expires_at: int) -> Request:
    """Build the transaction that appends notifications to the log: all of them, each for the first time, or none.

    It fails if the log has another last notification, or one of these. So a place is only ever followed by later ones.
    """
    items: list[Request] = []
    for one in logged:
        marker = {**marker_key(one.notification.id), "place": one.place, "expires_at": expires_at}
        items += [{"Put": put_request(table, values, NEW)} for values in (marker, one.as_item(expires_at))]
    values = {**LAST_KEY, "place": logged[-1].place, "number": last.number + len(logged)}
    condition = ("#number = :was", {"was": last.number}) if last.place else (NEW, {})
    return {"TransactItems": [*items, {"Put": put_request(table, values, *condition)}]}


def lease_request(table: str, subscription: Subscription, owner: str, now: datetime, until: datetime) -> Request:
    """Build the update that gives a subscription to one sender, if no other has it."""
    given = {
        "id": subscription.id,
        "active": SubscriptionStatus.ACTIVE.value,
        "now": iso_millis(now),
        "owner": owner,
        "until": iso_millis(until),
    }
    update = "SET lease_owner = :owner, lease_until = :until"
    condition = (
        "id = :id AND #status = :active AND "
        "(attribute_not_exists(lease_until) OR lease_until <= :now OR lease_owner = :owner)"
    )
    request = update_request(table, subscription_key(subscription.name), update, condition, given)
    return {**request, "ReturnValues": "ALL_NEW"}


def progress_request(
    table: str, subscription: Subscription, owner: str, progress: DeliveryProgress, until: datetime
) -> Request:
    """Build the update that moves a subscription on, if the sender still has it and nobody has moved it.

    ``until``: when the sender's lease ends; now, if it is done.
    """
    changed = progress.as_dict()
    kept = {name: value for name, value in changed.items() if value is not None}
    removed = ", ".join(f"#{name}" for name in changed if name not in kept)
    update = f"{set_all(kept)}, lease_until = :until" + (f" REMOVE {removed}" if removed else "")
    given = {"id": subscription.id, "was": subscription.progress.place, "owner": owner, "until": iso_millis(until)}
    condition = "id = :id AND #place = :was AND lease_owner = :owner"
    return update_request(table, subscription_key(subscription.name), update, condition, {**kept, **given})


def delivery_values(subscription: Subscription, delivery: DeliveryRecord) -> dict[str, Any]:
    """Return the item of a delivery, which expires as its notification does."""
    expires_at = int((instant_of(delivery.place) + KEPT).timestamp())
    return {**delivery_key(subscription.id, delivery.place), **delivery.as_values(), "expires_at": expires_at}


def change_request(table: str, subscription: Subscription, seen: Subscription | None) -> Request:
    """Build the put of a subscription that people change; it fails if it is not the one that was ``seen``.

    A sender that has the subscription loses it: its next write fails, and the lease of the new item is free.
    """
    if seen is None:
        return put_request(table, subscription.as_item(), NEW)
    given = {"id": seen.id, "version": seen.version, "place": seen.progress.place}
    return put_request(table, subscription.as_item(), "id = :id AND version = :version AND place = :place", given)


def delete_request(table: str, subscription: Subscription) -> Request:
    """Build the deletion of a subscription that is still the one of this id."""
    condition = expressions({"id": subscription.id}, ConditionExpression="id = :id")
    return {"TableName": table, "Key": to_item(subscription_key(subscription.name)), **condition}


@dataclass(frozen=True, slots=True)
class NotificationStore:
    """Reads and writes the log, the subscriptions and their deliveries."""

    client: "DynamoDBClient"
    entities: EntityReader

    # ------------------------------------------------------------ the log

    def last(self) -> LastNotification:
        """Return the last notification of the log."""
        values = self.entities.get(LAST_KEY)
        return LastNotification(values["place"], int(values["number"])) if values else LastNotification()

    def known(self, notifications: Sequence[Notification]) -> set[str]:
        """Return the ids of those notifications that the log has."""
        found = self.entities.get_many([marker_key(one.id) for one in notifications])
        ids = {marker_key(one.id)["pk"]: one.id for one in notifications}
        return {ids[values["pk"]] for values in found}

    def append(self, last: LastNotification, logged: Sequence[Logged]) -> None:
        """Append notifications; raise botocore's ``ClientError`` if others were appended in the meantime."""
        expires_at = int((instant_of(logged[-1].place) + KEPT).timestamp())
        request = append_request(self.entities.table, last, logged, expires_at)
        with_retries(lambda: self.client.transact_write_items(**request), _TABLE)

    def after(self, place: str, last: str) -> Iterator[Logged]:
        """Yield the notifications after a place up to the last one, in their order."""
        for one in log_after(max(place, before(clock.now() - KEPT)), last):
            yield from map(Logged.parse, self.entities.read(one, _PAGE))

    # ------------------------------------------------------------ subscriptions

    def all(self) -> list[Subscription]:
        """Return all subscriptions, by name, read with strong consistency."""
        return [Subscription.parse(values) for values in self.entities.read(subscriptions(), _PAGE)]

    def get(self, name: str) -> Subscription | None:
        """Return a subscription, read with strong consistency; ``None`` if there is none."""
        values = self.entities.get(subscription_key(name))
        return Subscription.parse(values) if values else None

    def lease(self, subscription: Subscription, owner: str, now: datetime, until: datetime) -> Subscription | None:
        """Take a subscription for one sender; return it as it is now, or ``None`` if another sender has it."""
        request = lease_request(self.entities.table, subscription, owner, now, until)
        write = conditional_write(lambda: self.client.update_item(**request), _TABLE)
        return Subscription.parse(from_item(write.item)) if write.applied else None

    def move(
        self,
        subscription: Subscription,
        owner: str,
        progress: DeliveryProgress,
        until: datetime,
        delivery: DeliveryRecord | None = None,
    ) -> bool:
        """Move a leased subscription on, and write its delivery; return whether the sender still had it."""
        update = progress_request(self.entities.table, subscription, owner, progress, until)
        if delivery is None:
            return conditional_write(lambda: self.client.update_item(**update), _TABLE).applied
        put = {"Put": put_request(self.entities.table, delivery_values(subscription, delivery))}
        request: Any = {"TransactItems": [{"Update": update}, put]}
        return conditional_transaction(lambda: self.client.transact_write_items(**request), _TABLE)

    def write(self, subscription: Subscription, seen: Subscription | None) -> bool:
        """Write a subscription that people change; return whether it was the one that was seen."""
        request = change_request(self.entities.table, subscription, seen)
        return conditional_write(lambda: self.client.put_item(**request), _TABLE).applied

    def delete(self, subscription: Subscription) -> None:
        """Delete a subscription, unless another has its name by now."""
        request = delete_request(self.entities.table, subscription)
        conditional_write(lambda: self.client.delete_item(**request), _TABLE)
