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

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.executions import Executions
from quarterhour.aws.telemetry import Metric, count, is_tick, logger, observed
from quarterhour.aws.workers import Workers
from quarterhour.counters.store import CounterReader
from quarterhour.ledger.postings.partitions import LedgerReader
from quarterhour.maintenance.archive.service import Archiver
from quarterhour.maintenance.archive.store import ArchiveStore
from quarterhour.model.settings import Environment
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.reports.plan import ReportSettings
from quarterhour.reports.reseal import Resealer
from quarterhour.reports.schedule.store import read_desired
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.service import Reporter, ReportStores
from quarterhour.reports.store import CheckpointStore, PinStore, ProjectionStore, RunStore
from quarterhour.statements.store import ProgressStore
from quarterhour.statements.unfinished import UnfinishedQueries

env = Environment.of_process()
dynamodb = clients.dynamodb()
table = env.text("ENTITY_TABLE")
workers = Workers(env.integer("MAX_CONCURRENCY", minimum=1))
sealed_files = SealedFiles(clients.s3(), env.text("REPORT_BUCKET"))
stores = ReportStores(
    CheckpointStore(dynamodb, table),
    RunStore(dynamodb, table),
    LedgerReader(dynamodb, env.text("LEDGER_TABLE"), workers, ArchivedPostings(sealed_files, workers)),
    CounterReader(dynamodb, table, workers).counted,
    PinStore(dynamodb, table, workers),
    ProjectionStore(dynamodb, table, workers),
    sealed_files,
    Executions(clients.stepfunctions(), env.text("SEALING_ARN")),
)
entities = EntityReader(dynamodb, table)
settings = ReportSettings(env.seconds("GRACE_SECONDS"), env.text("CODE_VERSION"), env.currency("BASE_CURRENCY"))
reporter = Reporter(stores, settings)
resealer = Resealer(stores)
months = env.integer("LEDGER_RETENTION_MONTHS")
archiver = Archiver(
    ArchiveStore(dynamodb, env.text("LEDGER_TABLE"), entities, workers),
    stores.ledger,
    stores.checkpoints,
    stores.runs,
    UnfinishedQueries(entities, ProgressStore(dynamodb, table)).of_month,
    sealed_files,
    months,
)


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Seal all final quarter-hours and archive, or reseal a run; return what was done, and if the time sufficed."""

    def seconds() -> float:
        return context.get_remaining_time_in_millis() / 1000

    if "reseal" in event:
        resealed = resealer.reseal(event["reseal"], seconds).as_dict()
        logger.info("resealed", **resealed)
        return resealed
    if "seal" in event:
        sealed = reporter.seal_part(**event["seal"])
        lines = {**event["seal"], "lines": sealed.lines if sealed else None}
        logger.info("sealed", **lines)
        return lines
    # A deployment may have enabled the paused schedule; until the watch has disabled it, its ticks do nothing.
    if is_tick(event) and read_desired(entities).paused:
        logger.info("paused")
        return {"paused": True}
    result = reporter.publish(event["publish"], seconds) if "publish" in event else reporter.run(seconds)
    count(Metric.QUARTER_HOURS_SEALED, result.sealed_quarter_hours)
    count(Metric.LINES_REPORTED, result.lines)
    count(Metric.COUNTER_DRIFT, result.drift)
    logger.info("reported", **result.as_dict())
    if not months or "publish" in event:
        return result.as_dict()
    archive = archiver.run(seconds)
    count(Metric.ITEMS_ARCHIVED, archive.items)
    count(Metric.ARCHIVE_DELAY_DAYS, archive.days_late)
    logger.info("archived", **archive.as_dict())
    return {**result.as_dict(), "archive": archive.as_dict()}
