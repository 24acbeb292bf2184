"""The routes of orders."""

from typing import Final

from quarterhour.orders.api import BoughtItem, Order, OrderWithItems, SentOrder, StatusUpdate
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, Link, RouteDescription, json_body, read
from quarterhour_tools.openapi.parameters import QUERY, Parameter

_PLACED: Final = {
    "from": Parameter(
        "The first instant of placing, or a date for its midnight UTC.", QUERY["from"].shape, "2026-10-23"
    ),
    "to": Parameter(
        "The end, not included: an instant, or a date for its midnight UTC.", QUERY["to"].shape, "2026-10-24"
    ),
}
_ITS_ORDER: Final = {"order": "$response.body#/order"}
_NO_ORDER: Final = "There is no such order."

ORDERS: Final = Group(
    "Orders",
    {
        "POST /orders": RouteDescription(
            "orders_create",
            {201: Order, 200: Order},
            (409, *BODY_PROBLEMS),
            {
                200: "A retry; the order as it is by now.",
                400: "`errors` names each problem with its place, such as `items[1].amount`.",
                409: "The id was sent before with other content, whether or not that was completed.",
                503: "Not everything could be written, and nothing is visible; the same order sent again continues "
                "from there.",
            },
            bodies=json_body(SentOrder),
            links={
                "order": Link("GET /orders/{order}", _ITS_ORDER),
                "status": Link("PUT /orders/{order}/status", _ITS_ORDER),
            },
        ),
        "GET /orders/{order}": read("orders_get", OrderWithItems, missing=_NO_ORDER),
        "PUT /orders/{order}/status": RouteDescription(
            "orders_set_status",
            {200: Order},
            (404, 409, *BODY_PROBLEMS),
            {404: _NO_ORDER, 409: "It has another status than `from`, which `detail` names."},
            bodies=json_body(StatusUpdate),
            links={"order": Link("GET /orders/{order}", _ITS_ORDER)},
        ),
        "GET /orders": read("orders_list", Page[Order], parameters={**_PLACED, "status": QUERY["status"].as_required}),
        "GET /customers/{customer}/orders": read("customers_list_orders", Page[Order], parameters=_PLACED),
        "GET /customers/{customer}/items": read("customers_list_items", Page[BoughtItem]),
    },
)
