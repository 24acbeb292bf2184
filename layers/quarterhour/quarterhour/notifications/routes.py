"""The routes of subscriptions and their deliveries."""

from typing import TYPE_CHECKING

from quarterhour.aws.resources import Resources
from quarterhour.aws.secrets import SecretStore
from quarterhour.model.fields import SLUG, is_slug
from quarterhour.notifications.queries import SubscriptionQueries
from quarterhour.notifications.requests import read_replay, read_subscription
from quarterhour.notifications.store import NotificationStore
from quarterhour.notifications.subscription import BUS
from quarterhour.notifications.subscription_service import SubscriptionService
from quarterhour.web import http, parameters
from quarterhour.web.access import Role, people, staff
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.notifications import api


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes."""
    queries = SubscriptionQueries(resources.entities)

    @routes.get("/subscriptions", allow=staff, query=PAGE)
    def list_subscriptions() -> http.Response:
        """Return all subscriptions, by name."""
        paging = routes.parameters().paging()
        return http.response(200, paging.body(queries.subscriptions(paging)))

    @routes.get("/subscriptions/<name>", allow=staff)
    def subscription(name: str) -> http.Response:
        """Return a subscription, without its secret."""
        return http.response(200, queries.subscription(_name(name)).shown())

    @routes.get("/subscriptions/<name>/deliveries", allow=staff, query=PAGE)
    def list_deliveries(name: str) -> http.Response:
        """Return the deliveries of a subscription of the last 31 days, the newest first."""
        paging = routes.parameters().paging()
        found = queries.subscription(_name(name))
        return http.response(200, paging.body(queries.deliveries(found, paging)))


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing routes."""
    env = resources.env
    store = NotificationStore(resources.dynamodb, resources.entities)
    secrets = SecretStore(resources.ssm, env.text("SECRETS_PATH"))
    service = SubscriptionService(store, secrets, env.text("NOTIFICATIONS") != "off")
    # Only the emulator sets this: no address of the deployment's own network is allowed on AWS.
    local = bool(env.variables.get("QUARTERHOUR_LOCAL_RECEIVERS"))

    @routes.put("/subscriptions/<name>", allow=people(Role.FINANCE))
    def put(name: str) -> http.Response:
        """Create or change a subscription; the response to its creation alone has its secret."""
        subscription, secret = service.put(_own(name), read_subscription(routes.body(), local=local))
        shown = subscription.shown()
        return http.response(200, shown) if secret is None else http.response(201, _with_secret(shown, secret))

    @routes.delete("/subscriptions/<name>", allow=people(Role.FINANCE))
    def delete(name: str) -> http.Response:
        """Delete a subscription, its secret and what is not delivered."""
        checked = _own(name)
        service.delete(checked)
        deleted: api.DeletedSubscription = {"name": checked, "deleted": True}
        return http.response(200, deleted)

    @routes.post("/subscriptions/<name>/secrets", allow=people(Role.FINANCE))
    def rotate(name: str) -> http.Response:
        """Give a subscription a new secret, which this response alone has; the old one is signed with for a day."""
        subscription, secret = service.rotate(_own(name))
        return http.response(200, _with_secret(subscription.shown(), secret))

    @routes.post("/subscriptions/<name>/replays", allow=people(Role.FINANCE))
    def replay(name: str) -> http.Response:
        """Deliver again everything from an instant on."""
        return http.response(202, service.replay(_name(name), read_replay(routes.body())).shown())


def _with_secret(subscription: "api.Subscription", secret: str) -> "api.NewSubscription":
    return {**subscription, "secret": secret}


def _name(segment: str) -> str:
    return parameters.parsed("name", parameters.decoded(segment), SLUG, _checked)


def _own(segment: str) -> str:
    """Return the name of a subscription that people may write."""
    return parameters.parsed("name", parameters.decoded(segment), f"{SLUG}; not {BUS!r}", _not_of_bus)


def _checked(text: str) -> str:
    if not is_slug(text):
        raise ValueError(text)
    return text


def _not_of_bus(text: str) -> str:
    if text == BUS:
        raise ValueError(text)
    return _checked(text)
