"""HTTP API events and responses; errors become problem details (RFC 9457)."""

import base64
from collections.abc import Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.telemetry import LambdaHandler, logger
from quarterhour.model import exact_json
from quarterhour.model.errors import MalformedError, RequestError, UnsupportedMediaTypeError
from quarterhour.model.fields import shown
from quarterhour.web.bodies import refusal

if TYPE_CHECKING:
    from quarterhour.web import api

Response = dict[str, Any]
"""A function's response to an HTTP API, payload format 2.0."""

REQUEST_ID: Final = "x-request-id"
"""The header with the request id, which the access log and the function's log hold, too."""

_CODING: Final = "content-encoding"


def answered(handler: LambdaHandler[Response]) -> LambdaHandler[Response]:
    """Wrap a handler of requests: a ``RequestError`` becomes a problem, and every response carries its request id."""

    @wraps(handler)
    def answering(event: dict[str, Any], context: LambdaContext) -> Response:
        request_id = str(event["requestContext"]["requestId"])
        try:
            result = handler(event, context)
        except RequestError as error:
            result = refused(error, request_id)
        result["headers"][REQUEST_ID] = request_id
        return result

    return answering


def refused(error: RequestError, request_id: str) -> Response:
    """Return the problem for a refused request; log the refusal without the content of the request."""
    logger.info("refused", status=error.status, reason=error.title)
    return problem(error, request_id)


def body_of(event: dict[str, Any]) -> bytes:
    """Return the body of an HTTP API event.

    Raises ``MalformedError`` if its Base64 is invalid, and ``UnsupportedMediaTypeError`` if it is compressed.
    """
    coding = header(event, _CODING)
    if coding.strip().lower() not in {"", "identity"}:
        raise refusal(UnsupportedMediaTypeError, f"is {shown(coding)}", "the body uncompressed", _CODING)
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return body.encode(errors="surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except ValueError as error:
        raise refusal(MalformedError, "is not Base64", "Base64, or text") from error


def headers_of(event: dict[str, Any]) -> dict[str, str]:
    """Return the headers of an HTTP API event by their names in lower case."""
    # API Gateway converts header names to lower case, `sam local` does not.
    return {name.lower(): str(value) for name, value in (event.get("headers") or {}).items()}


def header(event: dict[str, Any], name: str) -> str:
    """Return a header of an HTTP API event by its name in lower case; empty if it is missing."""
    return headers_of(event).get(name, "")


def response(status: int, body: Mapping[str, object], headers: dict[str, str] | None = None) -> Response:
    """Build a JSON response."""
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json", "cache-control": "no-store", **(headers or {})},
        "body": exact_json.write(body),
    }


def with_json(response_: Response, name: str, text: str) -> Response:
    """Return a response with one more member, whose value is JSON text that stays as it is, numbers included."""
    return {**response_, "body": f"{response_['body'][:-1]}, {exact_json.write(name)}: {text}}}"}


def problem(error: RequestError, request_id: str) -> Response:
    """Build the problem details (RFC 9457) of an error, with the request id."""
    body: api.Problem = {"title": error.title, "status": error.status, "detail": error.detail, "request_id": request_id}
    if error.problems:
        body["errors"] = [field.as_dict() for field in error.problems]
    headers = {"content-type": "application/problem+json"}
    if error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    return response(error.status, body, headers)
