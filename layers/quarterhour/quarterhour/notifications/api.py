"""The requests and responses about subscriptions, as types."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Count, Instant, Name, SentInstant, constrained, named, one_of
from quarterhour.notifications.addresses import LONGEST
from quarterhour.notifications.notification import NotificationKind
from quarterhour.notifications.subscription import DeliveryOutcome as Outcome
from quarterhour.notifications.subscription import SubscriptionStatus

DeliveryOutcome = Annotated[str, one_of(Outcome)]


class Subscription(TypedDict):
    """A subscription, without its secret."""

    name: str
    address: str
    """Empty for the subscription `bus`."""
    kinds: list[NotificationKind]
    agency: Name | None
    created_at: Instant
    version: Count
    """It rises with each change that people or programs make."""
    status: SubscriptionStatus
    """`disabled`: a delivery has failed for three days."""
    attempts: Count
    """Failed attempts to deliver the next notification."""
    failing_since: Instant | None
    retry_at: Instant | None
    last_outcome: DeliveryOutcome | None
    secret_rotates_until: Instant | None
    """Until when the secret before is signed with, too."""


class NewSubscription(Subscription):
    """A subscription with its new secret."""

    secret: str
    """`whsec_` and Base64, as the Standard Webhooks specification has it. Keep it: it is not shown again."""


class DeletedSubscription(TypedDict):
    """The subscription that was deleted."""

    name: str
    deleted: Literal[True]


class Delivery(TypedDict):
    """The delivery of a notification, after its latest attempt."""

    id: str
    """The `webhook-id`."""
    type: NotificationKind
    timestamp: Instant
    """Of the notification."""
    agency: Name | None
    outcome: DeliveryOutcome
    http_status: int | None
    """Of the receiver's answer."""
    attempts: Count
    at: Instant
    """Of the latest attempt."""


class SubscriptionContent(TypedDict):
    """What a subscription is to be."""

    address: Annotated[str, constrained(minLength=1, maxLength=LONGEST, pattern="^https://")]
    """`https://`, a lower-case name of the public DNS, perhaps a port of 443, 8443 or 1024 to 65535, and a path."""
    kinds: NotRequired[Annotated[list[NotificationKind], constrained(minItems=1)] | None]
    """Without them, all kinds."""
    agency: NotRequired[Name | None]
    """With it, only what is about this agency: kinds that begin with `statement.` or `event.`."""


_Replay = TypedDict("_Replay", {"from": Annotated[SentInstant, constrained(description="Within the last 31 days.")]})

Replay = Annotated[_Replay, named("Replay", "From when on everything is delivered again.")]
