"""The messages by which the parked deliveries of a connection are applied again."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quarterhour.aws.retries import with_retries

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

APPLY: Final = "apply"
"""The member of a message that has the parked deliveries of a connection applied again."""


@dataclass(frozen=True, slots=True)
class ApplyQueue:
    """The queue of the messages by which parked deliveries are applied again; ``url``: empty without the intake."""

    client: "SQSClient"
    url: str

    def send(self, name: str, after: str | None = None) -> None:
        """Have the parked deliveries of a connection applied again, those behind an id."""
        body = json.dumps({APPLY: {"connection": name, "after": after}})
        with_retries(lambda: self.client.send_message(QueueUrl=self.url, MessageBody=body), "SQS")
