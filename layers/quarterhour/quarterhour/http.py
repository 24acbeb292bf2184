"""HTTP API events in and responses out, with problems told as RFC 9457 has it."""

import base64
import json
from typing import Any

from quarterhour.errors import MalformedError, RequestError

Response = dict[str, Any]
"""What a function answers to an HTTP API, payload format 2.0."""


def body_of(event: dict[str, Any]) -> bytes:
    """Return the body of an HTTP API event; raise ``MalformedError`` where its Base64 is broken."""
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return body.encode(errors="surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except ValueError as error:
        raise MalformedError("the body is no Base64") from error


def header(event: dict[str, Any], name: str) -> str:
    """Return a header of an HTTP API event, empty where it is missing; names are in lower case."""
    return str((event.get("headers") or {}).get(name, ""))


def response(status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    """Build a JSON response."""
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json", "cache-control": "no-store", **(headers or {})},
        "body": json.dumps(body),
    }


def problem(error: RequestError) -> Response:
    """Build the problem details (RFC 9457) that tell of an error."""
    body = {"title": error.title, "status": error.status, "detail": error.detail}
    if error.problems:
        body["errors"] = [field.as_dict() for field in error.problems]
    headers = {"content-type": "application/problem+json"}
    if error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    return response(error.status, body, headers)
