"""The discussions: messages on an order, a line of a statement, or a report."""

from collections.abc import Sequence
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws, http, parameters
from quarterhour.access import everyone
from quarterhour.documents.queries import DocumentQueries
from quarterhour.parameters import NAME, PAGE
from quarterhour.reading import EntityReader
from quarterhour.routing import Routes
from quarterhour.settings import Environment
from quarterhour.telemetry import observed
from quarterhour.threads.keys import Thread
from quarterhour.threads.message import PERIOD, period, read_message
from quarterhour.threads.queries import ThreadQueries, Wanted
from quarterhour.threads.store import ThreadStore
from quarterhour.threads.subjects import Subjects

env = Environment.of_process()
dynamodb = aws.dynamodb()
entities = EntityReader(dynamodb, env.text("ENTITY_TABLE"))
may_read = DocumentQueries(entities).may_read
subjects = Subjects(dynamodb, env.text("IDENTITY_TABLE"), env.text("LEDGER_TABLE"), entities, may_read)
store = ThreadStore(dynamodb, env.text("ENTITY_TABLE"))
queries = ThreadQueries(entities)
routes = Routes(env)

ORDERS = ("oldest", "newest")


@routes.post("/threads/<kind>/<subject>/messages", allow=everyone)
def write(kind: str, subject: str) -> http.Response:
    """Take a message; a retry is answered as the first time."""
    caller = routes.caller()
    message = read_message(_thread(kind, (parameters.plain(subject),)), routes.body(), caller)
    written, is_new = store.write(message)
    return http.response(201 if is_new else 200, written)


@routes.get("/threads/<kind>/<subject>/messages", allow=everyone, query=("user", "period", "order", *PAGE))
def read(kind: str, subject: str) -> http.Response:
    """Answer a page of messages: of all or of a user, of all time or of a period."""
    asked = routes.parameters()
    user = asked.optional("user", NAME, parameters.name, None)
    part = asked.optional("period", PERIOD, period, "")
    order = asked.optional("order", f"one of {', '.join(ORDERS)}", ORDERS.index, 0)
    wanted = Wanted(_thread(kind, parameters.spellings(subject)), user, part, newest_first=ORDERS[order] == "newest")
    return http.response(200, queries.messages(wanted, asked.paging()))


def _thread(kind: str, names: Sequence[str]) -> Thread:
    return subjects.thread(parameters.plain(kind), names, routes.caller())


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Answer a request."""
    return routes.handle(event, context)
