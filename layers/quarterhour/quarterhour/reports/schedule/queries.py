"""Reads the state of the operation: the depths of the queues, the checkpoint, and the desired schedule."""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.queues import QueueReader
from quarterhour.ledger.postings.partitions import read_sealed_through
from quarterhour.model import clock
from quarterhour.reports.schedule.expression import parse
from quarterhour.reports.schedule.plan import delay, shown_delay
from quarterhour.reports.schedule.store import read_desired


@dataclass(frozen=True, slots=True)
class OperationQueries:
    """Reads the state of the operation. ``deployed`` is the deployed expression, ``grace`` that of a quarter-hour."""

    queues: QueueReader
    entities: EntityReader
    deployed: str
    grace: timedelta

    def state(self) -> dict[str, Any]:
        """Return the depths of the queues and the delay of the reports, as the API shows them."""
        desired, sealed_through = read_desired(self.entities), read_sealed_through(self.entities)
        expression = parse(desired.setting(self.deployed).expression)
        behind = delay(sealed_through, self.grace, expression, desired, clock.now())
        queues = [asdict(one) for one in self.queues.depths()]
        return {"queues": queues, "reports": shown_delay(sealed_through, behind)}
