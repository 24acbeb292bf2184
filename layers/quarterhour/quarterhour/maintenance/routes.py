"""The route of the operation: the depths of the queues, and how far the reports are behind their schedule."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.queues import QueueReader
from quarterhour.aws.resources import Resources
from quarterhour.ledger.postings.partitions import read_sealed_through
from quarterhour.model import clock
from quarterhour.model.quarter_hours import GRACE
from quarterhour.model.settings import Environment
from quarterhour.reports.schedule.expression import EXPECTED, checked, parse
from quarterhour.reports.schedule.plan import delay, shown_delay
from quarterhour.reports.schedule.store import read_desired
from quarterhour.web import http
from quarterhour.web.access import staff
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.maintenance import api


QUEUES: Final = {
    "records-parked": "PARKED_QUEUE_URL",
    "dead-letters": "DEAD_LETTERS_QUEUE_URL",
}
"""The variables with the URLs of the queues, by the names of their alarms."""
OPTIONAL: Final = {
    "intake-parked": "INTAKE_PARKED_QUEUE_URL",
    "notifications-dead-letters": "NOTIFICATION_DEAD_LETTERS_QUEUE_URL",
    "intake-dead-letters": "INTAKE_DEAD_LETTERS_QUEUE_URL",
}
"""Those of the queues that a deployment can be without."""


def queue_urls(env: Environment) -> dict[str, str]:
    """Return the URLs of the deployment's queues by the names of their alarms."""
    optional = {name: env.optional(variable, "the URL of a queue", str) for name, variable in OPTIONAL.items()}
    deployed = {name: url for name, url in optional.items() if url}
    return {name: env.text(variable) for name, variable in QUEUES.items()} | deployed


@dataclass(frozen=True, slots=True)
class OperationQueries:
    """Reads the state of the operation. ``deployed`` is the deployed expression."""

    queues: QueueReader
    entities: EntityReader
    deployed: str

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the queries of a function."""
        env = resources.env
        queues = QueueReader(resources.sqs, queue_urls(env))
        rate = env.parsed("REPORT_RATE", EXPECTED, checked)
        return cls(queues, resources.entities, rate)

    def state(self) -> "api.Operations":
        """Return the depths of the queues and the delay of the reports, as the API shows them."""
        desired, sealed_through = read_desired(self.entities), read_sealed_through(self.entities)
        expression = parse(desired.setting(self.deployed).expression)
        behind = delay(sealed_through, GRACE, expression, desired, clock.now())
        queues: list[api.QueueDepth] = [
            {"queue": one.queue, "waiting": one.waiting, "in_flight": one.in_flight} for one in self.queues.depths()
        ]
        return {"queues": queues, "reports": shown_delay(sealed_through, behind)}


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading route."""
    operation = OperationQueries.of(resources)

    @routes.get("/operations", allow=staff)
    def show_state() -> http.Response:
        """Return the depths of the queues, and the delay of the reports."""
        return http.response(200, operation.state())
