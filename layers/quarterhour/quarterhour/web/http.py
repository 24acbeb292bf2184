"""HTTP API events in and responses out, with problems told as RFC 9457 has it."""

import base64
from functools import wraps
from typing import Any, Final

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.telemetry import Handler, logger
from quarterhour.model import exact_json
from quarterhour.model.errors import MalformedError, RequestError
from quarterhour.web.bodies import refusal

Response = dict[str, Any]
"""What a function answers to an HTTP API, payload format 2.0."""

REQUEST_ID: Final = "x-request-id"
"""The header by which an answer is found in the access log and in the function's."""


def answered(handler: Handler[Response]) -> Handler[Response]:
    """Wrap a handler of requests: an error for the client becomes a problem, and every answer names its request."""

    @wraps(handler)
    def answering(event: dict[str, Any], context: LambdaContext) -> Response:
        request_id = str(event["requestContext"]["requestId"])
        try:
            answer = handler(event, context)
        except RequestError as error:
            answer = refused(error, request_id)
        answer["headers"][REQUEST_ID] = request_id
        return answer

    return answering


def refused(error: RequestError, request_id: str) -> Response:
    """Tell of an error, to the client and, without what was sent, in the log."""
    logger.info("refused", status=error.status, reason=error.title)
    return problem(error, request_id)


def body_of(event: dict[str, Any]) -> bytes:
    """Return the body of an HTTP API event; raise ``MalformedError`` where its Base64 is broken."""
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return body.encode(errors="surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except ValueError as error:
        raise refusal(MalformedError, "is no Base64", "Base64, or text") from error


def header(event: dict[str, Any], name: str) -> str:
    """Return a header of an HTTP API event by its name in lower case; empty where it is missing."""
    # API Gateway hands names over in lower case, `sam local` as they came.
    headers = event.get("headers") or {}
    return next((str(value) for key, value in headers.items() if key.lower() == name), "")


def response(status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    """Build a JSON response."""
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json", "cache-control": "no-store", **(headers or {})},
        "body": exact_json.write(body),
    }


def with_json(response_: Response, name: str, text: str) -> Response:
    """Return a response with one more member, whose JSON is at hand as text: just as it stands, numbers and all."""
    return {**response_, "body": f"{response_['body'][:-1]}, {exact_json.write(name)}: {text}}}"}


def problem(error: RequestError, request_id: str) -> Response:
    """Build the problem details (RFC 9457) that tell of an error, and which request met it."""
    body = {"title": error.title, "status": error.status, "detail": error.detail, "request_id": request_id}
    if error.problems:
        body["errors"] = [field.as_dict() for field in error.problems]
    headers = {"content-type": "application/problem+json"}
    if error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    return response(error.status, body, headers)
