"""Answers every POST, PUT and DELETE of the API, but not POST /events, which is ingest's.

Each room registers its routes in its ``routes.py``.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import observed
from quarterhour.counters import routes as counters
from quarterhour.customers.tokens import CustomerNames
from quarterhour.ledger import routes as ledger
from quarterhour.messages import routes as messages
from quarterhour.messages.keys import SubjectKind
from quarterhour.notifications import routes as notifications
from quarterhour.orders import routes as orders
from quarterhour.registry import routes as registry
from quarterhour.reports import routes as reports
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.statements import routes as statements
from quarterhour.web import http
from quarterhour.web.routing import Routes

resources = Resources.of_process()

routes = Routes(resources.env, CustomerNames.of(resources).revealed)
orders.write(routes, resources)
registry.write(routes, resources)
reports.write(routes, resources)
ledger.write(routes, resources)
statements.write(routes, resources)
notifications.write(routes, resources)
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


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Return the response to a request."""
    return routes.handle(event, context)
