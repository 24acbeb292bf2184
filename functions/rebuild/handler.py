"""For the operator: rebuilds counters from the sealed ledger.

Invoked with `{"account": "42#GBP"}` for one account, with `{}` for all.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws
from quarterhour.ledger.keys import Account
from quarterhour.mending import Mending
from quarterhour.settings import Environment
from quarterhour.telemetry import Metric, count, observed

mending = Mending.of(Environment.of_process(), aws.dynamodb())


@observed
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, int]:
    """Mend what differs from the sealed ledger; answer how many accounts were looked at and how much was mended."""
    rebuilt = mending.rebuild(Account.parse(event["account"]) if "account" in event else None)
    count(Metric.COUNTERS_MENDED, rebuilt.mended)
    return rebuilt.as_dict()
