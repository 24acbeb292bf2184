"""Reads the depths of queues."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quarterhour.aws.items import Request
from quarterhour.aws.retries import with_retries

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_WAITING: Final = "ApproximateNumberOfMessages"
_IN_FLIGHT: Final = "ApproximateNumberOfMessagesNotVisible"


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """The messages of a queue: those that wait, and those that somebody has received and not deleted yet."""

    queue: str
    waiting: int
    in_flight: int


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
