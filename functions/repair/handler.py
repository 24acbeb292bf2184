"""The operator's actions: rebuild counters, apply parked records, decide about held events, forget customers.

An operator invokes it with one of:

- `{"action": "rebuild", "account": "42#GBP", "from": "2026-10-23"}`: `account` and `from` are optional. While the
  response holds a `next`, invoke it again with that as `from`. With `day` in place of `from`, it rebuilds that day.
- `{"action": "follow", "execution": "arn:…"}`: the result of the `execution` that the response to `rebuild` holds if it
  rebuilds many days. A state machine runs it: it invokes this function for each day, then for the lifetimes.
- `{"action": "unpark"}`: apply what the counters and the snapshots have parked, once the cause is fixed. A parked
  ledger record is applied by rebuilding its account's day, so that nothing is counted twice. The function billing
  applies its own parked orders.
- `{"action": "release", "source": "shop-1", "id": "r-1", "by": "ann", "reason": "the sale is in the old system"}`: let
  a held event be posted without what it waits for. The watch posts it. Of an event that needs the approval of a second
  person, `by` must be another one.
- `{"action": "discard", …}`, with the same fields: discard a held event for good.
- `{"action": "forget", "customer": "…", "by": "ann", "reason": "request 17"}`: delete a customer's key and name.
- `{"action": "forgotten"}`: the log of what was forgotten.
- `{"action": "redact", "kind": "orders", "subject": "1001", "user": "ann", "id": "m-1", "by": "ben", "reason": "…"}`:
  remove the text of a message.
"""

from collections.abc import Callable
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.parking import Parking
from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import logger, observed
from quarterhour.customers.requests import ForgetRequest, read_forgetting
from quarterhour.customers.service import ForgettingService
from quarterhour.customers.store import VaultStore
from quarterhour.ledger.held.decision_service import HeldDecisionService
from quarterhour.ledger.held.requests import ReleaseRequest, read_decision
from quarterhour.ledger.held.store import HeldStore
from quarterhour.maintenance.rebuild.requests import FollowRequest, RebuildRequest, read_request
from quarterhour.maintenance.rebuild.service import RebuildService
from quarterhour.messages.requests import read_redaction
from quarterhour.messages.service import ThreadService
from quarterhour.messages.store import ThreadStore
from quarterhour.snapshots.layers import LAYERS
from quarterhour.snapshots.service import SnapshotWriter
from quarterhour.snapshots.store import SnapshotStore

resources = Resources.of_process()
env, dynamodb, workers, entity_table = resources.env, resources.dynamodb, resources.workers, resources.entity_table
rebuilds = RebuildService.of(resources)
forgetting = ForgettingService(VaultStore.of(resources))
threads = ThreadService(ThreadStore(dynamodb, entity_table))
parked = Parking.of(resources, "repair")
snapshots = SnapshotWriter(SnapshotStore(dynamodb, entity_table), parked, LAYERS, workers)
held = HeldDecisionService(HeldStore.of(resources))

REBUILD_RESERVE_SECONDS = 450
"""With less time left than this, a rebuild begins no further day: half of the function's timeout."""
UNPARK_RESERVE_SECONDS = 120
"""With less time left than this, no further parked record is applied."""


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Run the action that the event names, and return its result."""
    decision = read_decision(event)
    if decision:
        held.decide(decision)
        done = "released" if isinstance(decision, ReleaseRequest) else "discarded"
        return {done: str(decision.identity)}
    about = read_forgetting(event)
    if about:  # nothing of it is logged
        return forgetting.forget(about) if isinstance(about, ForgetRequest) else forgetting.forgotten()
    redaction = read_redaction(event)
    if redaction:
        return {"redacted": threads.redact(redaction)}
    request = read_request(event)
    if isinstance(request, RebuildRequest):
        return rebuild(request, context)
    if isinstance(request, FollowRequest):
        return rebuilds.follow(request.execution).as_dict()
    return unpark(context)


def rebuild(request: RebuildRequest, context: LambdaContext) -> dict[str, Any]:
    """Return how many counters were repaired, and the day from which another run must continue, or the execution."""
    rebuilt = rebuilds.rebuild(request, in_time(context, REBUILD_RESERVE_SECONDS)).as_dict()
    logger.info("rebuilt", **rebuilt)
    return rebuilt


def unpark(context: LambdaContext) -> dict[str, Any]:
    """Return, by function, how many parked records were applied and how many stay parked."""
    appliers = {"snapshots": snapshots.unpark, "counters": rebuilds.unparker()}
    unparked = parked.replay(appliers, in_time(context, UNPARK_RESERVE_SECONDS))
    result = {by: one.as_dict() for by, one in unparked.items()}
    logger.info("unparked", functions=result)
    return result


def in_time(context: LambdaContext, reserve_seconds: int) -> Callable[[], bool]:
    """Return a function that returns whether more time than the reserve is left."""
    return lambda: context.get_remaining_time_in_millis() / 1000 > reserve_seconds
