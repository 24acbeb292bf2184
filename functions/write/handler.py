"""Answers every POST, PUT and DELETE of the API, but not POST /events, which is ingest's.

Each room registers its routes in its ``routes.py``, when a request first needs them.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import observed
from quarterhour.customers.tokens import CustomerNames
from quarterhour.reports.schedule.expression import EXPECTED, checked
from quarterhour.web import http
from quarterhour.web.routing import Routes

resources = Resources.of_process()
# What the rooms read is checked now: a function with a wrong setting must not start.
resources.env.check(
    *("ENTITY_TABLE", "IDENTITY_TABLE", "LEDGER_TABLE", "SCHEDULE_NAME", "STATEMENTS_ARN", "NOTIFICATIONS"),
    *("SECRETS_PATH", "CONNECTION_SECRETS_PATH"),
)
resources.env.parsed("REPORT_RATE", EXPECTED, checked)
routes = Routes(resources.env, CustomerNames.of(resources).revealed)


@routes.room("orders")
def _orders() -> None:
    from quarterhour.orders import routes as orders

    orders.write(routes, resources)


@routes.room("agencies", "documents", "exchange-rates")
def _registry() -> None:
    from quarterhour.registry import routes as registry

    registry.write(routes, resources)


@routes.room("schedule")
def _reports() -> None:
    from quarterhour.reports import routes as reports

    reports.write(routes, resources)


@routes.room("held")
def _ledger() -> None:
    from quarterhour.ledger import routes as ledger

    ledger.write(routes, resources)


@routes.room("statements", "drafts", "statement-runs")
def _statements() -> None:
    from quarterhour.statements import routes as statements

    statements.write(routes, resources)


@routes.room("subscriptions")
def _notifications() -> None:
    from quarterhour.notifications import routes as notifications

    notifications.write(routes, resources)


@routes.room("connections")
def _connections() -> None:
    from quarterhour.intake.connections import routes as connections

    connections.write(routes, resources)


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

    messages.write(
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


routes.started()


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Return the response to a request."""
    return routes.handle(event, context)
