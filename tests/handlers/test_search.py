"""The search over HTTP: by number, name and id, without a span of time, at a bounded cost."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.handlers.desk import place
from tests.handlers.test_statements import record
from tests.support.events import sale
from tests.support.requests import post, verdicts
from tests.support.stored_statements import end_of_october, register, seal_statements
from tests.support.system import World

KINDS = ("accounts", "statements", "events", "orders", "customers")


@pytest.fixture(scope="module")
def shop() -> Iterator[World]:
    """October sealed for two agencies; since then a sale that is not sealed, and an order."""
    with end_of_october() as world:
        for agency in ("42", "43"):
            register(world, agency, scheme="standard", percent="21")
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        record(world, "sale.recorded", "a2", "70", commission_rate="0.1", currency="EUR")
        record(world, "sale.recorded", "b1", "400", commission_rate="0.1", agency="43")
        assert verdicts(post(world, [{**sale("a1", "5.00", agency="43"), "source": "till/2"}])) == ["recorded"]
        seal_statements(world)
        assert verdicts(post(world, [{**sale("late", "5.00", agency="43"), "source": "kiosk"}])) == ["recorded"]
        assert place(world, "1001", customer="ann").status == 201
        world.drain()
        yield world


def found(world: World, text: str) -> dict[str, list[Any]]:
    """Return what a text finds, without the kinds of which it finds nothing."""
    answer = world.read("/search", q=text)
    assert set(answer) == {*KINDS, "all_sources"}
    return {kind: answer[kind] for kind in KINDS if answer[kind]}


def names(world: World, text: str) -> list[str]:
    """Return the sources and ids of the events that a text finds."""
    return [f"{one['source']} {one['id']}" for one in found(world, text).get("events", ())]


@pytest.mark.parametrize("text", ["S-000003", "s-000003"])
def test_a_statement_is_found_by_its_number(shop: World, text: str) -> None:
    assert found(shop, text) == {
        "statements": [
            {"number": "S-000003", "document": "statement", "period": "2026-10", "agency": "43", "currency": "GBP"}
        ]
    }


@pytest.mark.parametrize("text", ["S-00000", "S-000009", "000003", "-"])
def test_what_is_no_number_of_a_statement_finds_none(shop: World, text: str) -> None:
    assert found(shop, text) == {}


def test_an_event_is_found_by_its_id_alone_in_each_source_that_was_sealed(shop: World) -> None:
    assert names(shop, "a1") == ["shop a1", "till/2 a1"]
    assert names(shop, "late") == [], "no report has sealed an event of the kiosk"
    (event,) = found(shop, "b1")["events"]
    assert (event["type"], event["agency"], event["amount"]) == ("sale.recorded", "43", "400")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("kiosk#late", "kiosk late"),
        ("kiosk late", "kiosk late"),
        ("kiosk/late", "kiosk late"),
        ("till/2/a1", "till/2 a1"),
        ("till/2 a1", "till/2 a1"),
    ],
)
def test_an_event_is_found_by_source_and_id_at_once(shop: World, text: str, name: str) -> None:
    assert names(shop, text) == [name]


def test_accounts_orders_and_customers_are_found_by_their_names(shop: World) -> None:
    assert found(shop, "42")["accounts"] == [{"agency": "42", "currency": one} for one in ("EUR", "GBP")]
    (order,) = found(shop, "1001")["orders"]
    assert (order["order"], order["status"], order["customer"]) == ("1001", "open", "ann")
    assert found(shop, "ann") == {"customers": [{"customer": "ann"}]}
    assert found(shop, "4") == {}


@pytest.mark.parametrize("query", [{}, {"q": ""}, {"q": "x" * 201}, {"q": "a\u200bb"}, {"q": "a", "limit": "1"}])
def test_a_text_is_required(shop: World, query: dict[str, str]) -> None:
    assert shop.refused("/search", **query)["field"] in {"q", "limit"}


def test_at_most_a_hundred_sources_are_tried(shop: World) -> None:
    table = shop.stack.ref("EntityTable")
    for number in range(98):
        shop.stack.dynamodb.put_item(TableName=table, Item={"pk": {"S": "SOURCES"}, "sk": {"S": f"s{number:03d}"}})
    assert shop.read("/search", q="a1")["all_sources"] is False
    for number in range(98):
        shop.stack.dynamodb.delete_item(TableName=table, Key={"pk": {"S": "SOURCES"}, "sk": {"S": f"s{number:03d}"}})
    assert shop.read("/search", q="a1")["all_sources"] is True
