"""Counts the records of the ledger's stream in the counters of each account."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.parking import Parking
from quarterhour.aws.telemetry import observed
from quarterhour.aws.workers import Workers
from quarterhour.counters.plan import Retention
from quarterhour.counters.service import CounterUpdater
from quarterhour.counters.store import CounterStore
from quarterhour.customers.tokens import CustomerMarks, no_marks, vault_of
from quarterhour.model.settings import Environment

env = Environment.of_process()
dynamodb = clients.dynamodb()
# One worker: accounts are counted side by side, and each finds the marks of its customers.
vault = vault_of(env, dynamodb, Workers(1))
updater = CounterUpdater(
    CounterStore(dynamodb, env.text("ENTITY_TABLE")),
    Parking(clients.sqs(), env.text("PARKED_QUEUE_URL")),
    Retention(env.days("QUARTER_HOUR_RETENTION_DAYS"), env.days("DAY_RETENTION_DAYS")),
    Workers(env.integer("MAX_CONCURRENCY", minimum=1)),
    CustomerMarks(vault) if vault else no_marks,
)


@observed
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """Count a batch; return the records from which on Lambda must deliver again."""
    return updater.apply(event["Records"])
