"""POST /events: records billing events exactly once."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import observed
from quarterhour.customers.tokens import CustomerTokens
from quarterhour.ledger.events.http import read_request
from quarterhour.ledger.events.people import sent_by
from quarterhour.ledger.recording.metrics import count_outcomes
from quarterhour.ledger.recording.response import response_parts
from quarterhour.ledger.recording.service import recorder_of
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.web import http
from quarterhour.web.access import Gate, Role, people
from quarterhour.web.parameters import Parameters

resources = Resources.of_process()
gate = Gate(resources.env)
archived, tokens = ArchivedPostings.of(resources), CustomerTokens.of(resources)
recorder = recorder_of(resources, archived, "INGEST_TIMEOUT_SECONDS", tokens)

allow = people(Role.FINANCE)
settings = SettingsReader.of(resources)
RESERVE_SECONDS = 5
"""The time kept for the response: a client without a response must send all events again."""


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Record billing events, each exactly once, and return the outcome of each.

    People of finance record payments and adjustments with the source `finance`, re-ratings, and events of the sources
    that are open to uploads. Where two people must agree, what changes the amount owed is held until a second one
    approves it.
    """
    caller = gate.caller(event)
    allow(caller, {})
    Parameters(event["rawPath"], event.get("queryStringParameters") or {}).allow()
    sent = read_request(http.headers_of(event), http.body_of(event))
    decided = settings.settings()
    events = [sent_by(caller, one, decided) for one in sent.events]
    seconds = context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS
    outcomes = recorder.record(events, context.aws_request_id, seconds)
    count_outcomes(outcomes)
    status, headers, body = response_parts(outcomes, sent.lines)
    return http.response(status, body, headers)
