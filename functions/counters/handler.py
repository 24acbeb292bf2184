"""The ledger's stream: keeps the live counters of each account."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws
from quarterhour.counters.applier import Counting
from quarterhour.counters.plan import Retention
from quarterhour.counters.store import CounterStore
from quarterhour.settings import Environment
from quarterhour.streams import Parking
from quarterhour.telemetry import observed

env = Environment.of_process()
counting = Counting(
    CounterStore(aws.dynamodb(), env.text("ENTITY_TABLE")),
    Parking(aws.sqs(), env.text("PARKED_QUEUE_URL")),
    Retention(env.days("QUARTER_RETENTION_DAYS"), env.days("DAY_RETENTION_DAYS")),
    aws.Workers(env.integer("MAX_CONCURRENCY", least=1)),
)


@observed
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """Count the batch; answer from where on to deliver again."""
    return counting.apply(event["Records"])
