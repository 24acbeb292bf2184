"""The entity stream: writes the state of each entity at the end of each window."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.parking import Parking
from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import observed
from quarterhour.snapshots.layers import LAYERS
from quarterhour.snapshots.service import SnapshotWriter
from quarterhour.snapshots.store import SnapshotStore

resources = Resources.of_process()
writer = SnapshotWriter(
    SnapshotStore(resources.dynamodb, resources.entity_table),
    Parking.of(resources, "snapshots"),
    LAYERS,
    resources.workers,
)


@observed
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """Write the snapshots of a batch; return the response that names failed records."""
    return writer.apply(event["Records"])
