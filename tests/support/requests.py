"""Sending events as a shop does, and reading the answers."""

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from quarterhour_tools.emulator.http_api import Request, Response

if TYPE_CHECKING:
    from tests.support.system import World

ONE = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
LINES = "application/x-ndjson"


def events_request(body: object, content_type: str | None = None) -> Request:
    """Return the request that sends one event or a list of them; bytes and text are sent as they are."""
    content = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    kind = content_type if content_type is not None else BATCH if isinstance(body, list) else ONE
    return Request("POST", "/events", headers=(("Content-Type", kind),) if kind else (), body=content)


def post(world: "World", body: object, content_type: str | None = None) -> Response:
    """Send one event or a list of them; bytes and text are sent as they are."""
    return world.stack.request(events_request(body, content_type))


def post_each(world: "World", events: Iterable[object]) -> None:
    """Send events one by one, so that each has its own segment and stream record."""
    for one in events:
        answer = world.stack.request(events_request(one))
        assert answer.status == HTTPStatus.ACCEPTED


def put(world: "World", path: str, body: object) -> None:
    """Write a resource at its path: a registration, a rate card, an exchange rate. It must be a new version."""
    request = Request("PUT", path, headers=(("Content-Type", "application/json"),), body=json.dumps(body).encode())
    answer = world.stack.request(request)
    assert answer.status == 201, answer.body


def verdicts(answer: Response) -> list[str]:
    """Return the verdict of each item."""
    return [item["verdict"] for item in answer.json()["items"]]


def receipt(answer: Response, index: int = 0) -> dict[str, str]:
    """Return an item's receipt."""
    found: dict[str, str] = answer.json()["items"][index]["receipt"]
    return found


def account(agency: str = "42", currency: str = "GBP", part: str = "") -> str:
    """Return the path of an account, or of a part of it."""
    return f"/accounts/{quote(agency, safe='')}/{currency}" + (f"/{part}" if part else "")
