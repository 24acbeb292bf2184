"""Describes each route: its behavior, bodies, responses and statuses, and why a retry is safe. Code shows the rest."""

from collections.abc import Mapping
from typing import Final

from quarterhour_tools.openapi.description import Group, RouteDescription
from quarterhour_tools.openapi.routes.accounts import ACCOUNTS
from quarterhour_tools.openapi.routes.agencies import AGENCIES
from quarterhour_tools.openapi.routes.caller import CALLER
from quarterhour_tools.openapi.routes.documents import DOCUMENTS
from quarterhour_tools.openapi.routes.events import EVENTS
from quarterhour_tools.openapi.routes.exchange_rates import EXCHANGE_RATES
from quarterhour_tools.openapi.routes.files import FILES
from quarterhour_tools.openapi.routes.messages import MESSAGES
from quarterhour_tools.openapi.routes.orders import ORDERS
from quarterhour_tools.openapi.routes.reports import REPORTS
from quarterhour_tools.openapi.routes.sales import SALES
from quarterhour_tools.openapi.routes.search import SEARCH
from quarterhour_tools.openapi.routes.statements import STATEMENTS
from quarterhour_tools.openapi.routes.subscriptions import SUBSCRIPTIONS

GROUPS: Final[tuple[Group, ...]] = (
    EVENTS,
    FILES,
    ACCOUNTS,
    STATEMENTS,
    REPORTS,
    SALES,
    EXCHANGE_RATES,
    AGENCIES,
    DOCUMENTS,
    ORDERS,
    MESSAGES,
    SUBSCRIPTIONS,
    SEARCH,
    CALLER,
)
"""The groups in the order of the reference."""
ROUTES: Final[Mapping[str, RouteDescription]] = {route: one for group in GROUPS for route, one in group.routes.items()}
"""Every route of the API."""
