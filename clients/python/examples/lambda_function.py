"""A Lambda function: sends the sales of an SQS batch, signed with its role (SigV4), and returns what SQS must repeat.

A function has no disk that lasts, so it has no spool: SQS keeps the messages. Set ``ReportBatchItemFailures`` on the
event source, and ``QUARTERHOUR_URL`` to the URL of the API. The role needs ``execute-api:Invoke``.
"""

import json
import os
from collections.abc import Generator
from typing import Any

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.session import Session

from quarterhour_client import Sender, sale


class SigV4(httpx.Auth):
    """Signs requests to API Gateway with the credentials of the environment."""

    requires_request_body = True

    def __init__(self, region: str) -> None:
        self._region = region
        self._session = Session()

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Set the headers of the signature."""
        # As few headers as possible are signed: a proxy may change the others.
        signed = AWSRequest(request.method, str(request.url), {"host": request.url.netloc.decode()}, request.content)
        credentials = self._session.get_credentials()
        if credentials is None:
            raise LookupError("no AWS credentials in the environment")
        SigV4Auth(credentials, "execute-api", self._region).add_auth(signed)
        request.headers.update(dict(signed.headers.items()))
        yield request


sender = Sender(os.environ["QUARTERHOUR_URL"], auth=SigV4(os.environ["AWS_REGION"]))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's own type
    """Send the sale in each message; return the messages that are to be delivered again."""
    messages = event["Records"]
    sales = [
        sale(
            source="queue",
            id=body["order"],
            agency=body["agency"],
            amount=body["amount"],
            currency=body["currency"],
            order_id=body["order"],
        )
        for body in (json.loads(message["body"]) for message in messages)
    ]
    within = context.get_remaining_time_in_millis() / 1000 - 5
    results = sender.send(sales, within=within)
    again = [message for message, one in zip(messages, results, strict=True) if not one.verdict.is_stored]
    for one in results:
        if one.verdict.is_parked:
            print(json.dumps({"id": one.id, "verdict": one.verdict.value, "problems": one.problems}))
    return {"batchItemFailures": [{"itemIdentifier": message["messageId"]} for message in again]}
