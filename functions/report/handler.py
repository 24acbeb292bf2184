"""Seals every final quarter-hour in S3 on schedule, unless the schedule is paused.

Then, with the parameter `LedgerRetentionMonths`, it archives a portion of the months that are due.

Invoked with `{}` by an operator, it does both whether paused or not. Invoked with
`{"reseal": "2026-10-23T0130-0230"}`, it rewrites the lost files of a run.

With more than 8 shards, a state machine seals each run in parts. It invokes this function with
`{"seal": {"run": "2026-10-23T0130-0230", "part": "202610230130-03"}}` for each part, and then with
`{"publish": "2026-10-23T0130-0230"}`.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import Metric, count, is_tick, logger, observed
from quarterhour.counters.store import CounterReader
from quarterhour.maintenance.archive.service import Archiver
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.reports.plan import ReportSettings
from quarterhour.reports.reseal import Resealer
from quarterhour.reports.schedule.store import read_desired
from quarterhour.reports.service import Reporter, ReportStores
from quarterhour.statements.unfinished import UnfinishedQueries

resources = Resources.of_process()
counters = CounterReader(resources.dynamodb, resources.entity_table, resources.workers)
stores = ReportStores.of(resources, counters.counted)
settings = SettingsReader.of(resources)
resealer = Resealer(stores)
archiver = Archiver.of(resources, stores, UnfinishedQueries.of(resources).of_month)


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Seal all final quarter-hours and archive, or reseal a run; return what was done, and if the time sufficed."""

    def seconds() -> float:
        return context.get_remaining_time_in_millis() / 1000

    if "reseal" in event:
        resealed = resealer.reseal(event["reseal"], seconds).as_dict()
        logger.info("resealed", **resealed)
        return resealed
    reporter = Reporter(stores, ReportSettings.of(settings.settings()))
    if "seal" in event:
        sealed = reporter.seal_part(**event["seal"])
        lines = {**event["seal"], "lines": sealed.lines if sealed else None}
        logger.info("sealed", **lines)
        return lines
    # A deployment may have enabled the paused schedule; until the watch has disabled it, its ticks do nothing.
    if is_tick(event) and read_desired(resources.entities).paused:
        logger.info("paused")
        return {"paused": True}
    result = reporter.publish(event["publish"], seconds) if "publish" in event else reporter.run(seconds)
    count(Metric.COUNTER_DRIFT, result.drift)
    logger.info("reported", **result.as_dict())
    if not archiver.months or "publish" in event:
        return result.as_dict()
    archive = archiver.run(seconds)
    count(Metric.ARCHIVE_DELAY_DAYS, archive.days_late)
    logger.info("archived", **archive.as_dict())
    return {**result.as_dict(), "archive": archive.as_dict()}
