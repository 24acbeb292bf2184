"""Describes each route: its behavior, bodies, responses and statuses, and why a retry is safe. Code shows the rest."""

from collections.abc import Mapping
from typing import Final

from quarterhour_tools.openapi.description import Group, RouteDescription
from quarterhour_tools.openapi.routes.accounts import ACCOUNTS
from quarterhour_tools.openapi.routes.connections import CONNECTIONS
from quarterhour_tools.openapi.routes.events import EVENTS
from quarterhour_tools.openapi.routes.files import FILES
from quarterhour_tools.openapi.routes.orders import ORDERS
from quarterhour_tools.openapi.routes.people import CALLER, MESSAGES, SEARCH
from quarterhour_tools.openapi.routes.registry import AGENCIES, DOCUMENTS, EXCHANGE_RATES
from quarterhour_tools.openapi.routes.reports import REPORTS, SALES
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
    CONNECTIONS,
    SUBSCRIPTIONS,
    SEARCH,
    CALLER,
)
"""The groups in the order of the reference."""
ROUTES: Final[Mapping[str, RouteDescription]] = {route: one for group in GROUPS for route, one in group.routes.items()}
"""Every route of the API."""
