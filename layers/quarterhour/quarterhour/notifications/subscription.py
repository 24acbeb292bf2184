"""A subscription: where notifications are sent, which ones, and how far its deliveries are. Pure values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.aws.secrets import SecretRef
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.notifications.keys import subscription_key
from quarterhour.notifications.notification import Notification, NotificationKind

if TYPE_CHECKING:
    from quarterhour.notifications import api

BUS: Final = "bus"
"""The name of the subscription of the EventBridge bus, which the deployment makes itself."""
GIVES_UP_AFTER: Final = timedelta(days=3)
"""How long a delivery is tried, before its subscription is disabled."""
_FIRST_PAUSE: Final = timedelta(seconds=30)
_LONGEST_PAUSE: Final = timedelta(hours=1)
_DOUBLINGS: Final = 7


class SubscriptionStatus(StrEnum):
    """Whether a subscription gets notifications."""

    ACTIVE = "active"
    DISABLED = "disabled"
    """A delivery failed for three days. The next change of the subscription, or a replay, makes it active again."""


class DeliveryOutcome(StrEnum):
    """How an attempt to deliver a notification ended."""

    DELIVERED = "delivered"
    """The receiver answered with a status of 2xx."""
    BAD_STATUS = "bad_status"
    """The receiver answered with another status."""
    REDIRECTED = "redirected"
    """The receiver answered with a redirect, which is not followed."""
    TIMED_OUT = "timed_out"
    """The receiver did not answer in time."""
    DISCONNECTED = "disconnected"
    """The connection was refused or reset, or closed without an answer."""
    BAD_ANSWER = "bad_answer"
    """What the receiver answered is no HTTP."""
    BAD_CERTIFICATE = "bad_certificate"
    """The receiver's certificate is not valid, or of another name."""
    TLS_FAILED = "tls_failed"
    """The receiver does not speak TLS 1.2 or later."""
    UNKNOWN_HOST = "unknown_host"
    """The name of the address does not resolve."""
    REFUSED_ADDRESS = "refused_address"
    """The name resolves to an address that is not public."""
    NO_SECRET = "no_secret"  # noqa: S105 - no password  # nosec B105
    """The secret is missing: rotate it."""
    BUS_FAILED = "bus_failed"
    """EventBridge did not take the event."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one attempt, and the receiver's HTTP status, if it answered."""

    outcome: DeliveryOutcome
    http_status: int | None = None


@dataclass(frozen=True, slots=True)
class DeliveryProgress:
    """How far the deliveries of a subscription are.

    ``place``: that of the last notification that is done with. ``attempts``: of the next one so far. ``failing_since``
    and ``retry_at``: when they began to fail, and when the next attempt is due (ISO 8601).
    """

    place: str
    status: SubscriptionStatus = SubscriptionStatus.ACTIVE
    attempts: int = 0
    failing_since: str | None = None
    retry_at: str | None = None
    last_outcome: str | None = None

    as_dict = asdict

    def is_due(self, now: datetime) -> bool:
        """Return whether an attempt may be made now."""
        return self.status is SubscriptionStatus.ACTIVE and (self.retry_at is None or parse_iso(self.retry_at) <= now)

    def after(self, attempt: Attempt, place: str, now: datetime, jitter: float) -> "DeliveryProgress":
        """Return the progress after an attempt for the notification at a place.

        ``jitter``: from 0 to 1. A pause is half of it fixed, and half of it random.
        """
        if attempt.outcome is DeliveryOutcome.DELIVERED:
            return DeliveryProgress(place, last_outcome=attempt.outcome.value)
        since = self.failing_since or iso_millis(now)
        failed = replace(
            self, attempts=self.attempts + 1, failing_since=since, last_outcome=attempt.outcome.value, retry_at=None
        )
        if now - parse_iso(since) >= GIVES_UP_AFTER:
            return replace(failed, status=SubscriptionStatus.DISABLED)
        pause = min(_FIRST_PAUSE * 2 ** min(self.attempts, _DOUBLINGS), _LONGEST_PAUSE)
        return replace(failed, retry_at=iso_millis(now + pause * (0.5 + jitter / 2)))

    def at(self, place: str) -> "DeliveryProgress":
        """Return the progress of a subscription that continues behind a place, as if nothing had failed."""
        return DeliveryProgress(place, last_outcome=self.last_outcome)


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription. ``id`` differs from that of an earlier one of its name. ``kinds`` and ``agency``: empty for all.

    ``version`` rises with each change that people make. ``secrets``: the first one is in force.
    """

    name: str
    id: str
    address: str
    kinds: frozenset[NotificationKind]
    agency: str
    created_at: str
    version: int
    secrets: tuple[SecretRef, ...]
    progress: DeliveryProgress

    @property
    def is_bus(self) -> bool:
        """Whether this is the subscription of the EventBridge bus."""
        return self.name == BUS

    def wants(self, notification: Notification) -> bool:
        """Return whether the subscription gets a notification."""
        if self.kinds and notification.kind not in self.kinds:
            return False
        return not self.agency or notification.agency == self.agency

    def secrets_at(self, now: datetime) -> list[SecretRef]:
        """Return the secrets to sign with, the one in force first."""
        return [one for one in self.secrets if one.is_valid(now)]

    def as_item(self) -> dict[str, Any]:
        """Return the item of the Entity table."""
        return {
            **subscription_key(self.name),
            "id": self.id,
            "address": self.address,
            "kinds": sorted(self.kinds),
            "agency": self.agency or None,
            "created_at": self.created_at,
            "version": self.version,
            "secrets": [one.as_dict() for one in self.secrets],
            **self.progress.as_dict(),
        }

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_item`` returned."""
        return cls(
            values["sk"],
            values["id"],
            values["address"],
            frozenset(map(NotificationKind, values["kinds"])),
            values.get("agency", ""),
            values["created_at"],
            int(values["version"]),
            tuple(SecretRef(one["id"], one.get("until")) for one in values["secrets"]),
            DeliveryProgress(
                values["place"],
                SubscriptionStatus(values["status"]),
                int(values["attempts"]),
                values.get("failing_since"),
                values.get("retry_at"),
                values.get("last_outcome"),
            ),
        )

    def shown(self) -> "api.Subscription":
        """Return the subscription as the API shows it, without its secrets."""
        progress = self.progress
        return {
            "name": self.name,
            "address": self.address,
            "kinds": sorted(self.kinds or NotificationKind),
            "agency": self.agency or None,
            "created_at": self.created_at,
            "version": self.version,
            "status": progress.status,
            "attempts": progress.attempts,
            "failing_since": progress.failing_since,
            "retry_at": progress.retry_at,
            "last_outcome": progress.last_outcome,
            "secret_rotates_until": next((one.until for one in self.secrets[1:]), None),
        }


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """The delivery of a notification to a subscription, after its latest attempt."""

    place: str
    id: str
    kind: str
    agency: str
    outcome: str
    http_status: int | None
    attempts: int
    at: str

    def as_values(self) -> dict[str, Any]:
        """Return the attributes of the item."""
        return {
            "id": self.id,
            "kind": self.kind,
            "agency": self.agency or None,
            "outcome": self.outcome,
            "http_status": self.http_status,
            "attempts": self.attempts,
            "at": self.at,
        }


def shown_delivery(values: Mapping[str, Any]) -> "api.Delivery":
    """Return the item of a delivery as the API shows it."""
    status = values.get("http_status")
    return {
        "id": values["id"],
        "type": values["kind"],
        "timestamp": values["sk"].partition("#")[0],
        "agency": values.get("agency"),
        "outcome": values["outcome"],
        "http_status": None if status is None else int(status),
        "attempts": int(values["attempts"]),
        "at": values["at"],
    }
