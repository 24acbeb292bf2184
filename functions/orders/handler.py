"""The orders: created whole or not at all, read in every way that they are asked for, their status changed."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import Metric, count, observed
from quarterhour.aws.workers import Workers
from quarterhour.model import instants
from quarterhour.model.fields import NAME
from quarterhour.model.instants import ALWAYS
from quarterhour.orders.order import read_order
from quarterhour.orders.plan import WORK, StatusChange, shown_order
from quarterhour.orders.queries import OrderQueries
from quarterhour.orders.service import OrderService
from quarterhour.orders.store import OrderStore
from quarterhour.web import http, parameters
from quarterhour.web.access import machines
from quarterhour.web.parameters import MOMENT, PAGE
from quarterhour.web.routing import Routes

env = Environment.of_process()
dynamodb = clients.dynamodb()
table = env.text("ENTITY_TABLE")
workers = Workers(env.integer("MAX_CONCURRENCY", minimum=1))
store = OrderStore(dynamodb, clients.dynamodb_once(), table, workers)
keeper = OrderService(store)
queries = OrderQueries(EntityReader(dynamodb, table))
routes = Routes(env)

STATUSES = f"one of {', '.join(WORK)}"
RESERVE_SECONDS = 5
"""Kept back to answer in: whoever gets no answer must send the order again."""


@routes.post("/orders", allow=machines)
def create() -> http.Response:
    """Create an order; a retry completes it, or is answered with the order as it stands."""
    header, is_new = keeper.create(read_order(routes.body()), routes.seconds_left() - RESERVE_SECONDS)
    count(Metric.ORDERS_CREATED, int(is_new))
    return http.response(201 if is_new else 200, shown_order(header))


@routes.get("/orders", allow=machines, query=("status", "from", "to", *PAGE))
def waiting() -> http.Response:
    """Answer the orders in a status, the oldest first: the queue of open work."""
    asked = routes.parameters()
    status = WORK[asked.required("status", STATUSES, WORK.index)]
    start, end = asked.span(MOMENT, instants.moment, ALWAYS)
    paging = asked.paging()
    return http.response(200, paging.body(queries.queue(status, start, end, paging)))


@routes.get("/orders/<order>", allow=machines, query=PAGE)
def one(order: str) -> http.Response:
    """Answer an order with its items."""
    paging = routes.parameters().paging()
    return http.response(200, queries.order(parameters.names("order", order), paging))


@routes.put("/orders/<order>/status", allow=machines)
def change(order: str) -> http.Response:
    """Change an order's status, if it is the one that the request names."""
    name = parameters.parsed("order", parameters.decoded(order), NAME, parameters.name)
    return http.response(200, shown_order(keeper.change(name, StatusChange.of(routes.body()))))


@routes.get("/customers/<customer>/orders", allow=machines, query=("from", "to", *PAGE))
def of_customer(customer: str) -> http.Response:
    """Answer a customer's orders by date."""
    asked = routes.parameters()
    start, end = asked.span(MOMENT, instants.moment, ALWAYS)
    paging = asked.paging()
    return http.response(
        200, paging.body(queries.of_customer(parameters.names("customer", customer), start, end, paging))
    )


@routes.get("/customers/<customer>/items", allow=machines, query=("product", *PAGE))
def items_of_customer(customer: str) -> http.Response:
    """Answer what a customer has ordered by product: of all products, or of one."""
    asked = routes.parameters()
    product = asked.optional("product", NAME, parameters.name, None)
    paging = asked.paging()
    found = queries.items_of_customer(parameters.names("customer", customer), product, paging)
    return http.response(200, paging.body(found))


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Answer a request."""
    return routes.handle(event, context)
