"""Reads the state of the operation: the depths of the queues, the checkpoint, and the desired schedule."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Request
from quarterhour.aws.retries import with_retries
from quarterhour.model import clock
from quarterhour.operations.plan import QueueDepth, shown
from quarterhour.schedule.expression import parse
from quarterhour.schedule.plan import delay
from quarterhour.schedule.store import read_desired, read_sealed_through

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_WAITING: Final = "ApproximateNumberOfMessages"
_IN_FLIGHT: Final = "ApproximateNumberOfMessagesNotVisible"


def depth_request(queue_url: str) -> Request:
    """Build the GetQueueAttributes of a queue's depth."""
    return {"QueueUrl": queue_url, "AttributeNames": [_WAITING, _IN_FLIGHT]}


@dataclass(frozen=True, slots=True)
class QueueReader:
    """Reads the depths of queues, given by name with their URLs."""

    client: "SQSClient"
    urls: Mapping[str, str]

    def depths(self) -> list[QueueDepth]:
        """Return the depth of each queue; raise if one cannot be read, because an unknown depth is not zero."""
        return [self._depth(name, url) for name, url in self.urls.items()]

    def _depth(self, name: str, url: str) -> QueueDepth:
        request = depth_request(url)
        found = with_retries(lambda: self.client.get_queue_attributes(**request), "SQS")["Attributes"]
        return QueueDepth(name, int(found[_WAITING]), int(found[_IN_FLIGHT]))


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
        return shown(self.queues.depths(), sealed_through, behind)
