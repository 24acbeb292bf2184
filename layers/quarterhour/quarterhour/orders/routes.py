"""The routes of the orders: creating them, reading them, changing their status."""

from typing import Final

from quarterhour.aws import clients
from quarterhour.aws.resources import Resources
from quarterhour.customers.tokens import CustomerTokens
from quarterhour.model import instants
from quarterhour.model.fields import NAME
from quarterhour.model.instants import ALWAYS
from quarterhour.orders.order import read_order
from quarterhour.orders.plan import UNFINISHED, StatusChange, shown_order
from quarterhour.orders.queries import OrderQueries
from quarterhour.orders.service import OrderService
from quarterhour.orders.store import OrderStore
from quarterhour.web import http, parameters
from quarterhour.web.access import IsVisible, Search, machines, staff
from quarterhour.web.parameters import MOMENT, PAGE
from quarterhour.web.routing import Routes

STATUSES: Final = f"one of {', '.join(UNFINISHED)}"
RESERVE_SECONDS: Final = 5
"""Time that is kept for the response: without one, the sender must send the order again."""


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes."""
    orders = OrderQueries.of(resources)

    @routes.get("/orders", allow=staff, query=("status", "from", "to", *PAGE))
    def list_by_status() -> http.Response:
        """Return the orders in a status, the oldest first."""
        query = routes.parameters()
        status = UNFINISHED[query.required("status", STATUSES, UNFINISHED.index)]
        start, end = query.span(MOMENT, instants.moment, ALWAYS)
        paging = query.paging()
        return http.response(200, paging.body(orders.queue(status, start, end, paging)))

    @routes.get("/orders/<order>", allow=staff, query=PAGE)
    def read(order: str) -> http.Response:
        """Return an order with its items."""
        paging = routes.parameters().paging()
        return http.response(200, orders.order(parameters.names("order", order), paging))

    @routes.get("/customers/<customer>/orders", allow=staff, query=("from", "to", *PAGE))
    def list_customer_orders(customer: str) -> http.Response:
        """Return a customer's orders by date."""
        query = routes.parameters()
        start, end = query.span(MOMENT, instants.moment, ALWAYS)
        paging = query.paging()
        page = orders.of_customer(parameters.names("customer", customer), start, end, paging)
        return http.response(200, paging.body(page))

    @routes.get("/customers/<customer>/items", allow=staff, query=("product", *PAGE))
    def list_customer_items(customer: str) -> http.Response:
        """Return the items that a customer has ordered, of one product or of all, ordered by product."""
        query = routes.parameters()
        product = query.optional("product", NAME, parameters.name, None)
        paging = query.paging()
        page = orders.items_of_customer(parameters.names("customer", customer), product, paging)
        return http.response(200, paging.body(page))


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing routes."""
    store = OrderStore(resources.dynamodb, clients.dynamodb_once(), resources.entity_table, resources.workers)
    orders = OrderService(store, CustomerTokens.of(resources))

    @routes.post("/orders", allow=machines)
    def create() -> http.Response:
        """Create an order; a retry completes it, or returns it as it is."""
        header, is_new = orders.create(read_order(routes.body()), routes.seconds_left() - RESERVE_SECONDS)
        return http.response(201 if is_new else 200, shown_order(header))

    @routes.put("/orders/<order>/status", allow=machines)
    def change_status(order: str) -> http.Response:
        """Change an order's status, if it is in the status that the request names."""
        name = parameters.parsed("order", parameters.decoded(order), NAME, parameters.name)
        return http.response(200, shown_order(orders.change(name, StatusChange.of(routes.body()))))


def visibility(resources: Resources) -> IsVisible:
    """Return the function that returns whether an order exists and is visible to a caller."""
    return OrderQueries.of(resources).is_visible


def search(resources: Resources) -> Search:
    """Return the search for orders and customers."""
    return OrderQueries.of(resources).found
