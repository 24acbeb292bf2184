"""The entity stream: writes the state of each entity at the end of each window."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.parking import Parking
from quarterhour.aws.telemetry import observed
from quarterhour.aws.workers import Workers
from quarterhour.model.settings import Environment
from quarterhour.snapshots.layers import LAYERS, parse_layers
from quarterhour.snapshots.service import SnapshotWriter
from quarterhour.snapshots.store import SnapshotStore

env = Environment.of_process()
writer = SnapshotWriter(
    SnapshotStore(clients.dynamodb(), env.text("ENTITY_TABLE")),
    Parking(clients.sqs(), env.text("PARKED_QUEUE_URL")),
    env.parsed("SNAPSHOT_LAYERS", LAYERS, parse_layers),
    Workers(env.integer("MAX_CONCURRENCY", minimum=1)),
)


@observed
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """Write the snapshots of a batch; return the response that names failed records."""
    return writer.apply(event["Records"])
