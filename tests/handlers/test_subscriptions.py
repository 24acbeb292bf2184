"""The routes of subscriptions: creation, change, secrets, replays and deletion, and who may do what."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from quarterhour.model.clock import iso_millis
from quarterhour.notifications.subscription import Attempt, DeliveryOutcome
from quarterhour.notifications.webhook import WebhookSender
from quarterhour_tools.emulator.http_api import Request, Response
from tests.support.events import by_sign
from tests.support.requests import events_request
from tests.support.system import World, opened
from tests.support.tables import items

ERP = {"address": "https://hooks.marketplace.com/quarterhour"}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of what was sent, in place of sending it."""
    kinds: list[str] = []

    def send(_: WebhookSender, __: str, logged: Any, ___: list[str]) -> Attempt:
        kinds.append(logged.notification.kind.value)
        return Attempt(DeliveryOutcome.DELIVERED, 204)

    monkeypatch.setattr(WebhookSender, "send", send)
    return kinds


@pytest.fixture
def world(sent: list[str]) -> Iterator[World]:  # noqa: ARG001 - nothing may be sent
    with opened({"Notifications": "webhooks-and-bus", "agency_policy": "registered"}) as world:
        yield world


def call(world: World, method: str, path: str, body: Any = None) -> Response:
    """Send a request to the API."""
    headers = (("content-type", "application/json"), ("host", "localhost"))
    content = b"" if body is None else json.dumps(body).encode()
    return world.stack.request(Request(method, path, headers=headers, body=content))


def test_what_happens_reaches_a_subscription_and_the_bus_in_order(world: World, sent: list[str]) -> None:
    assert call(world, "PUT", "/subscriptions/erp", ERP).status == 201
    world.stack.request(events_request(by_sign("e0", "10", agency="42", currency="GBP", commission_rate="0.1")))
    world.drain()
    world.write("/agencies/42", {"legal_name": "Agency", "address": "Street 1", "country": "GB"})
    world.pass_time(hours=2)
    world.stack.invoke("watch", {})
    world.drain()
    world.pass_time(minutes=20)
    world.report()
    world.drain()
    assert sent == ["event.held", "event.posted", "report.sealed"]
    listed = world.all("/subscriptions/erp/deliveries", limit=1)
    assert [(one["type"], one["outcome"], one["http_status"]) for one in listed] == [
        (kind, "delivered", 204) for kind in reversed(sent)
    ]
    on_bus = world.all("/subscriptions/bus/deliveries")
    assert [(one["id"], one["outcome"]) for one in on_bus] == [(one["id"], "delivered") for one in listed]
    of_log = [one for one in items(world, "EntityTable") if one["pk"].startswith("NOTIFICATIONS#")]
    assert not any("Agency" in str(one) or "Street" in str(one) for one in of_log), "ids and links alone"


def test_a_secret_is_shown_once_and_stored_in_no_table(world: World) -> None:
    secrets = [
        call(world, "PUT", "/subscriptions/erp", ERP).json()["secret"],
        call(world, "POST", "/subscriptions/erp/secrets").json()["secret"],
    ]
    assert all(one.startswith("whsec_") for one in secrets)
    assert "secret" not in call(world, "PUT", "/subscriptions/erp", ERP).json()
    shown = world.read("/subscriptions/erp")
    assert "secret" not in shown
    assert shown["secret_rotates_until"] == iso_millis(world.clock.now() + timedelta(days=1))
    assert not any(secret in str(one) for one in items(world, "EntityTable") for secret in secrets)


def test_a_subscription_is_changed_listed_and_deleted(world: World, sent: list[str]) -> None:
    assert call(world, "PUT", "/subscriptions/erp", ERP).json()["version"] == 1
    assert call(world, "PUT", "/subscriptions/erp", ERP).json()["version"] == 1, "a retry changes nothing"
    other = {**ERP, "kinds": ["statement.issued"], "agency": "42"}
    changed = call(world, "PUT", "/subscriptions/erp", other).json()
    assert (changed["version"], changed["kinds"], changed["agency"]) == (2, ["statement.issued"], "42")
    world.report()
    world.drain()
    assert [one["name"] for one in world.all("/subscriptions", limit=1)] == ["bus", "erp"]
    assert sent == []
    for _ in range(2):
        assert call(world, "DELETE", "/subscriptions/erp").status == 200
    assert world.missing("/subscriptions/erp")
    assert world.missing("/subscriptions/erp/deliveries")


REFUSED: list[tuple[str, str, Any, str]] = [
    ("PUT", "/subscriptions/erp", {"address": "http://hooks.marketplace.com/"}, "address"),
    ("PUT", "/subscriptions/erp", {"address": "https://127.0.0.1/"}, "address"),
    ("PUT", "/subscriptions/erp", {"address": "http://127.0.0.1:9000/"}, "address"),
    ("PUT", "/subscriptions/erp", {}, "address"),
    ("PUT", "/subscriptions/erp", {**ERP, "kinds": []}, "kinds"),
    ("PUT", "/subscriptions/erp", {**ERP, "kinds": ["sale.recorded"]}, "kinds"),
    ("PUT", "/subscriptions/erp", {**ERP, "kinds": ["report.sealed"], "agency": "42"}, "kinds"),
    ("PUT", "/subscriptions/erp", {**ERP, "secret": "mine"}, "secret"),
    ("PUT", "/subscriptions/Erp", ERP, "name"),
    ("PUT", "/subscriptions/bus", ERP, "name"),
    ("DELETE", "/subscriptions/bus", None, "name"),
    ("POST", "/subscriptions/erp/replays", {"from": "2020-01-01T00:00:00Z"}, "from"),
    ("POST", "/subscriptions/erp/replays", {"from": "2036-01-01T00:00:00Z"}, "from"),
    ("POST", "/subscriptions/erp/replays", {"from": "yesterday"}, "from"),
]


def test_a_bad_request_is_refused_with_the_field(world: World) -> None:
    for method, path, body, field in REFUSED:
        answer = call(world, method, path, body)
        assert answer.status == 400, (path, body)
        assert [one["field"] for one in answer.json()["errors"]] == [field]
    assert call(world, "POST", "/subscriptions/erp/secrets").status == 404
    assert world.read("/subscriptions")["items"] == []


def test_without_the_parameter_nothing_is_written() -> None:
    with opened() as world:
        assert call(world, "PUT", "/subscriptions/erp", ERP).status == 409
        assert world.read("/subscriptions") == {"items": [], "next": None}
        assert "notify" not in world.stack.functions
