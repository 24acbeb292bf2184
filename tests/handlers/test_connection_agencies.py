"""Corrections whose payload names no agency, as a refund by Stripe: they have that of what they correct."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.registry.agencies.agency import PROVIDERS
from tests.support.connections import call, connect, deliver, state
from tests.support.system import World, opened
from tests.support.tables import ledger

OK: Final = 200
CREATED_ONE: Final = 201
CONFLICT: Final = 409
CREATED: Final = 1_790_841_600
CHARGE: Final = {
    "object": "charge",
    "id": "ch_1",
    "amount": 10_000,
    "captured": True,
    "created": CREATED,
    "currency": "gbp",
    "metadata": {"seller": "42"},
    "status": "succeeded",
}
REFUND: Final = {
    "object": "refund",
    "id": "re_1",
    "amount": 2500,
    "charge": "ch_1",
    "created": CREATED,
    "currency": "gbp",
    "status": "failed",
}
ORDER: Final = {
    "id": 11,
    "number": "1001",
    "status": "processing",
    "currency": "GBP",
    "date_created_gmt": "2026-10-01T08:15:00",
    "total": "50.00",
    "line_items": [{"id": 1, "sku": "MUG", "total": "50.00"}],
    "refunds": [{"id": 77, "total": "-20.00"}],
}


@pytest.fixture
def world() -> Iterator[World]:
    """The system with the intake."""
    with opened({"Intake": "queue"}) as world:
        yield world


def take(world: World, provider: Provider, payload: Any) -> str:
    body = {"id": "evt", "livemode": True, "data": {"object": payload}} if provider is Provider.STRIPE else payload
    found: str = deliver(world, body, provider=provider).json()["delivery"]
    return found


def recorded(world: World) -> list[tuple[str, str, str]]:
    """Return the events in the ledger: those of one millisecond have no order there."""
    return sorted((one["id"], one["agency"], one["amount"]) for one in ledger(world))


def test_a_refund_has_the_agency_of_its_charge(world: World) -> None:
    connect(world, provider=Provider.STRIPE, agency={"field": "metadata.seller"})
    assert take(world, Provider.STRIPE, CHARGE) == "taken"
    assert take(world, Provider.STRIPE, REFUND) == "taken"
    assert recorded(world) == [
        ("ch_1", "42", "100.00"),
        ("re_1", "42", "-25.00"),
        ("re_1:undone", "42", "25.00"),
    ]


def test_a_refund_before_its_charge_is_parked_until_its_agency_is_known(world: World) -> None:
    connect(world, provider=Provider.STRIPE, agency={"field": "metadata.seller"})
    assert take(world, Provider.STRIPE, REFUND) == "parked"
    (parked,) = world.all("/connections/shop/parked")
    assert parked["reason"] == "stripe-payments#ch_1 is not recorded yet, so that no agency is known"
    assert take(world, Provider.STRIPE, CHARGE) == "taken"
    world.drain()
    assert state(world)["parked"] == 0
    assert [id_ for id_, _, _ in recorded(world)] == ["ch_1", "re_1", "re_1:undone"]


def test_a_refund_that_was_deleted_in_woocommerce_is_voided_in_its_currency(world: World) -> None:
    connect(world, provider=Provider.WOOCOMMERCE)
    assert take(world, Provider.WOOCOMMERCE, ORDER) == "taken"
    assert take(world, Provider.WOOCOMMERCE, {"action": "woocommerce_refund_deleted", "arg": 77}) == "taken"
    assert take(world, Provider.WOOCOMMERCE, {**ORDER, "refunds": []}) == "taken"
    assert recorded(world) == [
        ("1001:1", "42", "50.00"),
        ("refund:77", "42", "-20.00"),
        ("refund:77:undone", "42", "20.00"),
    ]
    assert state(world)["duplicate"] == 1


def register(world: World, agency: str, *, seen: int = 0, **ids: list[str]) -> int:
    return call(world, "PUT", f"/agencies/{agency}", {"seen": seen, "content": {"external_ids": ids}}).status


def test_the_registry_says_whose_an_external_id_is(world: World) -> None:
    connect(world, provider=Provider.STRIPE, agency={"external_id": "metadata.seller"})
    assert take(world, Provider.STRIPE, CHARGE) == "parked"
    (parked,) = world.all("/connections/shop/parked")
    assert parked["reason"] == "no agency has the stripe id '42': register it"
    assert register(world, "oak", stripe=["42", "acct_1"], shopify=["42"]) == CREATED_ONE
    assert call(world, "POST", "/connections/shop/parked").json()["parked"] == 1
    world.drain()
    assert take(world, Provider.STRIPE, REFUND) == "taken"
    assert recorded(world) == [("ch_1", "oak", "100.00"), ("re_1", "oak", "-25.00"), ("re_1:undone", "oak", "25.00")]
    assert state(world)["parked"] == 0
    (listed,) = world.all("/agencies")
    assert listed["external_ids"] == {"stripe": ["42", "acct_1"], "shopify": ["42"]}


def test_an_external_id_is_of_one_agency_until_that_gives_it_up(world: World) -> None:
    assert register(world, "oak", shopify=["Acme"]) == CREATED_ONE
    taken = call(world, "PUT", "/agencies/elm", {"seen": 0, "content": {"external_ids": {"shopify": ["Acme"]}}})
    assert taken.status == CONFLICT
    assert "shopify's 'Acme' is of 'oak' already" in taken.json()["detail"]
    assert register(world, "elm", stripe=["Acme"]) == CREATED_ONE, "an id at another provider is another id"
    assert register(world, "oak", seen=1, shopify=["Oak"]) == CREATED_ONE
    assert register(world, "elm", seen=1, shopify=["Acme"]) == CREATED_ONE
    assert register(world, "elm", seen=1, shopify=["Acme"]) == OK, "sent again"
    connect(world, provider=Provider.SHOPIFY, agency={"external_id": "vendor"})
    order = {"id": 1, "currency": "EUR", "created_at": "2026-10-01T12:00:00Z", "financial_status": "paid"}
    items = [{"name": one, "vendor": one, "price": "1.00", "quantity": 1} for one in (" Acme ", "Oak")]
    assert take(world, Provider.SHOPIFY, {**order, "line_items": items}) == "taken"
    assert sorted(agency for _, agency, _ in recorded(world)) == ["elm", "oak"]


def test_providers_of_external_ids_are_those_of_connections() -> None:
    assert {*PROVIDERS, "generic"} == set(Provider)
