"""For the operator: applies the records that were parked, once what kept them from being applied is mended.

A counters record is applied by rebuilding its account's day from the sealed ledger, so that nothing is counted twice;
one whose quarter-hour is not sealed yet stays parked. Snapshots records are applied as they are.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws
from quarterhour.mending import Mending
from quarterhour.settings import Environment
from quarterhour.snapshots.keeper import Keeper
from quarterhour.snapshots.store import SnapshotStore
from quarterhour.streams import Parking
from quarterhour.telemetry import logger, observed

env = Environment.of_process()
dynamodb = aws.dynamodb()
sqs = aws.sqs()
workers = aws.Workers(env.integer("MAX_CONCURRENCY", least=1))
mending = Mending.of(env, dynamodb, workers)
counters_parked = Parking(sqs, env.text("COUNTERS_PARKED_QUEUE_URL"))
snapshots_parked = Parking(sqs, env.text("SNAPSHOTS_PARKED_QUEUE_URL"))
keeper = Keeper(
    SnapshotStore(dynamodb, env.text("ENTITY_TABLE")),
    snapshots_parked,
    env.layers("SNAPSHOT_LAYERS"),
    workers,
)

RESERVE_SECONDS = 120
"""No other message is begun with less time left than this."""


@observed
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, dict[str, int]]:
    """Apply what is parked; answer how much was, and how much had to stay, of each queue."""

    def in_time() -> bool:
        return context.get_remaining_time_in_millis() / 1000 > RESERVE_SECONDS

    answer = {"snapshots": snapshots_parked.replay(keeper.replay, in_time).as_dict()}
    if mender := mending.mender():
        answer["counters"] = counters_parked.replay(mender, in_time).as_dict()
    logger.info("unparked", queues=answer)
    return answer
