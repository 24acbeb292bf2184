"""Orders over HTTP: created once, found in every way, changed step by step."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from benchmarks.orders import rush
from quarterhour.orders.plan import INDEX_LAG
from quarterhour.orders.service import OrderService
from quarterhour_tools.emulator.faults import FaultKind
from quarterhour_tools.emulator.loading import load
from tests.handlers.desk import change, place, send
from tests.support.events import ABSENT
from tests.support.orders import body, item
from tests.support.system import START, World, faulty
from tests.support.tables import items

AT = "2026-10-23T01:30:00.000Z"


def problems(answer: Any, status: int = 400) -> list[str]:
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json"), answer.body
    return [one["field"] for one in answer.json()["errors"]]


# ---------------------------------------------------------------- create


def test_an_order_is_created_and_returned(world: World) -> None:
    answer = place(world, "1001", item(quantity="2"), item(agency="7", amount="0.005"))
    assert answer.status == 201
    assert answer.json() == {
        "order": "1001",
        "customer": "ann",
        "currency": "GBP",
        "placed_at": AT,
        "status": "open",
        "history": [{"status": "open", "at": AT}],
        "lines": 2,
        "total": "12.505",
    }
    found = world.read("/orders/1001")
    assert {name: found[name] for name in answer.json()} == answer.json()
    assert found["items"] == [
        {"line": 1, "agency": "42", "product": "A-7", "amount": "12.50", "quantity": "2"},
        {"line": 2, "agency": "7", "product": "A-7", "amount": "0.005"},
    ]


def test_a_retry_returns_the_order_as_it_is(world: World) -> None:
    first = place(world, "1001")
    world.clock.advance(timedelta(days=1))
    again = place(world, "1001")
    assert (again.status, again.json()) == (200, first.json())
    change(world, "1001", "open", "paid")
    assert place(world, "1001").json()["status"] == "paid"


def test_other_content_under_a_known_id_is_a_conflict(world: World) -> None:
    place(world, "1001")
    before = items(world, "EntityTable")
    answer = place(world, "1001", item(amount="99"))
    assert answer.status == 409
    assert "other content" in answer.json()["detail"]
    assert items(world, "EntityTable") == before


def test_an_order_of_a_thousand_items_is_accepted(world: World) -> None:
    sent = [item(product=f"P-{number}", amount="0.10") for number in range(1000)]
    answer = place(world, "1001", *sent)
    assert (answer.status, answer.json()["lines"], answer.json()["total"]) == (201, 1000, "100.00")
    found = world.read("/orders/1001", limit=1000)
    assert [one["product"] for one in found["items"]] == [one["product"] for one in sent]


def test_every_problem_names_its_field_and_nothing_is_stored(world: World) -> None:
    answer = place(world, "", item(), item(amount="-1", agency=ABSENT), currency="pounds")
    assert problems(answer) == ["order", "currency", "items[1].agency", "items[1].amount"]
    assert not [one for one in items(world, "EntityTable") if one["pk"].startswith("ORDER#")]


@pytest.mark.parametrize(
    ("sent", "status"), [(b"{", 400), (b"[]", 400), (b'{"order": 1e999}', 400), (b" " * 1_000_001, 413)]
)
def test_a_body_that_is_no_order_is_refused(world: World, sent: bytes, status: int) -> None:
    assert problems(send(world, "POST", "/orders", sent), status)


def test_an_order_that_could_not_be_written_is_not_shown_and_its_retry_succeeds() -> None:
    with faulty("throttle=1") as (world, faults):
        with faults.at_work():
            answer = place(world, "1001")
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert world.get("/orders/1001").status == 404
        assert place(world, "1001").status == 201


@pytest.mark.parametrize("seed", range(4))
def test_throttling_and_lost_answers_leave_no_order_in_part(seed: int) -> None:
    with faulty(f"throttle=0.2,reset-after=0.2,unprocessed=0.4,seed={seed}") as (world, faults):
        sent = [item(product=f"P-{number}") for number in range(120)]
        statuses: list[int] = []
        while not statuses or statuses[-1] == 503:
            with faults.at_work():
                statuses.append(place(world, "1001", *sent).status)
            found = world.get("/orders/1001", limit=1000)
            assert found.status == 404 or len(found.json()["items"]) == 120
        assert faults.struck
        assert statuses[-1] in {200, 201}
        assert len(world.read("/orders/1001", limit=1000)["items"]) == 120


@pytest.mark.parametrize("units", [1, 25])
def test_concurrent_orders_to_a_throttled_table_are_all_completed(units: int) -> None:
    sizes = (1, 5, 20, 45)
    rushed = rush(units, sizes)
    assert rushed.lost == 0
    allowed = sum(2 * items + 4 for items in sizes) / units
    assert allowed * 0.9 <= max(rushed.seconds) <= allowed * 1.2


# ---------------------------------------------------------------- the status


def test_a_repeated_status_change_is_made_once(world: World) -> None:
    place(world, "1001")
    world.clock.advance(timedelta(minutes=1))
    first, again = (change(world, "1001", "open", "paid") for _ in range(2))
    assert (first.status, again.status) == (200, 200)
    assert first.json() == again.json()
    assert first.json()["history"] == [
        {"status": "open", "at": AT},
        {"status": "paid", "at": "2026-10-23T01:31:00.000Z"},
    ]


def test_a_lost_race_is_a_conflict_that_names_the_orders_status(world: World) -> None:
    place(world, "1001")
    change(world, "1001", "open", "cancelled")
    answer = change(world, "1001", "open", "paid")
    assert answer.status == 409
    assert "is cancelled, not open" in answer.json()["detail"]


def test_a_status_change_affects_only_the_named_order(world: World) -> None:
    for name in ("50%", "50%25", "a/b", "a%2Fb"):
        place(world, name)
    assert change(world, "50%25", "open", "cancelled").json()["order"] == "50%25"
    assert change(world, "a%2Fb", "open", "paid").json()["order"] == "a%2Fb"
    assert change(world, "50%2525", "open", "cancelled").status == 404
    assert change(world, "a%252Fb", "open", "paid").status == 404
    assert sorted(one["order"] for one in world.all("/orders", status="open")) == ["50%", "a/b"]
    for name in ("50%", "50%25", "a/b", "a%2Fb"):
        assert world.read(f"/orders/{quote(quote(name, safe=''), safe='')}")["order"] == name


def test_an_impossible_status_is_refused_and_an_unknown_order_is_not_found(world: World) -> None:
    place(world, "1001")
    assert problems(change(world, "1001", "open", "delivered")) == ["to"]
    assert problems(change(world, "1001", "new", "paid")) == ["from"]
    assert change(world, "1002", "open", "paid").status == 404


# ---------------------------------------------------------------- find


def test_the_queue_of_a_status_lists_its_orders_the_oldest_first(world: World) -> None:
    for number in range(6):
        place(world, f"100{number}", placed_at=(START - timedelta(days=number)).isoformat())
    change(world, "1003", "open", "paid")
    oldest_first = ["1005", "1004", "1002", "1001", "1000"]
    assert [one["order"] for one in world.all("/orders", status="open", limit=2)] == oldest_first
    span = {"from_": "2026-10-19", "to": "2026-10-22"}
    assert [one["order"] for one in world.all("/orders", status="open", **span)] == ["1004", "1002"]
    assert [one["order"] for one in world.all("/orders", status="paid")] == ["1003"]


@pytest.mark.parametrize("status", ["cancelled", "delivered", "writing", ""])
def test_finished_orders_are_in_no_queue(world: World, status: str) -> None:
    assert world.refused("/orders", status=status)["expected"] == "one of open, paid, shipped"


def test_a_customers_orders_come_by_date_and_page_by_page(world: World) -> None:
    for number in range(5):
        place(world, f"100{number}", customer="Köln & Söhne/1")
        world.clock.advance(timedelta(days=1))
    place(world, "2000", customer="ann")
    path = "/customers/K%C3%B6ln%20%26%20S%C3%B6hne%252F1/orders"
    assert [one["order"] for one in world.all(path, limit=2)] == [f"100{number}" for number in range(5)]
    found = world.read(path, from_="2026-10-24", to="2026-10-26")
    assert [one["order"] for one in found["items"]] == ["1001", "1002"]


def test_a_customers_items_are_found_by_product(world: World) -> None:
    place(world, "1001", item(product="tea"), item(product="cup"))
    place(world, "1002", item(product="tea", amount="3"))
    world.clock.advance(INDEX_LAG)
    found = world.all("/customers/ann/items")
    assert [(one["product"], one["order"], one["line"]) for one in found] == [
        ("cup", "1001", 2),
        ("tea", "1001", 1),
        ("tea", "1002", 1),
    ]
    assert world.all("/customers/ann/items", product="tea", limit=1) == found[1:]
    assert world.all("/customers/bob/items") == []


@pytest.mark.parametrize("slow", [1, 2])
def test_an_order_whose_commit_is_slow_is_on_all_pages_of_a_listing_or_on_none(slow: int) -> None:
    with faulty() as (world, faults):
        place(world, "1001", item(product="m1"), item(product="m2"))
        world.clock.advance(timedelta(hours=1))
        commit = 2  # after the claim and the items
        pages: list[Any] = []

        def read_a_page() -> None:
            # While an answer is waited for that does not come.
            world.clock.advance(INDEX_LAG * 1.5)
            pages.append(world.read("/customers/ann/items", limit=1))

        for number in range(slow):
            faults.spec.positions[commit + number] = FaultKind.RESET_BEFORE
            faults.meanwhile(commit + number, read_a_page)
        with faults.at_work():
            assert place(world, "1002", item(product="a"), item(product="z")).status == 201
        assert len(pages) == slow
        world.clock.advance(timedelta(hours=1))
        for first in pages:
            rest = world.read("/customers/ann/items", next=first["next"])
            assert {one["order"] for one in first["items"] + rest["items"]} == {"1001"}
        assert len(world.all("/customers/ann/items")) == 4


def test_a_commit_has_taken_effect_or_failed_before_its_order_can_be_listed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores: list[Any] = []
    monkeypatch.setattr(OrderService, "__init__", lambda _, store, __: stores.append(store))
    load(world.stack.functions["write"], "looked_at", kept=True)
    patience = stores[0].client_once.meta.config
    assert patience.retries["total_max_attempts"] == 1
    index = timedelta(seconds=2)
    assert timedelta(seconds=patience.connect_timeout + patience.read_timeout) + index <= INDEX_LAG


def test_a_guests_order_is_found_by_its_id_and_in_the_queue(world: World) -> None:
    place(world, "1001", customer=ABSENT)
    assert "customer" not in world.read("/orders/1001")
    assert len(world.all("/orders", status="open")) == 1


def test_unknown_parameters_and_orders_are_refused(world: World) -> None:
    place(world, "1001")
    assert world.refused("/orders/1001", page="2")["field"] == "page"
    assert world.refused("/customers/ann/items", product="a#b")["field"] == "product"
    assert world.refused("/orders", status="open", from_="2026-10-24", to="2026-10-23")["field"] == "from"
    assert "order" in world.missing("/orders/9")


def test_a_name_with_a_slash_or_percent_is_found(world: World) -> None:
    for name in ("a/b", "50% off", "ünï 7"):
        assert send(world, "POST", "/orders", body(order=name)).status == 201
    assert world.read("/orders/a%252Fb")["order"] == "a/b"
    assert world.read("/orders/50%25%20off")["order"] == "50% off"
    assert change(world, "ünï 7", "open", "paid").status == 200


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/orders/a%23b", "order"),
        ("/customers/a%23b/orders", "customer"),
        ("/customers/a%23b/items", "customer"),
    ],
)
def test_a_name_in_the_path_that_cannot_be_one_is_named_in_the_answer(world: World, path: str, field: str) -> None:
    assert world.refused(path)["field"] == field
