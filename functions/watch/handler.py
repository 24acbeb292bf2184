"""The watch, every 15 minutes: reconciles the report schedule, measures its delay, and posts held events.

An operator may invoke it at any time, to post held events without waiting for the next tick.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import Metric, count, logger, observed
from quarterhour.aws.workers import Workers
from quarterhour.held.service import HeldPoster
from quarterhour.held.store import HeldStore
from quarterhour.ledger.wiring import recorder_of
from quarterhour.schedule.expression import EXPECTED, checked
from quarterhour.schedule.service import ScheduleReconciler
from quarterhour.schedule.store import ScheduleStore

env = Environment.of_process()
dynamodb = clients.dynamodb()
entity_table = env.text("ENTITY_TABLE")
entities = EntityReader(dynamodb, entity_table)
store = ScheduleStore(clients.scheduler(), env.text("SCHEDULE_NAME"), entities)
reconciler = ScheduleReconciler(store, env.parsed("REPORT_RATE", EXPECTED, checked))
grace = env.seconds("GRACE_SECONDS")
workers = Workers(env.integer("MAX_CONCURRENCY", minimum=1))
poster = HeldPoster(
    HeldStore(dynamodb, env.text("IDENTITY_TABLE"), entity_table, entities),
    recorder_of(env, dynamodb, workers, "WATCH_TIMEOUT_SECONDS"),
)

RESERVE_SECONDS = 10
"""Time that is kept to delete and explain what was posted, and for the metrics."""


@observed
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Reconcile the schedule, post held events, publish the metrics and return the result."""
    tick = reconciler.tick(grace)
    count(Metric.SCHEDULE_RECONCILED, int(tick.reconciled))
    count(Metric.SCHEDULE_PAUSED, int(tick.setting.paused))
    count(Metric.REPORT_DELAY, tick.delay.firings)
    count(Metric.REPORT_DELAY_SECONDS, tick.delay.seconds)
    held = poster.tick(context.aws_request_id, context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS)
    count(Metric.HELD_POSTED, held.posted)
    count(Metric.HELD_AGE_DAYS, held.age)
    result = {**tick.as_dict(), "held": held.as_dict()}
    logger.info("watched", **result)
    return result
