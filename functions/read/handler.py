"""Answers every GET of the API, and shows what files of others and of banks become. Its role can write nothing.

Each room registers its routes in its ``routes.py``, when a request first needs them; those of no room are here.
"""

import json
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import observed
from quarterhour.customers.tokens import CustomerNames
from quarterhour.model import clock
from quarterhour.reports.schedule.expression import EXPECTED, checked
from quarterhour.web import http
from quarterhour.web.access import everyone
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.web import api

DESCRIPTION: Final = Path(__file__).with_name("openapi.json")

resources = Resources.of_process()
# What the rooms read is checked now: a function with a wrong setting must not start.
resources.env.check(
    *("ENTITY_TABLE", "IDENTITY_TABLE", "LEDGER_TABLE", "REPORT_BUCKET", "SCHEDULE_NAME"),
    *("PARKED_QUEUE_URL", "DEAD_LETTERS_QUEUE_URL"),
)
resources.env.parsed("REPORT_RATE", EXPECTED, checked)
routes = Routes(resources.env, CustomerNames.of(resources).revealed)


@routes.room("accounts", "overview")
def _counters() -> None:
    from quarterhour.counters import routes as counters
    from quarterhour.registry import routes as registry

    counters.read(routes, resources, registry.registered(resources))


@routes.room("windows")
def _snapshots() -> None:
    from quarterhour.counters.queries import ACCOUNT_STATES
    from quarterhour.registry.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES
    from quarterhour.snapshots import routes as snapshots

    states = {snapshots.ACCOUNTS: ACCOUNT_STATES, "exchange-rates": EXCHANGE_RATE_STATES}
    snapshots.read(routes, resources, states)


@routes.room("reports", "sales", "locations", "schedule")
def _reports() -> None:
    from quarterhour.reports import routes as reports

    reports.read(routes, resources)


@routes.room("events", "sources", "held", "rerating")
def _ledger() -> None:
    from quarterhour.ledger import routes as ledger
    from quarterhour.reports.archived import ArchivedPostings
    from quarterhour.reports.store import began

    ledger.read(routes, resources, ArchivedPostings.of(resources), partial(began, resources.entities))


@routes.room("accounts", "periods", "statements", "disputes", "drafts", "releases", "receivables", "bank-files")
def _statements() -> None:
    from quarterhour.statements import routes as statements

    statements.read(routes, resources)


@routes.room("subscriptions")
def _notifications() -> None:
    from quarterhour.notifications import routes as notifications

    notifications.read(routes, resources)


@routes.room("connections")
def _connections() -> None:
    from quarterhour.intake.connections import routes as connections

    connections.read(routes, resources)


@routes.room("orders", "customers")
def _orders() -> None:
    from quarterhour.orders import routes as orders

    orders.read(routes, resources)


@routes.room("agencies", "documents", "exchange-rates", "csv")
def _registry() -> None:
    from quarterhour.registry import routes as registry

    registry.read(routes, resources)


@routes.room("operations")
def _maintenance() -> None:
    from quarterhour.maintenance import routes as maintenance

    maintenance.read(routes, resources)


@routes.room("csv")
def _csv() -> None:
    from quarterhour.file_formats.csv import routes as csv

    csv.read(routes)


@routes.room("search")
def _search() -> None:
    from quarterhour.counters import routes as counters
    from quarterhour.ledger import routes as ledger
    from quarterhour.orders import routes as orders
    from quarterhour.reports.archived import ArchivedPostings
    from quarterhour.search import routes as search
    from quarterhour.statements import routes as statements

    search.read(
        routes,
        (
            counters.search(resources),
            statements.search(resources),
            ledger.search(resources, ArchivedPostings.of(resources)),
            orders.search(resources),
        ),
    )


@routes.room("threads")
def _messages() -> None:
    from quarterhour.counters import routes as counters
    from quarterhour.ledger import routes as ledger
    from quarterhour.messages import routes as messages
    from quarterhour.messages.keys import SubjectKind
    from quarterhour.orders import routes as orders
    from quarterhour.registry import routes as registry
    from quarterhour.reports import routes as reports
    from quarterhour.reports.archived import ArchivedPostings
    from quarterhour.statements import routes as statements

    messages.read(
        routes,
        resources,
        {
            SubjectKind.ORDERS: (orders.visibility(resources),),
            SubjectKind.LINES: (ledger.visibility(resources, ArchivedPostings.of(resources)),),
            SubjectKind.REPORTS: (reports.visibility(resources),),
            SubjectKind.AGENCIES: (registry.visibility(resources), counters.visibility(resources)),
            SubjectKind.STATEMENTS: (statements.visibility(resources),),
        },
    )


@routes.room("me")
def _me() -> None:
    from quarterhour.registry.settings.store import SettingsReader

    settings = SettingsReader.of(resources)

    @routes.get("/me", allow=everyone)
    def me() -> http.Response:
        """Return the caller: their name, their roles, whose data they may see, and how periods are shaped."""
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


routes.started()


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Return the response to a request."""
    return routes.handle(event, context)
