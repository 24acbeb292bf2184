"""The entity stream: keeps the state of each entity as it stood in each window."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws
from quarterhour.settings import Environment
from quarterhour.snapshots.keeper import Keeper
from quarterhour.snapshots.store import SnapshotStore
from quarterhour.streams import Parking
from quarterhour.telemetry import observed

env = Environment.of_process()
keeper = Keeper(
    SnapshotStore(aws.dynamodb(), env.text("ENTITY_TABLE")),
    Parking(aws.sqs(), env.text("PARKED_QUEUE_URL")),
    env.layers("SNAPSHOT_LAYERS"),
    aws.Workers(env.integer("MAX_CONCURRENCY", least=1)),
)


@observed
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """Keep the batch's states; answer from where on to deliver again."""
    return keeper.apply(event["Records"])
