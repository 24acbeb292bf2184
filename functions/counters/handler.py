"""Counts the records of the ledger's stream in the counters of each account."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.parking import Parking
from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import observed
from quarterhour.counters.plan import Retention
from quarterhour.counters.service import CounterUpdater
from quarterhour.counters.store import CounterStore

resources = Resources.of_process()
updater = CounterUpdater(
    CounterStore(resources.dynamodb, resources.entity_table),
    Parking.of(resources, "counters"),
    Retention(),
    resources.workers,
)


@observed
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """Count a batch; return the records from which on Lambda must deliver again."""
    return updater.apply(event["Records"])
