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
            """
            An order has 1 to 1,000 items. No name may hold `#`; the body has at most 1,000,000 bytes. The response is
            the order without its items.
            """,
            {
                200: "A retry; the order as it is by now.",
                400: "`errors` names each problem with its place, such as `items[1].amount`.",
                409: "The id was sent before with other content, whether or not that was completed.",
                503: "Not everything could be written, and nothing is visible; the same order sent again continues "
                "from there.",
            },
            bodies=json_body(SentOrder),
            retries="`order` identifies it. The same order again continues an interrupted request, or returns 200 with "
            "the current order. Other content under the id returns 409.",
            links={
                "order": Link("GET /orders/{order}", _ITS_ORDER),
                "status": Link("PUT /orders/{order}/status", _ITS_ORDER),
            },
        ),
        "GET /orders/{order}": read(
            "orders_get",
            OrderWithItems,
            "The items are in the order of their lines, in pages. All of the order exists, or none of it.",
            missing=_NO_ORDER,
        ),
        "PUT /orders/{order}/status": RouteDescription(
            "orders_set_status",
            {200: Order},
            (404, 409, *BODY_PROBLEMS),
            """
            | from | to |
            |---|---|
            | `open` | `paid`, `cancelled` |
            | `paid` | `shipped`, `cancelled` |
            | `shipped` | `delivered`, `cancelled` |

            The response is the order without its items.

            An order that becomes `paid` posts a sale of each item to the ledger within seconds: source `orders`, id
            `1001:1` and so on. If it becomes `cancelled` after that, it posts their refunds, `1001:1:refund`. Each is
            posted once. If a part of an item was refunded before (by an event that you sent and that refers to its
            sale), the refund is for the rest, or 0.

            `POST /events` rejects events of the source `orders` that would take the place of an order's own. These are
            every sale, and every event with the id of an item's sale (`1001:1`) or refund (`1001:1:refund`), held ones
            too. Give your correction another id, or another source with `refers_to_source` `orders`.
            """,
            {404: _NO_ORDER, 409: "It has another status than `from`, which `detail` names."},
            bodies=json_body(StatusUpdate),
            retries="A change that the order has already made returns the current order.",
            links={"order": Link("GET /orders/{order}", _ITS_ORDER)},
        ),
        "GET /orders": read(
            "orders_list",
            Page[Order],
            "Open work, without the items of the orders. `from` and `to` bound when they were placed.",
            parameters={**_PLACED, "status": QUERY["status"].as_required},
        ),
        "GET /customers/{customer}/orders": read(
            "customers_list_orders",
            Page[Order],
            "The oldest come first, without their items. `from` and `to` bound when they were placed.",
            parameters=_PLACED,
        ),
        "GET /customers/{customer}/items": read(
            "customers_list_items",
            Page[BoughtItem],
            """
            The items are sorted by product and then by date. The list shows the items of orders that existed 5 seconds
            before the request of the first page. So every order is on all pages of a listing, or on none.
            """,
        ),
    },
)
