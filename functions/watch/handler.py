"""The watch, every 15 minutes: reconciles the report schedule, and measures the delay of the reports."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import Metric, count, logger, observed
from quarterhour.schedule.expression import EXPECTED, checked
from quarterhour.schedule.service import ScheduleReconciler
from quarterhour.schedule.store import ScheduleStore

env = Environment.of_process()
entities = EntityReader(clients.dynamodb(), env.text("ENTITY_TABLE"))
store = ScheduleStore(clients.scheduler(), env.text("SCHEDULE_NAME"), entities)
reconciler = ScheduleReconciler(store, env.parsed("REPORT_RATE", EXPECTED, checked))
grace = env.seconds("GRACE_SECONDS")


@observed
def handler(_event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Reconcile the schedule, publish its metrics and return the result."""
    tick = reconciler.tick(grace)
    count(Metric.SCHEDULE_RECONCILED, int(tick.reconciled))
    count(Metric.SCHEDULE_PAUSED, int(tick.setting.paused))
    count(Metric.REPORT_DELAY, tick.delay.firings)
    count(Metric.REPORT_DELAY_SECONDS, tick.delay.seconds)
    logger.info("watched", **tick.as_dict())
    return tick.as_dict()
