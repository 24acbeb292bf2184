"""API Gateway's conversions: an HTTP request to an event (payload format 2.0), a function's result to a response."""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, unquote
from uuid import uuid4

from quarterhour_tools.emulator.template import Route

LARGEST_ANSWER: Final = (6 << 20) + 100
"""Lambda's limit for a function's result, in bytes of JSON."""
_TEXT_TYPES: Final = ("text/", "application/json", "application/xml", "application/javascript")
_TEXT_SUFFIXES: Final = ("+json", "+xml")


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request: path and query exactly as in the request line, header names in any case."""

    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:  # noqa: ANN401 - JSON is any value
        """Return the body, parsed as JSON."""
        return json.loads(self.body)


def path_parameters(route: Route, path: str) -> dict[str, str] | None:
    """Return the parameters of a path that matches the route, else ``None``.

    A path is split before it is decoded: ``/accounts/a%2Fb/EUR`` has three parts. A route's last variable may take all
    remaining parts (``{proxy+}``).
    """
    expected, given = route.path.split("/"), path.split("/")
    if expected[-1].endswith("+}") and len(given) > len(expected):
        given = [*given[: len(expected) - 1], "/".join(given[len(expected) - 1 :])]
    if len(expected) != len(given):
        return None
    parameters: dict[str, str] = {}
    for name, part in zip(expected, map(unquote, given), strict=True):
        if name.startswith("{") and part:
            parameters[name.strip("{+}")] = part
        elif name != part:
            return None
    return parameters


def template_path(rule: str) -> str:
    """Return the path of a route that a function registers as a template has it: ``/accounts/{agency}``."""
    return rule.replace("<", "{").replace(">", "}")


def event(
    route: Route, parameters: Mapping[str, str], request: Request, authorizer: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """Build the event with which API Gateway invokes the route's function; ``authorizer`` holds the caller."""
    headers = _joined((name.lower(), value) for name, value in request.headers)
    cookies = headers.pop("cookie", "")
    body, encoded = _body(request.body, headers.get("content-type", ""))
    key = f"{route.method} {route.path}"
    path = unquote(request.path)
    made: dict[str, Any] = {
        "version": "2.0",
        "routeKey": key,
        "rawPath": path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "local",
            "authorizer": dict(authorizer),
            "domainName": headers.get("host", "localhost"),
            "domainPrefix": "local",
            "http": {
                "method": request.method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": str(uuid4()),
            "routeKey": key,
            "stage": "$default",
            "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(now.timestamp() * 1000),
        },
        "isBase64Encoded": encoded,
    }
    if cookies:
        made["cookies"] = cookies.split("; ")
    if request.query:
        made["queryStringParameters"] = _joined(parse_qsl(request.query, keep_blank_values=True))
    if parameters:
        made["pathParameters"] = dict(parameters)
    if request.body:
        made["body"] = body
    return made


def response(answer: Any) -> Response:  # noqa: ANN401 - a function may answer anything
    """Return API Gateway's response for a function's result; a result that is too large for Lambda gives an error."""
    if len(json.dumps(answer, ensure_ascii=False).encode()) > LARGEST_ANSWER:
        return message(500, "Internal Server Error")
    if not isinstance(answer, dict) or "statusCode" not in answer:
        return Response(200, {"content-type": "application/json"}, json.dumps(answer).encode())
    body = answer.get("body") or ""
    content = base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
    headers = {name.lower(): str(value) for name, value in (answer.get("headers") or {}).items()}
    return Response(int(answer["statusCode"]), headers, content)


def message(status: int, text: str) -> Response:
    """Return a response that API Gateway itself sends."""
    return Response(status, {"content-type": "application/json"}, json.dumps({"message": text}).encode())


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return pairs as a dict; values with the same name are joined with commas."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(content: bytes, content_type: str) -> tuple[str, bool]:
    """Return the body, and whether it is in Base64: a body with a text type is text, any other is in Base64."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith(_TEXT_TYPES) or kind.endswith(_TEXT_SUFFIXES):
        try:
            return content.decode(), False
        except UnicodeDecodeError:
            pass  # the type says text, the bytes are not UTF-8
    return base64.b64encode(content).decode(), True
