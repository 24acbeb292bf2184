"""Requests to the API of a stack in the same process, as a machine."""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urlencode

from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.errors import ToolError

_PAGE: Final = 1000
_READ: Final = frozenset({HTTPStatus.OK})
_WRITTEN: Final = frozenset({HTTPStatus.OK, HTTPStatus.CREATED})


def get(stack: Stack, path: str, query: str = "") -> dict[str, Any]:
    """Return the JSON of a response; raise ``ToolError`` for any status but 200."""
    request = Request("GET", path, query)
    return _content(request, stack.request(request), _READ)


def items(stack: Stack, path: str, **query: str) -> Iterator[dict[str, Any]]:
    """Yield the items of a list, page by page."""
    following: str | None = ""
    while following is not None:
        parameters = {**query, "limit": str(_PAGE), **({"next": following} if following else {})}
        page = get(stack, path, urlencode(parameters))
        yield from page["items"]
        following = page["next"]


def send(stack: Stack, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Send a body, and return the JSON of the response; raise ``ToolError`` for any status but 200 and 201."""
    headers = (("content-type", "application/json"),)
    request = Request(method, path, headers=headers, body=json.dumps(body, ensure_ascii=False).encode())
    return _content(request, stack.request(request), _WRITTEN)


def put(stack: Stack, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Send a body with ``PUT``."""
    return send(stack, "PUT", path, body)


def _content(request: Request, response: Response, expected: frozenset[HTTPStatus]) -> dict[str, Any]:
    if response.status not in expected:
        raise ToolError(f"{request.path} answered {response.status}: {response.body.decode()}")
    return cast("dict[str, Any]", response.json())
