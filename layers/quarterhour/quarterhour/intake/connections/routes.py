"""The routes of connections and their parked deliveries. Deliveries themselves come by an API of their own."""

from typing import TYPE_CHECKING, Final

from quarterhour.aws.resources import Resources
from quarterhour.aws.secrets import SecretStore
from quarterhour.intake.connections.apply_queue import ApplyQueue
from quarterhour.intake.connections.keys import is_delivery_id
from quarterhour.intake.connections.queries import ConnectionQueries
from quarterhour.intake.connections.requests import read_connection
from quarterhour.intake.connections.service import ConnectionService
from quarterhour.intake.connections.store import ConnectionStore
from quarterhour.model.fields import SLUG, is_slug
from quarterhour.web import http, parameters
from quarterhour.web.access import Role, people, staff
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.intake.connections import api

_ID: Final = "the id of a parked delivery, 22 letters and digits"
operators = people(Role.FINANCE)


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes."""
    queries = ConnectionQueries(resources.entities, resources.env.variables.get("CONNECTIONS_URL", ""))

    @routes.get("/connections", allow=staff, query=PAGE)
    def list_connections() -> http.Response:
        """Return all connections, by name, with what they have delivered."""
        paging = routes.parameters().paging()
        return http.response(200, paging.body(queries.connections(paging)))

    @routes.get("/connections/<name>", allow=staff)
    def connection(name: str) -> http.Response:
        """Return a connection with what it has delivered, without its secrets."""
        return http.response(200, queries.connection(_name(name)))

    @routes.get("/connections/<name>/parked", allow=staff, query=PAGE)
    def list_parked(name: str) -> http.Response:
        """Return the parked deliveries of a connection, with the reason of each."""
        paging = routes.parameters().paging()
        return http.response(200, paging.body(queries.parked(_name(name), paging)))

    @routes.get("/connections/<name>/parked/<delivery>", allow=operators)
    def parked(name: str, delivery: str) -> http.Response:
        """Return a parked delivery with its content, which may name customers."""
        return http.response(200, queries.parked_one(_name(name), _id(delivery)))


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing routes."""
    env = resources.env
    store = ConnectionStore(resources.dynamodb, resources.entities)
    secrets = SecretStore(resources.ssm, env.text("CONNECTION_SECRETS_PATH"))
    queue = ApplyQueue(resources.sqs, env.variables.get("INBOX_QUEUE_URL", ""))
    service = ConnectionService(store, secrets, queue)
    base_url = env.variables.get("CONNECTIONS_URL", "")

    @routes.put("/connections/<name>", allow=operators)
    def put(name: str) -> http.Response:
        """Create or change a connection; no response has its secret."""
        made, is_new = service.put(_name(name), read_connection(routes.body()))
        return http.response(201 if is_new else 200, made.shown(store.state(made.name), base_url))

    @routes.delete("/connections/<name>", allow=operators)
    def delete(name: str) -> http.Response:
        """Delete a connection and its secrets, unless a delivery of it is parked."""
        checked = _name(name)
        service.delete(checked)
        deleted: api.DeletedConnection = {"name": checked, "deleted": True}
        return http.response(200, deleted)

    @routes.post("/connections/<name>/parked", allow=operators)
    def apply(name: str) -> http.Response:
        """Apply the parked deliveries of a connection again."""
        checked = _name(name)
        applying: api.ApplyingParked = {"name": checked, "parked": service.apply(checked)}
        return http.response(202, applying)

    @routes.delete("/connections/<name>/parked/<delivery>", allow=operators)
    def discard(name: str, delivery: str) -> http.Response:
        """Discard a parked delivery for good."""
        found = _id(delivery)
        service.discard(_name(name), found)
        discarded: api.DiscardedDelivery = {"id": found, "discarded": True}
        return http.response(200, discarded)


def _name(segment: str) -> str:
    return parameters.parsed("name", parameters.decoded(segment), SLUG, _checked)


def _checked(text: str) -> str:
    if not is_slug(text):
        raise ValueError(text)
    return text


def _id(segment: str) -> str:
    return parameters.parsed("delivery", parameters.decoded(segment), _ID, _checked_id)


def _checked_id(text: str) -> str:
    if not is_delivery_id(text):
        raise ValueError(text)
    return text
