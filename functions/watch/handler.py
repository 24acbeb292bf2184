"""The watch, every 15 minutes: reconciles the report schedule, posts held events, resolves disputes, starts statements.

An operator may invoke it at any time, to post held events without waiting for the next tick.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import Metric, count, logger, observed
from quarterhour.customers.tokens import no_tokens
from quarterhour.ledger.held.service import HeldPoster
from quarterhour.ledger.held.store import HeldStore
from quarterhour.ledger.recording.service import recorder_of
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.reports.schedule.service import ScheduleReconciler
from quarterhour.statements.starting import StatementStarter
from quarterhour.statements.status.service import DisputeWatch, StatementStatusService

resources = Resources.of_process()
archived = ArchivedPostings.of(resources)
reconciler = ScheduleReconciler.of(resources)
poster = HeldPoster(HeldStore.of(resources), recorder_of(resources, archived, "WATCH_TIMEOUT_SECONDS", no_tokens))
disputes = DisputeWatch(StatementStatusService.of(resources), resources.workers)
starter = StatementStarter.of(resources)
settings = SettingsReader.of(resources)

RESERVE_SECONDS = 10
"""Time that is kept to delete what was posted, to write down why the rest waits, and for the metrics."""


@observed
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Reconcile the schedule, post held events, resolve disputes, start statements; return the result."""
    tick = reconciler.tick()
    count(Metric.REPORT_DELAY, tick.delay.firings)

    def seconds() -> float:
        return context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS

    held = poster.tick(context.aws_request_id, seconds())
    count(Metric.HELD_OVERDUE, int(held.age >= settings.settings().held_days))
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
