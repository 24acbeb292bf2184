"""For the operator: rebuilds counters from the sealed ledger, day by day.

Invoked with `{"account": "42#GBP"}` for one account, with `{}` for all; where it answers a `next`, once more with
that as `"from"`.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws
from quarterhour.counters.rebuild import Asked
from quarterhour.mending import Mending
from quarterhour.settings import Environment
from quarterhour.telemetry import Metric, count, observed

env = Environment.of_process()
mending = Mending.of(env, aws.dynamodb(), aws.Workers(env.integer("MAX_CONCURRENCY", least=1)))

RESERVE_SECONDS = 450
"""No other day is begun with less time left than this: half of all that there is."""


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Mend what differs from the sealed ledger; answer how much that was, and from which day on another must go on."""

    def in_time() -> bool:
        return context.get_remaining_time_in_millis() / 1000 > RESERVE_SECONDS

    rebuilt = mending.rebuild(Asked.of(event), in_time)
    count(Metric.COUNTERS_MENDED, rebuilt.mended)
    return rebuilt.as_dict()
