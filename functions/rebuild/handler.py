"""For the operator: rebuilds counters from the sealed ledger.

Invoked with `{"account": "42#GBP"}` for one account, with `{}` for all.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws
from quarterhour.counters.plan import Retention
from quarterhour.counters.rebuilder import Rebuilder
from quarterhour.counters.store import CounterStore
from quarterhour.ledger.keys import Account
from quarterhour.reports.sealed import sealed_ledger
from quarterhour.reports.store import ReportStore
from quarterhour.settings import Environment
from quarterhour.telemetry import count, logger, metrics

env = Environment.of_process()
dynamodb = aws.dynamodb()
workers = aws.Workers(env.integer("MAX_CONCURRENCY", least=1))
counters = CounterStore(dynamodb, env.text("ENTITY_TABLE"))
reports = ReportStore(
    dynamodb, aws.s3(), env.text("LEDGER_TABLE"), env.text("ENTITY_TABLE"), env.text("REPORT_BUCKET"), workers
)
retention = Retention(env.days("QUARTER_RETENTION_DAYS"), env.days("DAY_RETENTION_DAYS"))


@metrics.log_metrics
@logger.inject_lambda_context
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, int]:
    """Mend what differs from the sealed ledger; answer how many accounts were looked at and how much was mended."""
    at = reports.checkpoint()
    if at is None:
        return {"accounts": 0, "mended": 0}
    only = Account.parse(event["account"]) if "account" in event else None
    rebuilder = Rebuilder(counters, retention, at.sealed_through)
    rebuilt = rebuilder.rebuild(sealed_ledger(reports, at.sealed_through), only)
    count("CountersMended", rebuilt.mended)
    return rebuilt.as_dict()
