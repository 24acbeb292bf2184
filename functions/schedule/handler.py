"""The routes of the reports' schedule: seeing it, and changing it while everything runs."""

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import observed
from quarterhour.schedule.expression import EXPECTED, checked
from quarterhour.schedule.plan import ScheduleRequest
from quarterhour.schedule.service import ScheduleReconciler
from quarterhour.schedule.store import ScheduleStore
from quarterhour.web import http
from quarterhour.web.access import machines
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes

env = Environment.of_process()
entities = EntityReader(clients.dynamodb(), env.text("ENTITY_TABLE"))
store = ScheduleStore(clients.scheduler(), env.text("SCHEDULE_NAME"), entities)
reconciler = ScheduleReconciler(store, env.parsed("REPORT_RATE", EXPECTED, checked))
routes = Routes(env)


@routes.get("/schedule", allow=machines, query=PAGE)
def show_schedule() -> http.Response:
    """Answer the schedule as it stands, what is wanted of it, and its changes, the newest first."""
    paging = routes.parameters().paging()
    return http.response(200, {**reconciler.show(), **paging.body(reconciler.changes(paging))})


@routes.put("/schedule", allow=machines)
def change_schedule() -> http.Response:
    """Change the schedule; answer it as it stands then."""
    reconciler.change(ScheduleRequest.of(routes.body()), routes.caller().name)
    return http.response(200, reconciler.show())


@observed
@http.answered
def handler(event: dict[str, object], context: LambdaContext) -> http.Response:
    """Answer a request about the schedule."""
    return routes.handle(event, context)
