"""Answers every GET of the API, and shows what files of others and of banks become. Its role can write nothing.

Each room registers its routes in its ``routes.py``; those of no room are here.
"""

import json
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import observed
from quarterhour.counters import routes as counters
from quarterhour.counters.queries import ACCOUNT_STATES
from quarterhour.customers.tokens import CustomerNames
from quarterhour.file_formats.csv import routes as csv
from quarterhour.ledger import routes as ledger
from quarterhour.maintenance import routes as maintenance
from quarterhour.messages import routes as messages
from quarterhour.messages.keys import SubjectKind
from quarterhour.model import clock
from quarterhour.notifications import routes as notifications
from quarterhour.orders import routes as orders
from quarterhour.registry import routes as registry
from quarterhour.registry.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.reports import routes as reports
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.reports.store import began
from quarterhour.search import routes as search
from quarterhour.snapshots import routes as snapshots
from quarterhour.statements import routes as statements
from quarterhour.web import http
from quarterhour.web.access import everyone
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.web import api

resources = Resources.of_process()
archived, settings = ArchivedPostings.of(resources), SettingsReader.of(resources)

routes = Routes(resources.env, CustomerNames.of(resources).revealed)
counters.read(routes, resources, registry.registered(resources))
snapshots.read(routes, resources, {snapshots.ACCOUNTS: ACCOUNT_STATES, "exchange-rates": EXCHANGE_RATE_STATES})
reports.read(routes, resources)
ledger.read(routes, resources, archived, partial(began, resources.entities))
statements.read(routes, resources)
notifications.read(routes, resources)
orders.read(routes, resources)
registry.read(routes, resources)
maintenance.read(routes, resources)
csv.read(routes)
search.read(
    routes,
    (
        counters.search(resources),
        statements.search(resources),
        ledger.search(resources, archived),
        orders.search(resources),
    ),
)
messages.read(
    routes,
    resources,
    {
        SubjectKind.ORDERS: (orders.visibility(resources),),
        SubjectKind.LINES: (ledger.visibility(resources, archived),),
        SubjectKind.REPORTS: (reports.visibility(resources),),
        SubjectKind.AGENCIES: (registry.visibility(resources), counters.visibility(resources)),
        SubjectKind.STATEMENTS: (statements.visibility(resources),),
    },
)

DESCRIPTION: Final = Path(__file__).with_name("openapi.json")


@routes.get("/me", allow=everyone)
def me() -> http.Response:
    """Return the caller: their name, their roles, the agencies whose data they may see, and how periods are shaped."""
    decided = settings.settings()
    calendar = decided.calendars.at(clock.now())
    shown: api.Reader = {
        **routes.caller().described(),
        "time_zone": str(calendar.zone),
        "first_period": str(calendar.first_period) if calendar.first_period else None,
        "upload_sources": sorted(decided.upload_sources),
        "rounding": decided.rounding.value,
    }
    return http.response(200, shown)


@routes.get("/openapi.json", allow=everyone)
def description() -> http.Response:
    """Return the OpenAPI document of all routes, which is this one."""
    return http.response(200, _description())


@cache
def _description() -> dict[str, Any]:
    described: dict[str, Any] = json.loads(DESCRIPTION.read_text("utf-8"))
    return described


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Return the response to a request."""
    return routes.handle(event, context)
