"""The watch, every 15 minutes: reconciles the report schedule, posts held events, resolves disputes, starts statements.

An operator may invoke it at any time, to post held events without waiting for the next tick.
"""

from functools import partial
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.executions import Executions
from quarterhour.aws.telemetry import Metric, count, logger, observed
from quarterhour.aws.workers import Workers
from quarterhour.ledger.held.service import HeldPoster
from quarterhour.ledger.held.store import HeldStore
from quarterhour.ledger.reading.queries import EventLookup
from quarterhour.ledger.recording.service import recorder_of
from quarterhour.model.settings import Environment, calendar_of
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.reports.schedule.expression import EXPECTED, checked
from quarterhour.reports.schedule.service import ScheduleReconciler
from quarterhour.reports.schedule.store import ScheduleStore
from quarterhour.reports.store import CheckpointStore, began
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.starting import StatementStarter
from quarterhour.statements.status.service import DisputeWatch, StatementStatusService
from quarterhour.statements.status.store import StatementStatusStore
from quarterhour.statements.store import ProgressStore

env = Environment.of_process()
dynamodb = clients.dynamodb()
entity_table = env.text("ENTITY_TABLE")
entities = EntityReader(dynamodb, entity_table)
store = ScheduleStore(clients.scheduler(), env.text("SCHEDULE_NAME"), entities)
reconciler = ScheduleReconciler(store, env.parsed("REPORT_RATE", EXPECTED, checked))
grace = env.seconds("GRACE_SECONDS")
workers = Workers(env.integer("MAX_CONCURRENCY", minimum=1))
archived = ArchivedPostings.of(env, workers)
poster = HeldPoster(
    HeldStore(dynamodb, env.text("IDENTITY_TABLE"), entity_table, entities),
    recorder_of(env, dynamodb, workers, archived, "WATCH_TIMEOUT_SECONDS"),
)
events = EventLookup(dynamodb, env.text("IDENTITY_TABLE"), env.text("LEDGER_TABLE"), archived)
disputes = DisputeWatch(StatementStatusService(StatementStatusStore(dynamodb, entities), events), workers)
starter = StatementStarter(
    CheckpointStore(dynamodb, entity_table),
    ProgressStore(dynamodb, entity_table),
    Executions(clients.stepfunctions(), env.text("STATEMENTS_ARN")),
    calendar_of(env),
    partial(began, entities),
    ReleaseStore(dynamodb, entity_table, workers).due_release,
)

RESERVE_SECONDS = 10
"""Time that is kept to delete what was posted, to write down why the rest waits, and for the metrics."""


@observed
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Reconcile the schedule, post held events, resolve disputes, start statements; return the result."""
    tick = reconciler.tick(grace)
    count(Metric.SCHEDULE_RECONCILED, int(tick.reconciled))
    count(Metric.SCHEDULE_PAUSED, int(tick.setting.paused))
    count(Metric.REPORT_DELAY, tick.delay.firings)
    count(Metric.REPORT_DELAY_SECONDS, tick.delay.seconds)

    def seconds() -> float:
        return context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS

    held = poster.tick(context.aws_request_id, seconds())
    count(Metric.HELD_POSTED, held.posted)
    count(Metric.HELD_AGE_DAYS, held.age)
    corrected = disputes.tick(seconds())
    due, _ = starter.start()
    count(Metric.STATEMENTS_DUE, int(due is not None))
    result = {
        **tick.as_dict(),
        "held": held.as_dict(),
        "disputes": corrected.as_dict(),
        "statements_due": str(due) if due else None,
    }
    logger.info("watched", **result)
    return result
