"""Connections and their deliveries, for tests: each signed as its provider signs."""

import json
from base64 import b64encode
from typing import Any
from uuid import uuid4

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.intake.connections.signatures import signed_headers
from quarterhour.model import clock
from quarterhour_tools.emulator.http_api import Request, Response
from tests.support.system import World

SECRETS = {
    provider: f"whsec_{b64encode(provider.value.ljust(32, '.').encode()).decode()}"
    if provider is Provider.GENERIC
    else f"{provider.value}-secret-0123456789"
    for provider in Provider
}
"""A secret for each provider."""
JSON = ("content-type", "application/json")


def call(world: World, method: str, path: str, body: Any = None) -> Response:
    """Send a request to the API."""
    headers = (JSON, ("host", "localhost"))
    content = b"" if body is None else json.dumps(body).encode()
    return world.stack.request(Request(method, path, headers=headers, body=content))


def connect(world: World, name: str = "shop", provider: Provider = Provider.GENERIC, **content: Any) -> dict[str, Any]:
    """Create or change a connection; return it as the API shows it."""
    agency = {} if provider is Provider.GENERIC else {"agency": "42"}
    body = {"provider": provider.value, "secret": SECRETS[provider], **agency, **content}
    response = call(world, "PUT", f"/connections/{name}", body)
    assert response.status in {200, 201}, response.body
    shown: dict[str, Any] = response.json()
    return shown


def delivered(
    body: bytes,
    name: str = "shop",
    provider: Provider = Provider.GENERIC,
    secret: str = "",
    **headers: str,
) -> Request:
    """Return the request of a delivery; ``headers`` with underscores in place of hyphens are added or replaced."""
    signed = signed_headers(provider, secret or SECRETS[provider], body, f"msg_{uuid4().hex}", clock.now())
    given = {
        "content-type": "application/json",
        **signed,
        **{key.replace("_", "-"): one for key, one in headers.items()},
    }
    return Request("POST", f"/connections/{name}", headers=tuple(given.items()), body=body)


def deliver(world: World, payload: Any, name: str = "shop", **given: Any) -> Response:
    """Deliver a payload, or the bytes of a body."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return world.stack.request(delivered(body, name, **given))


def sale(id_: str, amount: str = "100.00", **changed: Any) -> dict[str, Any]:
    """Return the CloudEvent of a sale."""
    data = {"amount": amount, "currency": "GBP", "commission_rate": "0.1"}
    event = {"specversion": "1.0", "id": id_, "source": "partner", "type": "sale.recorded", "subject": "42"}
    return {**event, "data": data, **changed}


def state(world: World, name: str = "shop") -> dict[str, Any]:
    """Return what a connection has delivered."""
    found: dict[str, Any] = world.read(f"/connections/{name}")["state"]
    return found
