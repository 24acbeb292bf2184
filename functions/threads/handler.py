"""The thread routes: messages about an order, a report, a line of a report, an agency, or a statement."""

from collections.abc import Sequence
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import observed
from quarterhour.documents.queries import DocumentQueries
from quarterhour.ledger.queries import EventLookup
from quarterhour.model.fields import NAME
from quarterhour.threads.keys import Thread
from quarterhour.threads.message import PERIOD, WRITERS, period, read_message
from quarterhour.threads.queries import MessageQuery, ThreadQueries
from quarterhour.threads.service import ThreadService
from quarterhour.threads.store import ThreadStore
from quarterhour.threads.subjects import Subjects
from quarterhour.web import http, parameters
from quarterhour.web.access import everyone, people
from quarterhour.web.parameters import PAGE, among, one_of
from quarterhour.web.routing import Routes

env = Environment.of_process()
dynamodb = clients.dynamodb()
entities = EntityReader(dynamodb, env.text("ENTITY_TABLE"))
may_read = DocumentQueries(entities).may_read
events = EventLookup(dynamodb, env.text("IDENTITY_TABLE"), env.text("LEDGER_TABLE"))
subjects = Subjects(events, entities, may_read)
service = ThreadService(ThreadStore(dynamodb, env.text("ENTITY_TABLE")))
queries = ThreadQueries(entities)
routes = Routes(env)

ORDERS = {"oldest": False, "newest": True}
"""The orders of messages by name, with whether the newest come first."""


@routes.post("/threads/<kind>/<subject>/messages", allow=people(*WRITERS))
def write(kind: str, subject: str) -> http.Response:
    """Write a message; a retry gets the same response as the first try."""
    caller = routes.caller()
    message = read_message(_thread(kind, (parameters.decoded(subject),)), routes.body(), caller)
    written, is_new = service.write(message)
    return http.response(201 if is_new else 200, written)


@routes.get("/threads/<kind>/<subject>/messages", allow=everyone, query=("user", "period", "order", *PAGE))
def read(kind: str, subject: str) -> http.Response:
    """Return a page of messages: of all users or one, of all time or a period."""
    query = routes.parameters()
    user = query.optional("user", NAME, parameters.name, None)
    within = query.optional("period", PERIOD, period, "")
    newest_first = query.optional("order", one_of(ORDERS), lambda name: among(ORDERS, name), default=False)
    messages = MessageQuery(_thread(kind, parameters.spellings(subject)), user, within, newest_first)
    return http.response(200, queries.messages(messages, query.paging()))


def _thread(kind: str, names: Sequence[str]) -> Thread:
    return subjects.thread(parameters.decoded(kind), names, routes.caller())


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Return the response to a request."""
    return routes.handle(event, context)
