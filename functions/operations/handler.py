"""The route of the operation's state: the depths of the queues, and the delay of the reports."""

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import observed
from quarterhour.operations.queries import OperationQueries, QueueReader
from quarterhour.schedule.expression import EXPECTED, checked
from quarterhour.web import http
from quarterhour.web.access import staff
from quarterhour.web.routing import Routes

env = Environment.of_process()
queues = {
    "counters-parked": env.text("COUNTERS_PARKED_QUEUE_URL"),
    "snapshots-parked": env.text("SNAPSHOTS_PARKED_QUEUE_URL"),
    "billing-parked": env.text("BILLING_PARKED_QUEUE_URL"),
    "counters-dead-letters": env.text("COUNTERS_DEAD_LETTERS_QUEUE_URL"),
    "snapshots-dead-letters": env.text("SNAPSHOTS_DEAD_LETTERS_QUEUE_URL"),
    "billing-dead-letters": env.text("BILLING_DEAD_LETTERS_QUEUE_URL"),
    "report-dead-letters": env.text("REPORT_DEAD_LETTERS_QUEUE_URL"),
}
"""The URLs of the queues by the names of their alarms."""
queries = OperationQueries(
    QueueReader(clients.sqs(), queues),
    EntityReader(clients.dynamodb(), env.text("ENTITY_TABLE")),
    env.parsed("REPORT_RATE", EXPECTED, checked),
    env.seconds("GRACE_SECONDS"),
)
routes = Routes(env)


@routes.get("/operations", allow=staff)
def show_state() -> http.Response:
    """Return the depths of the queues, and the delay of the reports."""
    return http.response(200, queries.state())


@observed
@http.answered
def handler(event: dict[str, object], context: LambdaContext) -> http.Response:
    """Return the response to a request."""
    return routes.handle(event, context)
