"""API Gateway's part: a request to an event of payload format 2.0, a function's answer to a response."""

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
"""Bytes of JSON that Lambda lets a function answer."""
_TEXT_TYPES: Final = ("text/", "application/json", "application/xml", "application/javascript")
_TEXT_SUFFIXES: Final = ("+json", "+xml")


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request; path and query as they stand in the request line, header names in any case."""

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
        """Return the body as read from JSON."""
        return json.loads(self.body)


def path_parameters(route: Route, path: str) -> dict[str, str] | None:
    """Return the parameters of a path that is of this route, else ``None``.

    A path is cut before it is decoded: ``/accounts/a%2Fb/EUR`` has three parts. A route's last variable may take all
    that is left of it (``{proxy+}``).
    """
    wanted, given = route.path.split("/"), path.split("/")
    if wanted[-1].endswith("+}") and len(given) > len(wanted):
        given = [*given[: len(wanted) - 1], "/".join(given[len(wanted) - 1 :])]
    if len(wanted) != len(given):
        return None
    parameters: dict[str, str] = {}
    for want, part in zip(wanted, map(unquote, given), strict=True):
        if want.startswith("{") and part:
            parameters[want.strip("{+}")] = part
        elif want != part:
            return None
    return parameters


def event(
    route: Route, parameters: Mapping[str, str], request: Request, authorizer: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """Return the event that API Gateway would invoke the route's function with; ``authorizer`` tells who asks."""
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
    """Return the response that API Gateway makes of a function's answer: an error of one too large for Lambda."""
    if len(json.dumps(answer, ensure_ascii=False).encode()) > LARGEST_ANSWER:
        return message(500, "Internal Server Error")
    if not isinstance(answer, dict) or "statusCode" not in answer:
        return Response(200, {"content-type": "application/json"}, json.dumps(answer).encode())
    body = answer.get("body") or ""
    content = base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
    headers = {name.lower(): str(value) for name, value in (answer.get("headers") or {}).items()}
    return Response(int(answer["statusCode"]), headers, content)


def message(status: int, text: str) -> Response:
    """Return a response of API Gateway's own."""
    return Response(status, {"content-type": "application/json"}, json.dumps({"message": text}).encode())


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return pairs as a map; values of one name are joined with commas."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(content: bytes, content_type: str) -> tuple[str, bool]:
    """Return the body as text where its type says that it is, else in Base64, and whether it is."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith(_TEXT_TYPES) or kind.endswith(_TEXT_SUFFIXES):
        try:
            return content.decode(), False
        except UnicodeDecodeError:
            pass  # text by its name only
    return base64.b64encode(content).decode(), True
