"""The log of notifications and its subscriptions: who writes them at the same time, and what only one of them may."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from botocore.exceptions import ClientError

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.secrets import SecretRef
from quarterhour.model.clock import iso_millis
from quarterhour.notifications.keys import before, deliveries, place_of
from quarterhour.notifications.notification import Notification, NotificationKind
from quarterhour.notifications.service import NotificationLog
from quarterhour.notifications.store import NotificationStore
from quarterhour.notifications.subscription import (
    Attempt,
    DeliveryOutcome,
    DeliveryProgress,
    DeliveryRecord,
    Subscription,
    SubscriptionStatus,
)
from tests.contract.storage import Storage

FAILED = Attempt(DeliveryOutcome.TIMED_OUT)


@pytest.fixture
def store(storage: Storage) -> NotificationStore:
    return NotificationStore(storage.dynamodb, EntityReader(storage.dynamodb, storage.entity_table))


def sealed(run: str) -> Notification:
    return Notification.of(NotificationKind.REPORT_SEALED, {"run": run, "href": f"/reports/{run}"}, run)


def test_the_log_grows_at_its_end_and_has_each_notification_once(store: NotificationStore, at: datetime) -> None:
    log = NotificationLog(store)
    assert (store.last().place, store.last().number) == ("", 0)
    runs = [sealed(f"run {number}") for number in range(50)]
    assert log.append([*runs, runs[0]]) == 50, "more than a transaction takes"
    assert log.append([runs[3], sealed("last")]) == 1
    last = store.last()
    assert last.number == 51
    found = list(store.after(before(at), last.place))
    assert [one.notification for one in found] == [*runs, sealed("last")]
    assert [one.notification for one in store.after(found[49].place, last.place)] == [sealed("last")]
    for logged in (
        replace(last, number=50).following([sealed("late")], at),  # others have appended since
        last.following([sealed("new"), runs[7]], at),  # one of them is in the log
    ):
        with pytest.raises(ClientError, match="TransactionCanceledException"):
            store.append(replace(last, number=int(logged[0].place[-12:]) - 1), logged)
    assert (store.last(), store.known([sealed("late"), sealed("new")])) == (last, set())


def test_one_sender_at_a_time_moves_a_subscription_and_people_take_it_away(
    store: NotificationStore, at: datetime, own: str
) -> None:
    until, later = at + timedelta(minutes=2), at + timedelta(minutes=3)
    progress = DeliveryProgress(before(at))
    made = Subscription(own, "id", "https://a.com/", frozenset(), "", iso_millis(at), 1, (SecretRef("s"),), progress)
    assert store.write(made, None)
    assert not store.write(replace(made, id="another"), None), "the name is taken"
    assert store.get(own) == made
    assert store.lease(made, "first", at, until) == made
    assert store.lease(made, "second", at, until) is None
    assert store.lease(made, "first", at, until) == made, "its own answer was lost"
    failing = progress.after(FAILED, place_of(at, 1), at, 0.5)
    delivery = DeliveryRecord(
        place_of(at, 1), "msg", "report.sealed", "", FAILED.outcome.value, None, 1, iso_millis(at)
    )
    assert not store.move(made, "second", failing, until, delivery)
    assert store.move(made, "first", failing, until, delivery)
    moved = replace(made, progress=failing)
    assert store.get(own) == moved
    assert store.lease(moved, "second", later, later + timedelta(minutes=2)) == moved, "the lease is over"
    done = moved.progress.after(Attempt(DeliveryOutcome.DELIVERED, 200), place_of(at, 1), later, 0)
    assert not store.move(moved, "first", done, until), "another has it by now"
    assert store.move(moved, "second", done, later, replace(delivery, outcome="delivered", http_status=200))
    listed = list(store.entities.read(deliveries("id"), 10))
    assert [(one["outcome"], int(one["http_status"])) for one in listed] == [("delivered", 200)]
    delivered = replace(moved, progress=done)
    assert store.get(own) == delivered, "what only a failure has is gone"
    assert store.lease(delivered, "third", later, until)
    changed = replace(delivered, version=2, address="https://b.com/")
    assert store.write(changed, delivered)
    assert not store.write(replace(changed, version=3), delivered), "somebody has changed it"
    assert not store.move(delivered, "third", done, until), "people have taken it away"
    disabled = replace(changed, progress=replace(done, status=SubscriptionStatus.DISABLED))
    assert store.write(replace(disabled, version=3), changed)
    assert store.lease(disabled, "third", later, until) is None
    store.delete(replace(changed, id="another"))
    assert store.get(own)
    store.delete(changed)
    assert store.get(own) is None
