"""The progress of a subscription: pauses that grow, three days of patience, then it is disabled."""

from datetime import UTC, datetime, timedelta

from quarterhour.aws.items import from_item, to_item
from quarterhour.aws.secrets import SecretRef
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.notifications.keys import before, place_of
from quarterhour.notifications.subscription import (
    GIVES_UP_AFTER,
    Attempt,
    DeliveryOutcome,
    DeliveryProgress,
    Subscription,
    SubscriptionStatus,
)

NOW = datetime(2026, 11, 5, 9, tzinfo=UTC)
FAILED = Attempt(DeliveryOutcome.BAD_STATUS, 500)


def test_a_delivery_that_fails_is_tried_for_three_days_with_growing_pauses() -> None:
    progress, now, pauses = DeliveryProgress(before(NOW)), NOW, []
    place = place_of(NOW, 1)
    while progress.status is SubscriptionStatus.ACTIVE:
        assert progress.is_due(now)
        progress = progress.after(FAILED, place, now, jitter=1)
        if progress.retry_at:
            pauses.append(parse_iso(progress.retry_at) - now)
            assert not progress.is_due(now)
            now = parse_iso(progress.retry_at)
    assert pauses[:4] == [timedelta(seconds=30), timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=4)]
    assert max(pauses) == pauses[-1] == timedelta(hours=1)
    assert GIVES_UP_AFTER <= now - NOW < GIVES_UP_AFTER + timedelta(hours=1)
    assert progress.place == before(NOW), "nothing is left out"
    assert (progress.status, progress.last_outcome) == (SubscriptionStatus.DISABLED, "bad_status")
    assert not progress.is_due(now + timedelta(days=9))


def test_half_of_a_pause_is_random() -> None:
    pauses = [
        parse_iso(DeliveryProgress("").after(FAILED, "", NOW, jitter).retry_at or "") - NOW
        for jitter in (0.0, 0.5, 1.0)
    ]
    assert pauses == [timedelta(seconds=15), timedelta(seconds=22.5), timedelta(seconds=30)]


def test_a_delivery_ends_the_failures_before_it() -> None:
    failed = DeliveryProgress(before(NOW)).after(FAILED, place_of(NOW, 1), NOW, 0)
    done = failed.after(Attempt(DeliveryOutcome.DELIVERED, 204), place_of(NOW, 1), NOW, 0)
    assert done == DeliveryProgress(place_of(NOW, 1), last_outcome="delivered")


def test_a_rotated_secret_is_signed_with_until_its_day_is_over() -> None:
    old = SecretRef("old", iso_millis(NOW + timedelta(days=1)))
    one = Subscription("erp", "1", "", frozenset(), "", "", 1, (SecretRef("new"), old), DeliveryProgress(""))
    assert [ref.id for ref in one.secrets_at(NOW)] == ["new", "old"]
    assert [ref.id for ref in one.secrets_at(NOW + timedelta(days=1))] == ["new"]
    assert Subscription.parse(from_item(to_item(one.as_item()))) == one
