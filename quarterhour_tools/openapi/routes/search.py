"""The route of the search."""

from typing import Final

from quarterhour.counters.api import FoundAccounts
from quarterhour.ledger.reading.api import FoundEvents
from quarterhour.orders.api import FoundOrders
from quarterhour.statements.api import FoundStatements
from quarterhour_tools.openapi.description import Group, read
from quarterhour_tools.openapi.parameters import SEARCHED


class Found(FoundAccounts, FoundStatements, FoundEvents, FoundOrders):
    """What a text names, by kind."""


SEARCH: Final = Group(
    "Search",
    {
        "GET /search": read(
            "search_find",
            Found,
            """
            Names, numbers and ids are compared as a whole; the number of a statement also in small letters. People of
            an agency find what belongs to their agency, staff all. Only staff find orders and customers.

            - `accounts`: those of the agency `q`.
            - `statements`: the statement that the document `q` belongs to. A credit note that cancels a statement leads
              to it.
            - `events`: that of a source and an id, as in `shop#e-1`, `shop e-1` and `shop/e-1`. Or those with the id
              `q` of any source, if a report has sealed an event of this source.
            - `orders` and `customers`: those of [`POST /orders`](#post-orders).

            Each list has 20 items at most. `all_sources` is false if there are 100 sources or more: then an id alone is
            looked up in the first of them by name.
            """,
            parameters=SEARCHED,
        ),
    },
)
