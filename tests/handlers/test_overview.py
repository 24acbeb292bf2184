"""The overview: accounts in a period and the one before, and the sums of their days."""

from decimal import Decimal
from typing import Any

import pytest

from tests.handlers.desk import send
from tests.support.events import sale, view
from tests.support.requests import account, post
from tests.support.system import World

OVERVIEW = "/overview"
NOVEMBER = {"period": "2026-11"}
NOTHING = {"events": 0, "gross": "0", "refunds": "0", "commission": "0", "payments": "0", "net": "0"}


def sums(world: World, **query: Any) -> dict[tuple[str, str], Decimal]:
    """Return the net of each currency and day, added up over the pages."""
    found: dict[tuple[str, str], Decimal] = {}
    for page in world.pages(OVERVIEW, **query):
        for one in page["days"]:
            of = one["currency"], one["day"]
            found[of] = found.get(of, Decimal()) + Decimal(one["net"])
    return found


def sold_in_two_months(world: World) -> None:
    """Record sales of three accounts at the end of October, and of one in November."""
    for agency, currency in (("42", "GBP"), ("42", "EUR"), ("7", "GBP")):
        world.sell("1.5", agency=agency, currency=currency)
    world.pass_time(days=1)
    world.sell("-0.25")
    world.pass_time(days=10)
    world.sell("2.00", agency="7")
    world.drain()


def test_each_account_is_shown_in_both_periods(world: World) -> None:
    sold_in_two_months(world)
    shown = world.read(OVERVIEW, **NOVEMBER)
    assert (shown["period"], shown["before"], shown["next"]) == ("2026-11", "2026-10", None)
    for one in shown["items"]:
        of_periods = world.all(account(one["agency"], one["currency"], "periods"))
        totals = {period.pop("period"): period for period in of_periods}
        assert one["now"] == totals.get("2026-11", NOTHING)
        assert one["before"] == totals["2026-10"]
    assert [(one["agency"], one["currency"]) for one in shown["items"]] == [("42", "EUR"), ("42", "GBP"), ("7", "GBP")]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_the_days_of_all_pages_add_up_to_those_of_the_accounts(world: World, limit: int) -> None:
    sold_in_two_months(world)
    expected = {
        ("EUR", "2026-10-23"): Decimal("1.5"),
        ("GBP", "2026-10-23"): Decimal("3.0"),
        ("GBP", "2026-10-24"): Decimal("-0.25"),
        ("GBP", "2026-11-03"): Decimal("2.00"),
    }
    assert sums(world, **NOVEMBER, limit=limit) == expected
    assert sums(world, **NOVEMBER, agency="7", limit=limit) == {
        ("GBP", "2026-10-23"): Decimal("1.5"),
        ("GBP", "2026-11-03"): Decimal("2.00"),
    }


def test_days_of_neither_month_are_left_out(world: World) -> None:
    sold_in_two_months(world)
    assert list(sums(world, period="2026-10")) == [("EUR", "2026-10-23"), ("GBP", "2026-10-23"), ("GBP", "2026-10-24")]
    assert [day for _, day in sums(world, period="2026-12")] == ["2026-11-03"]
    assert sums(world, period="2027-01") == {}
    assert [one["now"] for one in world.all(OVERVIEW, period="2027-01")] == [NOTHING] * 3


def test_sums_of_many_accounts_are_exact(world: World) -> None:
    for agency in ("1", "2"):
        world.sell("99999999999999999999999999999999999.999", agency=agency, commission_rate="0")
    world.drain()
    (day,) = world.read(OVERVIEW, period="2026-10")["days"]
    assert (day["events"], day["net"]) == (2, "199999999999999999999999999999999999.998")


def test_an_event_is_in_the_period_in_which_it_counts(world: World) -> None:
    world.pass_time(days=10)
    post(world, {**sale("late", "1.50", commission_rate="0.1"), "time": "2026-10-31T12:00:00Z"})
    world.drain()
    shown = world.read(OVERVIEW, **NOVEMBER)
    assert [(one["now"]["events"], one["before"]["events"]) for one in shown["items"]] == [(0, 1)]
    assert [one["day"] for one in shown["days"]] == ["2026-11-02"], "the day on which it was recorded"


def test_views_are_left_out_and_take_no_place_on_a_page(world: World) -> None:
    for agency in ("1", "2", "3"):
        post(world, view(agency, agency, "ann"))
    world.sell("1.00", agency="4")
    world.drain()
    assert {one["currency"] for one in world.all("/accounts")} == {"XXX", "GBP"}
    shown = world.read(OVERVIEW, period="2026-10", limit=1)
    assert [one["agency"] for one in shown["items"]] == ["4"]
    assert shown["next"] is None


def test_the_overview_shows_whether_an_agency_is_registered(world: World) -> None:
    for agency in ("42", "7"):
        world.sell("10.00", agency)
    assert send(world, "PUT", "/agencies/7", {"seen": 0, "content": {}}).status == 201
    world.drain()
    shown = {one["agency"]: one["registered"] for one in world.all(OVERVIEW, limit=1, period="2026-10")}
    assert shown == {"42": False, "7": True}


def test_nothing_is_shown_before_the_first_event(world: World) -> None:
    shown = world.read(OVERVIEW, **NOVEMBER)
    assert (shown["items"], shown["days"], shown["next"]) == ([], [], None)


@pytest.mark.parametrize("month", ["2026-13", "2026-10-01", "1969-12", ""])
def test_the_period_is_a_month(world: World, month: str) -> None:
    assert world.refused(OVERVIEW, period=month)["field"] == "period"
    assert world.refused(OVERVIEW)["problem"] == "is missing"
