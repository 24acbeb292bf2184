"""POST /events: records billing events exactly once."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import Metric, count, observed
from quarterhour.aws.workers import Workers
from quarterhour.ledger.event import read_event
from quarterhour.ledger.http import answer, read_items
from quarterhour.ledger.plan import RecordingTerms, Verdict
from quarterhour.ledger.service import Recorder
from quarterhour.ledger.store import LedgerStore
from quarterhour.orders.events import unreserved
from quarterhour.rate_cards.store import RateCardStore
from quarterhour.web import http
from quarterhour.web.access import Gate, machines
from quarterhour.web.parameters import Parameters

env = Environment.of_process()
gate = Gate(env)
dynamodb = clients.dynamodb()
workers = Workers(env.integer("MAX_CONCURRENCY", least=1))
entity_table = env.text("ENTITY_TABLE")
recorder = Recorder(
    RecordingTerms(
        shards=env.integer("LEDGER_SHARDS", least=1),
        commission_rate=env.rate("DEFAULT_COMMISSION_RATE"),
        grace=env.seconds("GRACE_SECONDS"),
        longest_run=env.seconds("INGEST_TIMEOUT_SECONDS"),
        retention=env.days("DEDUP_RETENTION_DAYS") or None,
    ),
    LedgerStore(dynamodb, env.text("IDENTITY_TABLE"), env.text("LEDGER_TABLE"), entity_table, workers),
    RateCardStore(dynamodb, entity_table, workers).read,
)


RESERVE_SECONDS = 5
"""Kept back to answer in: whoever gets no answer must send everything again."""


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Record billing events, each exactly once, and answer each."""
    machines(gate.caller(event), {})
    Parameters(event["rawPath"], event.get("queryStringParameters") or {}).allow()
    read = map(read_event, read_items(http.header(event, "content-type"), http.body_of(event)))
    items = [unreserved(item) for item in read]
    seconds = context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS
    status, headers, body = answer(recorder.record(items, context.aws_request_id, seconds))
    for verdict in Verdict:
        count(Metric(f"Events{verdict.value.capitalize()}"), body["counts"].get(verdict.value, 0))
    return http.response(status, body, headers)
