"""Connections: their routes, their deliveries, what is refused, and what is parked and applied again."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.intake.connections.request import MAX_BODY
from quarterhour_tools.emulator.http_api import Request
from tests.support.connections import SECRETS, call, connect, deliver, delivered, sale, state
from tests.support.system import World, opened
from tests.support.tables import items

OTHER = f"whsec_{base64.b64encode(b'another secret of 32 characters.').decode()}"


@pytest.fixture
def world() -> Iterator[World]:
    """The system with the intake."""
    with opened({"Intake": "queue"}) as world:
        yield world


def totals(world: World) -> Any:
    """Return the sum of sales of the agency."""
    world.drain()
    return world.read("/accounts/42/GBP")["gross"]


def test_a_connection_is_created_shown_changed_and_deleted_without_its_secret(world: World) -> None:
    made = connect(world, provider=Provider.SHOPIFY, agency={"external_id": "vendor"})
    assert made["url"].endswith("/connections/shop")
    assert made["agency"] == {"external_id": "vendor"}
    assert (made["version"], made["tax"], made["shipping"], made["test"]) == (1, None, "excluded", "excluded")
    assert made["state"]["delivered"] == 0
    assert world.read("/connections/shop") == made
    assert world.read("/connections")["items"] == [made]
    changed = connect(world, provider=Provider.SHOPIFY, tax="included", source="shop-uk")
    assert (changed["version"], changed["tax"], changed["source"], changed["agency"]) == (
        2,
        "included",
        "shop-uk",
        "42",
    )
    assert connect(world, provider=Provider.SHOPIFY, tax="included", source="shop-uk")["version"] == 2
    assert not any(SECRETS[Provider.SHOPIFY] in str(one) for one in items(world, "EntityTable"))
    assert SECRETS[Provider.SHOPIFY] not in str(world.read("/connections"))
    assert call(world, "DELETE", "/connections/shop").json() == {"name": "shop", "deleted": True}
    assert call(world, "DELETE", "/connections/shop").status == 200
    assert world.get("/connections/shop").status == 404
    assert deliver(world, sale("a-1")).status in {401, 404}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"provider": "ebay"}, "provider"),
        ({"secret": None}, "secret"),
        ({"secret": "short"}, "secret"),
        ({"secret": "with a blank in it 123"}, "secret"),
        ({"secret": "é" * 20}, "secret"),
        ({"secret": 7}, "secret"),
        ({"agency": None}, "agency"),
        ({"agency": "a#b"}, "agency"),
        ({"agency": {"vendor": "x"}}, "agency"),
        ({"agency": {"field": "vendor", "external_id": "vendor"}}, "agency"),
        ({"agency": {"external_id": 5}}, "agency"),
        ({"tax": "yes"}, "tax"),
        ({"test": True}, "test"),
        ({"source": "a#b"}, "source"),
        ({"map": 5}, "map"),
        ({"map": "no = "}, "map"),
        ({"map": "[file]"}, "map"),
        ({"map": "x" * 100_001}, "map"),
        ({"map": "no map"}, "map"),
        ({"map": '[settings]\nagency = "whose"\n[[event]]\nid = "{id}"'}, "map"),
        ({"colour": "red"}, "colour"),
        ({"provider": "generic"}, "secret"),
        ({"provider": "generic", "secret": SECRETS[Provider.GENERIC]}, "agency"),
    ],
)
def test_a_bad_connection_is_refused_with_its_field(world: World, changed: dict[str, Any], field: str) -> None:
    body = {"provider": "shopify", "secret": SECRETS[Provider.SHOPIFY], "agency": "42", **changed}
    response = call(world, "PUT", "/connections/shop", body)
    assert response.status == 400, response.body
    assert field in {one["field"] for one in response.json()["errors"]}
    assert "short" not in response.json()["detail"]
    assert world.read("/connections")["items"] == []


def test_a_connection_cannot_change_its_provider(world: World) -> None:
    connect(world)
    body = {"provider": "stripe", "secret": SECRETS[Provider.STRIPE], "agency": "42"}
    assert call(world, "PUT", "/connections/shop", body).status == 409


def test_a_change_of_another_version_than_the_one_that_was_seen_is_refused(world: World) -> None:
    body = {"provider": "shopify", "secret": SECRETS[Provider.SHOPIFY], "agency": "42"}
    assert call(world, "PUT", "/connections/shop", {**body, "seen": 1}).status == 409, "there is none"
    assert call(world, "PUT", "/connections/shop", {**body, "seen": 0}).status == 201
    assert call(world, "PUT", "/connections/shop", {**body, "seen": 0}).status == 200, "sent again"
    assert call(world, "PUT", "/connections/shop", {**body, "agency": "7", "seen": 0}).status == 409
    assert call(world, "PUT", "/connections/shop", {**body, "agency": "7", "seen": 1}).json()["version"] == 2
    assert call(world, "PUT", "/connections/shop", {**body, "secret": OTHER, "seen": 1}).status == 409
    assert call(world, "PUT", "/connections/shop", {**body, "seen": 1.5}).status == 400
    found = world.read("/connections/shop")
    assert (found["agency"], found["version"], found["secret_rotates_until"]) == ("7", 2, None)


def test_without_the_intake_there_are_no_connections() -> None:
    with opened() as world:
        body = {"provider": "generic", "secret": SECRETS[Provider.GENERIC]}
        refused = call(world, "PUT", "/connections/shop", body)
        assert (refused.status, refused.json()["title"]) == (409, "Conflict")
        assert deliver(world, sale("a-1")).status == 404


def test_a_signed_delivery_is_recorded_once_and_counted(world: World) -> None:
    connect(world)
    response = deliver(world, [sale("a-1"), sale("a-2", "50.00")])
    assert (response.status, response.json()["delivery"]) == (200, "taken")
    assert deliver(world, [sale("a-1"), sale("a-2", "50.00")]).status == 200
    found = state(world)
    assert (found["delivered"], found["recorded"], found["duplicate"], found["parked"]) == (2, 2, 2, 0)
    assert found["last_delivery"] is not None
    assert totals(world) == "150.00"


def test_a_refund_before_its_sale_is_held(world: World) -> None:
    connect(world)
    refund = sale("r-1", type="sale.refunded", data={"amount": "-10", "currency": "GBP", "refers_to": "a-1"})
    assert deliver(world, refund).status == 200
    assert state(world)["held"] == 1
    assert deliver(world, sale("a-1")).status == 200
    world.stack.invoke("watch", {})
    assert world.read("/held")["items"] == []


@pytest.mark.parametrize("provider", list(Provider))
def test_only_the_own_secret_signs(world: World, provider: Provider) -> None:
    connect(world, provider=provider)
    connect(world, "other", provider, secret=OTHER)
    body = json.dumps(sale("a-1")).encode()
    good = delivered(body, provider=provider)
    for bad in (
        delivered(body, provider=provider, secret=OTHER),
        Request("POST", good.path, headers=good.headers, body=body + b" "),
        Request("POST", good.path, headers=good.headers, body=b""),
        Request("POST", "/connections/other", headers=good.headers, body=body),
        Request("POST", good.path, headers=(("content-type", "application/json"),), body=body),
        Request("POST", good.path, headers=tuple((name, f"{value}\u00e9") for name, value in good.headers), body=body),
        Request("POST", good.path, headers=(*good.headers, *good.headers[1:]), body=body),
    ):
        refused = world.stack.request(bad)
        assert (refused.status, refused.json()["title"]) == (401, "Unauthenticated")
    assert items(world, "LedgerTable") == []
    assert state(world)["refused_signatures"] == 1, "the others are written with the next one after some seconds"
    world.pass_time(seconds=11)
    world.stack.request(Request("POST", good.path, body=body))
    assert state(world)["refused_signatures"] == 7
    assert (state(world)["delivered"], state(world, "other")["delivered"]) == (0, 0)


@pytest.mark.parametrize("provider", [Provider.STRIPE, Provider.GENERIC])
@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_signed_timestamp_must_be_of_now(world: World, provider: Provider, minutes: int) -> None:
    connect(world, provider=provider)
    early = delivered(json.dumps(sale("a-1")).encode(), provider=provider)
    world.pass_time(minutes=abs(minutes))
    if minutes < 0:
        assert world.stack.request(early).status == 401
    late = delivered(json.dumps(sale("a-1")).encode(), provider=provider)
    headers = dict(late.headers)
    shifted = {"webhook-timestamp": str(int(headers.get("webhook-timestamp", "0")) + 360)}
    stripe = {"stripe-signature": headers.get("stripe-signature", "").replace("t=", "t=1")}
    changed = {**headers, **(shifted if provider is Provider.GENERIC else stripe)}
    assert world.stack.request(Request("POST", late.path, headers=tuple(changed.items()), body=late.body)).status == 401


def test_a_new_secret_counts_at_once_and_the_one_before_for_a_day(world: World) -> None:
    connect(world)
    assert deliver(world, sale("a-1")).status == 200
    changed = connect(world, secret=OTHER)
    assert changed["secret_rotates_until"] is not None
    assert connect(world, secret=OTHER)["version"] == changed["version"], "a repeated request rotates nothing"
    world.pass_time(seconds=6)
    assert deliver(world, sale("a-2"), secret=OTHER).status == 200
    assert deliver(world, sale("a-3")).status == 200
    world.pass_time(days=1)
    assert deliver(world, sale("a-4")).status == 401
    assert deliver(world, sale("a-4"), secret=OTHER).status == 200


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"x" * (MAX_BODY + 1), {}, 413),
        (b"{}", {"content_encoding": "gzip"}, 415),
        (b"{}", {"content_encoding": "br, identity"}, 415),
    ],
)
def test_what_is_too_large_or_compressed_is_refused(
    world: World, body: bytes, headers: dict[str, str], status: int
) -> None:
    connect(world)
    assert deliver(world, body, **headers).status == status
    assert state(world)["delivered"] == 0


def test_a_name_that_is_no_connection_is_not_found(world: World) -> None:
    for name in ("none", "NONE", "a%2Fb", "%00", "x" * 51, "a%23state"):
        assert world.stack.request(delivered(b"{}", name)).status == 404, name
    assert call(world, "POST", "/connections/").status == 404


def test_any_content_type_is_taken_and_a_query_is_ignored(world: World) -> None:
    connect(world)
    body = json.dumps(sale("a-1")).encode()
    for given in ("text/plain", "application/octet-stream", "application/json; charset=latin-1", ""):
        assert world.stack.request(delivered(body, content_type=given)).status == 200, given
    good = delivered(body)
    assert world.stack.request(Request("POST", good.path, "a=1", good.headers, body)).status == 200
    assert state(world)["recorded"] == 1


def test_the_ping_of_woocommerce_is_answered_and_does_nothing(world: World) -> None:
    connect(world, provider=Provider.WOOCOMMERCE)
    connect(world, "other")
    ping = (("content-type", "application/x-www-form-urlencoded"),)
    assert world.stack.request(Request("POST", "/connections/shop", headers=ping, body=b"webhook_id=12")).status == 200
    assert world.stack.request(Request("POST", "/connections/other", headers=ping, body=b"webhook_id=12")).status == 401
    bad = b"webhook_id=12&a=1"
    assert world.stack.request(Request("POST", "/connections/shop", headers=ping, body=bad)).status == 401
    assert state(world)["delivered"] == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"\xff\xfe",
        b"[]",
        b"[" * 100_000,
        b'{"a": 1, "a": 2}',
        b'{"specversion": "1.0"}',
        json.dumps({**sale("a-1"), "data": {"amount": "NaN", "currency": "GBP"}}).encode(),
        json.dumps({**sale("a-1"), "data": {"amount": "1", "currency": "XXQ"}}).encode(),
        json.dumps([sale(f"a-{number}") for number in range(501)]).encode(),
    ],
)
def test_what_is_signed_and_cannot_be_recorded_is_parked_once(world: World, body: bytes) -> None:
    connect(world)
    for _ in range(2):
        response = deliver(world, body)
        assert (response.status, response.json()["delivery"]) == (200, "parked"), response.body
    (parked,) = world.all("/connections/shop/parked")
    assert parked["reason"]
    assert parked["bytes"] == len(body)
    content = world.read(f"/connections/shop/parked/{parked['id']}")["content"]
    assert content == body.decode(errors="replace")
    assert (state(world)["parked"], state(world)["delivered"]) == (1, 2)
    assert call(world, "DELETE", "/connections/shop").status == 409
    for _ in range(2):
        assert call(world, "DELETE", f"/connections/shop/parked/{parked['id']}").status == 200
    assert state(world)["parked"] == 0
    assert world.all("/connections/shop/parked") == []
    assert not [one for one in items(world, "EntityTable") if one["pk"].startswith("PARKED")]
    assert call(world, "DELETE", "/connections/shop").status == 200


def test_the_events_beside_a_bad_one_are_recorded(world: World) -> None:
    connect(world)
    bad = {**sale("a-2"), "subject": ""}
    assert deliver(world, [sale("a-1"), bad]).json()["delivery"] == "parked"
    assert (state(world)["recorded"], state(world)["parked"]) == (1, 1)
    assert totals(world) == "100.00"


def test_parked_deliveries_are_applied_again_once_the_connection_is_repaired(world: World) -> None:
    connect(world)
    assert deliver(world, sale("a-1", source="a" * 201)).json()["delivery"] == "parked"
    assert deliver(world, b"no json").json()["delivery"] == "parked"
    assert call(world, "POST", "/connections/shop/parked").json() == {"name": "shop", "parked": 2}
    world.drain()
    assert state(world)["parked"] == 2, "nothing is repaired"
    connect(world, source="partner")
    world.drain()
    assert (state(world)["parked"], state(world)["recorded"]) == (1, 1)
    assert totals(world) == "100.00"
    (left,) = world.all("/connections/shop/parked")
    assert "JSON" in left["reason"]


def test_a_delivery_that_cannot_be_compressed_is_parked_whole(world: World) -> None:
    connect(world)
    body = bytes((number * number * 31 + number // 7) % 256 for number in range(MAX_BODY))
    assert deliver(world, body).json()["delivery"] == "parked"
    (parked,) = world.all("/connections/shop/parked")
    content = world.read(f"/connections/shop/parked/{parked['id']}")["content"]
    assert content == body.decode(errors="replace")


def test_a_test_delivery_is_excluded_unless_the_connection_says_otherwise(world: World) -> None:
    connect(world, provider=Provider.SHOPIFY)
    given = {"provider": Provider.SHOPIFY, "x_shopify_test": "true", "x_shopify_topic": "orders/paid"}
    assert deliver(world, {}, **given).json()["delivery"] == "taken"
    assert state(world)["excluded"] == {"test notification": 1}
    connect(world, provider=Provider.SHOPIFY, test="included")
    world.pass_time(minutes=1)
    assert deliver(world, {}, **given).json()["delivery"] == "parked", "it is no order"
    connect(world, "stripe", Provider.STRIPE)
    charge = {"object": "charge", "id": "ch_1", "amount": 100, "currency": "gbp", "livemode": False}
    event = {"id": "evt_1", "type": "charge.succeeded", "livemode": False, "data": {"object": charge}}
    assert deliver(world, event, "stripe", provider=Provider.STRIPE).json()["delivery"] == "taken"
    assert state(world, "stripe")["excluded"] == {"test mode": 1}
    assert world.all("/connections/stripe/parked") == []


CHARGE: dict[str, Any] = {
    "object": "charge",
    "id": "ch_1",
    "amount": 10_000,
    "amount_captured": 10_000,
    "captured": True,
    "currency": "gbp",
    "created": 1_792_719_000,
    "status": "succeeded",
    "livemode": True,
    "metadata": {"agency": "42"},
}
REFUND: dict[str, Any] = {
    "object": "refund",
    "id": "re_1",
    "amount": 2_500,
    "currency": "gbp",
    "created": 1_792_719_100,
    "status": "succeeded",
    "charge": "ch_1",
}


def stripe(thing: dict[str, Any], type_: str) -> dict[str, Any]:
    """Return an event of Stripe."""
    return {
        "id": "evt",
        "object": "event",
        "type": type_,
        "created": 1_792_719_100,
        "livemode": True,
        "data": {"object": thing},
    }


def test_a_refund_that_does_not_name_its_agency_waits_parked_for_its_charge(world: World) -> None:
    connect(world, provider=Provider.STRIPE, agency={"field": "metadata.agency"})
    refund, charge = stripe(REFUND, "refund.created"), stripe(CHARGE, "charge.succeeded")
    assert deliver(world, refund, provider=Provider.STRIPE).json()["delivery"] == "parked"
    (parked,) = world.all("/connections/shop/parked")
    assert "ch_1" in parked["reason"]
    assert deliver(world, charge, provider=Provider.STRIPE).json()["delivery"] == "taken"
    assert world.all("/connections/shop/parked") == []
    assert (state(world)["parked"], state(world)["recorded"]) == (0, 2)
    assert deliver(world, refund, provider=Provider.STRIPE).json()["delivery"] == "taken"
    failed = stripe({**REFUND, "status": "failed"}, "refund.failed")
    assert deliver(world, failed, provider=Provider.STRIPE).json()["delivery"] == "taken"
    world.drain()
    net = world.read("/accounts/42/GBP")["net"]
    assert net == "100.00", "the void takes the refund back"
