"""Reading events from the ledger: in the order of positions, across shards and quarter-hours."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour.ledger.reading import event_pages
from quarterhour.model.fields import is_name
from tests.support.events import sale
from tests.support.names import near
from tests.support.requests import post
from tests.support.system import START, World

DAY = {"from_": "2026-10-23", "to": "2026-10-24"}


def positions(items: list[dict[str, Any]]) -> list[str]:
    return [item["position"] for item in items]


def test_an_event_is_returned_with_all_its_ledger_attributes(world: World) -> None:
    receipt = world.sell("12.50", product="Toy", order_id="7", line=3, extra={"b": [1.5], "a": "ü"})
    world.clock.advance(timedelta(seconds=1))
    world.sell("-1.00", currency="EUR")
    first, second = world.read("/events", **DAY)["items"]
    assert first == {
        **receipt,
        "source": "shop",
        "id": "e0",
        "type": "sale.recorded",
        "agency": "42",
        "currency": "GBP",
        "amount": "12.50",
        "commission_rate": "0.125",
        "commission": "1.56250",
        "product": "Toy",
        "order_id": "7",
        "line": "3",
        "extra": '{"a":"\\u00fc","b":[1.5]}',
        "terms": "event",
        "period": "2026-10",
        "tax_point": "2026-10-23",
    }
    assert (second["id"], second["amount"]) == ("e1", "-1.00")


def test_the_events_of_all_shards_are_in_the_order_of_positions(sharded: World) -> None:
    receipts = []
    for minutes in (0, 0, 0, 0, 1, 5, 14, 1, 40):
        sharded.clock.advance(timedelta(minutes=minutes))
        receipts += [sharded.sell("1.00") for _ in range(3)]
    recorded = sorted(receipt["position"] for receipt in receipts)
    assert len({receipt["partition"][-2:] for receipt in receipts}) == 3
    for limit in (1, 2, 5, 27, 1000):
        pages = list(sharded.pages("/events", **DAY, limit=limit))
        assert [place for page in pages for place in positions(page["items"])] == recorded
        assert max(len(page["items"]) for page in pages) <= limit


def test_shards_that_are_no_longer_used_are_read_too(sharded: World) -> None:
    receipts = [sharded.sell("1.00") for _ in range(9)]
    assert {receipt["partition"][-2:] for receipt in receipts} == {"00", "01", "02"}
    assert len(sharded.all("/events", **DAY)) == 9


def test_a_span_is_exact_to_the_millisecond(world: World) -> None:
    for _ in range(3):
        world.sell("1.00")
        world.clock.advance(timedelta(milliseconds=1))

    def found(start: str, end: str) -> list[str]:
        return [item["id"] for item in world.all("/events", from_=start, to=end)]

    assert found("2026-10-23T01:30:00Z", "2026-10-23T01:30:00.001Z") == ["e0"]
    assert found("2026-10-23T01:30:00.000001Z", "2026-10-23T01:30:00.002Z") == ["e1"]
    assert found("2026-10-23T01:30:00.001Z", "2026-10-23T01:30:00.002001Z") == ["e1", "e2"]
    assert found("2026-10-23T03:30:00.002+02:00", "2026-10-24") == ["e2"]
    assert found("2026-10-23T01:30:00.001Z", "2026-10-23T01:30:00.001Z") == []
    assert found("2026-10-22", "2026-10-23T01:30:00Z") == []
    assert found("2026-10-24", "9998-12-31") == []


def test_events_can_be_read_of_one_agency(world: World) -> None:
    for number in range(12):
        world.sell("1.00", agency="a/b%2F" if number % 3 == 0 else "other")
        world.pass_time(minutes=5)
    for limit in (1, 3, 100):
        events = world.all("/events", **DAY, agency="a/b%2F", limit=limit)
        assert [event["id"] for event in events] == ["e0", "e3", "e6", "e9"]
    assert world.all("/events", **DAY, agency="nobody") == []


@pytest.mark.parametrize("is_sealed", [False, True])
def test_events_of_one_agency_hold_none_of_a_nearly_equal_one(world: World, *, is_sealed: bool) -> None:
    names = [name for name in near("42") if is_name(name)]
    for name in ("42", *names):
        world.sell("1.00", agency=name, order_id=name)
    if is_sealed:
        world.pass_time(hours=1)
        world.report()
    assert len(names) > 5
    for only in ({"agency": "42"}, {"order": "42"}, {"agency": "42", "order": "42"}):
        assert [event["id"] for event in world.all("/events", **DAY, **only)] == ["e0"], only


def test_events_can_be_read_by_any_combination_of_filters(world: World) -> None:
    for number in range(12):
        world.sell(
            "-1.00" if number % 4 == 3 else "1.00",
            agency="42" if number % 2 else "other",
            customer="ann" if number % 3 == 0 else "bob",
            order_id=str(number // 2),
        )
        world.pass_time(minutes=5)
    world.report()
    events = world.all("/events", **DAY)
    for only in (
        {"type": "sale.refunded"},
        {"customer": "ann"},
        {"order": "3"},
        {"source": "shop"},
        {"agency": "42", "customer": "bob"},
        {"agency": "42", "type": "sale.refunded", "order": "1"},
        {"agency": "42", "source": "shop", "type": "sale.recorded", "customer": "bob", "order": "2"},
        {"agency": "42", "source": "fair"},
    ):
        expected = {"order_id" if name == "order" else name: value for name, value in only.items()}
        found = [one for one in events if one.items() >= expected.items()]
        assert bool(found) == (only.get("source") != "fair")
        for limit in (1, 100):
            assert world.all("/events", **DAY, **only, limit=limit) == found, only


def test_an_invalid_filter_is_refused(world: World) -> None:
    for name, value in (
        ("type", "sale"),
        ("type", ""),
        ("source", "a#b"),
        ("order", ""),
        ("order", "x" * 201),
        ("customer", "a\u200bb"),
        ("customer", "\ufffd"),
    ):
        assert world.refused("/events", **DAY, **{name: value})["field"] == name
    assert world.refused("/events", **DAY, product="tea")["field"] == "product"


def test_quarter_hours_without_events_are_passed_on_one_page(world: World) -> None:
    world.sell("1.00")
    world.pass_time(days=2)
    world.sell("2.00")
    world.report()
    days = {"from_": "2001-01-01", "to": "2026-10-26"}
    for filter_ in ({}, {"agency": "42"}, {"type": "sale.recorded"}):
        (page,) = world.pages("/events", **days, **filter_)
        assert [item["amount"] for item in page["items"]] == ["1.00", "2.00"]


def test_an_order_is_found_on_one_page_from_1970_on(world: World) -> None:
    world.sell("1.00", order_id="7")
    world.clock.advance(timedelta(days=60))
    found = world.read("/events", from_="1970-01-01", to="2027-01-01", order="7")
    assert [one["id"] for one in found["items"]] == ["e0"]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_an_order_and_a_customer_are_found_in_all_months_sealed_or_not(sharded: World, limit: int) -> None:
    for days in (0, 40, 1, 100):
        sharded.pass_time(days=days)
        sharded.report()
        for order, customer in (("7", "ada"), ("8", "bob"), ("7", "bob")):
            sharded.sell("1.00", order_id=order, customer=customer)
            sharded.clock.advance(timedelta(seconds=1))
    always = {"from_": "1970-01-01", "to": "2028-01-01", "limit": limit}
    for only, each in (({"order": "7"}, {0, 2}), ({"customer": "bob"}, {1, 2}), ({"order": "9"}, set())):
        found = [one["id"] for page in sharded.pages("/events", **always, **only) for one in page["items"]]
        assert found == [f"e{number}" for number in range(12) if number % 3 in each]
    both = {"order": "7", "customer": "bob", "agency": "42", "source": "shop"}
    found = [one["id"] for page in sharded.pages("/events", **always, **both) for one in page["items"]]
    assert found == ["e2", "e5", "e8", "e11"]


def test_an_event_is_read_with_its_receipt(world: World) -> None:
    receipt = world.sell("12.50", agency="a/b")
    event = world.read("/events/shop/e0")
    assert {name: event[name] for name in ("recorded_at", "partition", "position")} == receipt
    assert [event] == world.all("/events", **DAY)
    for path in ("/events/shop/e1", "/events/fair/e0", "/events/shop/e0%23"):
        assert world.get(path).status in {400, 404}
    assert world.missing("/events/shop/e1") == world.missing("/events/fair/e0")


def test_a_page_is_never_larger_than_a_response_can_be(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_pages, "MAX_BYTES", 500)
    for _ in range(6):
        world.sell("1.00", product="🎉" * 100)
        world.clock.advance(timedelta(milliseconds=1))
    pages = list(world.pages("/events", **DAY))
    assert [len(page["items"]) for page in pages] == [1, 1, 1, 1, 1, 1, 0]


def test_events_recorded_while_paging_are_returned_too(world: World) -> None:
    world.sell("1.00")
    page = world.read("/events", **DAY, limit=1)
    world.clock.advance(timedelta(minutes=20))
    world.sell("2.00")
    assert [one["amount"] for one in world.read("/events", **DAY, next=page["next"])["items"]] == ["2.00"]


def test_a_page_that_ended_when_the_time_ran_short_is_continued_after_the_seal_without_repeating_events(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first page comes from the ledger's partitions, the next from the index of sealed quarter-hours."""
    for number in range(30):
        agency = "42" if number < 3 or number > 27 else "7"
        post(world, [sale(f"order-{number}-{line}", "5.00", agency=agency) for line in range(2)])
        world.clock.advance(timedelta(milliseconds=10))
    with monkeypatch.context() as short:
        short.setattr("quarterhour.ledger.reading.queries.RESERVE_SECONDS", 1e9)
        page = world.read("/events", **DAY, agency="42", limit=20)
    assert 0 < len(page["items"]) < 10
    shown = list(page["items"])
    world.pass_time(minutes=40)
    world.report()
    while page["next"]:
        page = world.read("/events", **DAY, agency="42", limit=20, next=page["next"])
        shown += page["items"]
    numbers = [number for number in range(30) if number < 3 or number > 27]
    assert [one["id"] for one in shown] == [f"order-{number}-{line}" for number in numbers for line in range(2)]


def test_a_sources_events_are_listed_and_explained_under_the_same_name(world: World) -> None:
    for source in ("a/b", "a%2Fb", "a%252Fb"):
        assert post(world, {**sale(), "source": source}).status == 202
        world.clock.advance(timedelta(milliseconds=1))
    for source in ("a/b", "a%2Fb", "a%252Fb"):
        name = quote(quote(source, safe=""), safe="")
        (event,) = world.all(f"/sources/{name}/events", **DAY)
        assert event["source"] == world.read(f"/events/{name}/order-1/explain")["source"] == source


def test_an_empty_ledger_has_no_events(world: World) -> None:
    assert START.day == 23
    assert world.all("/events", **DAY) == []


def test_an_invalid_agency_is_refused(world: World) -> None:
    for agency in ("", "#", "a#b", "x" * 201, "a\nb"):
        assert world.refused("/events", **DAY, agency=agency)["field"] == "agency"
