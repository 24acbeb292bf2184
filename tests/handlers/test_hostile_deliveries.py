"""Hostile deliveries: whatever comes, no answer is 5xx, and nothing is recorded or parked that was not signed."""

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour_tools.emulator.http_api import Request
from tests.support.connections import connect, delivered, sale
from tests.support.system import World, opened
from tests.support.tables import postings_in

Mutation = Callable[[random.Random, Request], Request]

VALUES: list[Any] = [
    *(None, True, 0, -1, 1e308, 2**63, "", "0", "NaN", "-0.00", "1e999", "é", "\u202e", "\ud800", "#", "a" * 300),
    *([], {}, [[]], {"": ""}, "9" * 60, 12345678901234567890123456789, "2026-13-45T99:00:00Z", "gid://x"),
]
NAMES = ["id", "data", "object", "line_items", "amount", "currency", "price", "refunds", "charge", "type", "status"]
HEADERS = [
    *("x-shopify-hmac-sha256", "x-wc-webhook-signature", "stripe-signature", "webhook-signature", "webhook-id"),
    *("webhook-timestamp", "x-shopify-topic", "x-wc-webhook-topic", "x-shopify-test", "content-type", "host", "x-http"),
]
TEXTS = [
    *("", " ", "=", "t=,v1=", "v1,", "t=1,t=2,v1=0", "a" * 5000, "\u00ff", "%00", "sha256=", "0" * 64, ",,,,", "v1,=="),
]


def hostile_value(chance: random.Random, depth: int = 0) -> Any:
    """Return JSON that resembles what providers send, with values of the wrong kind."""
    if depth > 3 or chance.random() < 0.4:
        return chance.choice(VALUES)
    if chance.random() < 0.3:
        return [hostile_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {chance.choice(NAMES): hostile_value(chance, depth + 1) for _ in range(chance.randrange(5))}


def hostile_body(chance: random.Random, number: int) -> bytes:
    """Return a body: events with changed members, JSON of any form, or bytes that are none."""
    match chance.randrange(6):
        case 0:
            return chance.randbytes(chance.randrange(200))
        case 1:
            return b"[" * chance.randrange(2000) + b'{"a":' * chance.randrange(2000)
        case 2:
            event = sale(f"h-{number}")
            event[chance.choice(list(event))] = hostile_value(chance)
            return json.dumps([event, sale(f"g-{number}")][: chance.randrange(3)]).encode()
        case 3:
            thing = {"object": chance.choice(["charge", "refund", "dispute"]), **_object(chance)}
            return json.dumps({"type": "charge.succeeded", "livemode": True, "data": {"object": thing}}).encode()
        case _:
            return json.dumps({**_object(chance), "name": f"#{number}"}).encode()


def _object(chance: random.Random) -> dict[str, Any]:
    return {name: hostile_value(chance) for name in chance.sample(NAMES, chance.randrange(len(NAMES)))}


def changed_body(chance: random.Random, sent: Request) -> Request:
    """Return a request whose signature is of another body."""
    at = chance.randrange(len(sent.body) + 1)
    body = sent.body[:at] + bytes([chance.randrange(256)]) + sent.body[at:]
    return Request("POST", sent.path, headers=sent.headers, body=body)


def of_another(chance: random.Random, sent: Request) -> Request:
    """Return a request for another connection."""
    others = [provider.value for provider in Provider if not sent.path.endswith(provider.value)]
    return Request("POST", f"/connections/{chance.choice(others)}", headers=sent.headers, body=sent.body)


def without_signature(chance: random.Random, sent: Request) -> Request:
    """Return a request with other headers in place of its own."""
    headers = tuple((chance.choice(HEADERS), chance.choice(TEXTS)) for _ in range(chance.randrange(6)))
    return Request("POST", sent.path, headers=headers, body=sent.body)


def to_nobody(chance: random.Random, sent: Request) -> Request:
    """Return a request for a connection that does not exist."""
    name = chance.choice(["none", "%2e%2e", "a%2Fb", "%00", "shop%23state", "%F0%9F%92%A9", "x" * 300, "SHOPIFY"])
    return Request("POST", f"/connections/{name}", headers=sent.headers, body=sent.body)


def compressed(_: random.Random, sent: Request) -> Request:
    """Return a request that says that its body is compressed."""
    return Request("POST", sent.path, headers=(*sent.headers, ("content-encoding", "gzip")), body=sent.body)


def as_sent(_: random.Random, sent: Request) -> Request:
    """Return the request itself."""
    return sent


REFUSED: list[Mutation] = [changed_body, of_another, without_signature, to_nobody, compressed]


def hold_against(world: World, deliveries: int, seed: int) -> Counter[int]:
    """Send so many hostile deliveries; return how often each status was answered."""
    chance, statuses = random.Random(seed), Counter[int]()  # noqa: S311 - the same each time  # nosec B311
    signed: set[bytes] = set()
    for number in range(deliveries):
        provider = chance.choice(list(Provider))
        sent = delivered(hostile_body(chance, number), provider.value, provider)
        mutation = as_sent if chance.random() < 0.4 else chance.choice(REFUSED)
        tried = mutation(chance, sent)
        is_signed = mutation is as_sent or (mutation is changed_body and tried.body == sent.body)
        if is_signed:
            signed.add(tried.body)
        status = world.stack.request(tried).status
        statuses[status] += 1
        assert status == 200 if is_signed else status in {401, 404, 415}, (status, tried)
        if number % 500 == 0:
            world.pass_time(minutes=1)
    check_recorded(world, signed)
    return statuses


def check_recorded(world: World, signed: set[bytes]) -> None:
    """Check that everything that is recorded or parked was signed."""
    known = b"\n".join(signed)
    for item in world.stack.dynamodb.scan(TableName=world.stack.ref("LedgerTable"))["Items"]:
        for posting in postings_in(item):
            assert json.dumps(posting["id"])[1:-1].encode() in known
    parked = sum(len(world.all(f"/connections/{provider.value}/parked", limit=1000)) for provider in Provider)
    counted = sum(world.read(f"/connections/{provider.value}")["state"]["parked"] for provider in Provider)
    assert parked == counted
    assert parked <= len(signed) * len(Provider)


def connected(world: World) -> None:
    """Create a connection of each provider."""
    connect(world, "generic")
    connect(world, "shopify", Provider.SHOPIFY, agency={"field": "vendor"})
    connect(world, "stripe", Provider.STRIPE, agency={"field": "metadata.agency"})
    connect(world, "woocommerce", Provider.WOOCOMMERCE)


def test_hostile_deliveries_are_refused_parked_or_harmless() -> None:
    with opened({"Intake": "queue"}) as world:
        connected(world)
        assert hold_against(world, 400, 7).keys() == {200, 401, 404, 415}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_25000_hostile_deliveries_are_refused_parked_or_harmless(seed: int) -> None:
    with opened({"Intake": "queue"}) as world:
        connected(world)
        assert hold_against(world, 5_000, seed).keys() == {200, 401, 404, 415}
