"""Sending orders as a marketplace does, and telling what became of them."""

import json
from typing import Any
from urllib.parse import quote

from quarterhour_tools.emulator.http_api import Request, Response
from tests.support.orders import body, item
from tests.support.system import World
from tests.support.tables import ledger

JSON = (("Content-Type", "application/json"),)


def send(world: World, method: str, path: str, sent: object) -> Response:
    """Send a body; bytes are sent as they are."""
    content = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    return world.stack.request(Request(method, path, headers=JSON, body=content))


def place(world: World, order: str, *items: dict[str, Any], **changed: object) -> Response:
    """Send an order of these items, or of one."""
    return send(world, "POST", "/orders", body(*(items or (item(),)), order=order, **changed))


def change(world: World, order: str, before: str, after: str) -> Response:
    """Change an order's status."""
    path = f"/orders/{quote(quote(order, safe=''), safe='')}/status"
    return send(world, "PUT", path, {"from": before, "to": after})


def paid(world: World, order: str, *items: dict[str, Any], **changed: object) -> None:
    """Send an order, and have it paid."""
    assert place(world, order, *items, **changed).status == 201
    assert change(world, order, "open", "paid").status == 200


def billed(world: World) -> dict[str, str]:
    """Return what stands in the ledger: the amount of each event, by its id."""
    return {item["id"]: item["amount"] for item in ledger(world)}
