"""Reading subscriptions and their deliveries."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import is_slug
from quarterhour.notifications.keys import deliveries, is_place, subscription_key, subscriptions
from quarterhour.notifications.subscription import Subscription, shown_delivery
from quarterhour.web.paging import Paging

if TYPE_CHECKING:
    from quarterhour.notifications import api
    from quarterhour.web.paging import Page


@dataclass(frozen=True, slots=True)
class SubscriptionQueries:
    """Reads subscriptions and deliveries."""

    entities: EntityReader

    def subscriptions(self, paging: Paging) -> "Page[api.Subscription]":
        """Return a page of the subscriptions, by name."""
        after = paging.start(_name, None)
        found = map(Subscription.parse, self.entities.read(subscriptions(after), paging.limit + 1))
        return paging.cut(found, Subscription.shown, lambda one: one.name)

    def subscription(self, name: str) -> Subscription:
        """Return a subscription; raise ``NotFoundError`` if there is none."""
        values = self.entities.get(subscription_key(name))
        if values is None:
            raise NotFoundError(f"there is no subscription {name}")
        return Subscription.parse(values)

    def deliveries(self, subscription: Subscription, paging: Paging) -> "Page[api.Delivery]":
        """Return the deliveries of a subscription, the newest notification first."""
        after = paging.start(_place, None)
        found = self.entities.read(deliveries(subscription.id, after), paging.limit + 1)
        return paging.cut(found, shown_delivery, lambda values: str(values["sk"]))


def _name(text: str) -> str:
    if not is_slug(text):
        raise ValueError(text)
    return text


def _place(text: str) -> str:
    if not is_place(text):
        raise ValueError(text)
    return text
