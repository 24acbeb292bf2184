"""The routes of the reports' schedule: seeing it, and changing it while everything runs."""

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws, http
from quarterhour.access import machines
from quarterhour.parameters import PAGE
from quarterhour.reading import EntityReader
from quarterhour.routing import Routes
from quarterhour.schedule.expression import EXPECTED, checked
from quarterhour.schedule.keeper import ScheduleKeeper
from quarterhour.schedule.plan import Asked
from quarterhour.schedule.store import ScheduleStore
from quarterhour.settings import Environment
from quarterhour.telemetry import observed

env = Environment.of_process()
entities = EntityReader(aws.dynamodb(), env.text("ENTITY_TABLE"))
store = ScheduleStore(aws.scheduler(), env.text("SCHEDULE_NAME"), entities)
keeper = ScheduleKeeper(store, env.parsed("REPORT_RATE", EXPECTED, checked))
routes = Routes(env)


@routes.get("/schedule", allow=machines, query=PAGE)
def show_schedule() -> http.Response:
    """Answer the schedule as it stands, what is wanted of it, and its changes, the newest first."""
    paging = routes.parameters().paging()
    return http.response(200, {**keeper.show(), **paging.body(keeper.changes(paging))})


@routes.put("/schedule", allow=machines)
def change_schedule() -> http.Response:
    """Change the schedule; answer it as it stands then."""
    keeper.change(Asked.of(routes.body()), routes.caller().name)
    return http.response(200, keeper.show())


@observed
@http.answered
def handler(event: dict[str, object], context: LambdaContext) -> http.Response:
    """Answer a request about the schedule."""
    return routes.handle(event, context)
