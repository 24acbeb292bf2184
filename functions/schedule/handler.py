"""The routes of the report schedule: read it, and change it at run time."""

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
from quarterhour.web.access import Role, people, staff
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes

env = Environment.of_process()
entities = EntityReader(clients.dynamodb(), env.text("ENTITY_TABLE"))
store = ScheduleStore(clients.scheduler(), env.text("SCHEDULE_NAME"), entities)
reconciler = ScheduleReconciler(store, env.parsed("REPORT_RATE", EXPECTED, checked))
routes = Routes(env)


@routes.get("/schedule", allow=staff, query=PAGE)
def show_schedule() -> http.Response:
    """Return the actual and the desired schedule, and its changes, newest first."""
    paging = routes.parameters().paging()
    return http.response(200, {**reconciler.show(), **paging.body(reconciler.changes(paging))})


@routes.put("/schedule", allow=people(Role.FINANCE))
def change_schedule() -> http.Response:
    """Change the schedule; return the actual and the desired schedule afterwards."""
    reconciler.change(ScheduleRequest.of(routes.body()), routes.caller().name)
    return http.response(200, reconciler.show())


@observed
@http.answered
def handler(event: dict[str, object], context: LambdaContext) -> http.Response:
    """Return the response to a request."""
    return routes.handle(event, context)
