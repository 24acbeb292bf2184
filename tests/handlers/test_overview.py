"""The overview: accounts in a period and the one before, and the sums of their days."""

from datetime import timedelta
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


# ---------------------------------------------------------------- spans


def sold_at_times_of_two_months(world: World) -> None:
    """Record sales in October and November, some of them after the share of the day at which it is 25 November."""
    # It is 23 October, 01:30.
    for passed, amount, agency in (
        (timedelta(), "1.00", "42"),
        (timedelta(days=2, hours=12), "2.00", "42"),  # 25 October, 13:30
        (timedelta(hours=1), "4.00", "7"),  # 14:30, in the last quarter-hour that is compared
        (timedelta(minutes=15), "8.00", "42"),  # 14:45, after it
        (timedelta(days=2), "16.00", "42"),  # 27 October, after it
        (timedelta(days=28), "32.00", "7"),  # 24 November
        (timedelta(days=1, minutes=-8), "64.00", "42"),  # 25 November, 14:37
    ):
        world.clock.advance(passed)
        world.sell(amount, agency=agency, commission_rate="0.5")
        world.drain()


def test_a_month_is_compared_with_the_last_one_to_the_same_share_of_the_same_day(world: World) -> None:
    sold_at_times_of_two_months(world)
    shown = world.read(OVERVIEW, range="month")
    assert [shown[name] for name in ("from", "to", "before_from", "before_to", "before_complete")] == [
        "2026-11-01T00:00:00Z", "2026-11-25T14:45:00Z", "2026-10-01T00:00:00Z", "2026-10-25T14:45:00Z", True
    ]  # fmt: skip
    found = {one["agency"]: (one["now"]["commission"], one["before"]["commission"]) for one in shown["items"]}
    assert found == {"42": ("32.000", "1.500"), "7": ("16.000", "2.000")}
    assert [(one["day"], one["commission"]) for one in shown["days"]] == [
        ("2026-10-23", "0.500"), ("2026-10-25", "3.000"), ("2026-11-24", "16.000"), ("2026-11-25", "32.000")
    ]  # fmt: skip


def test_own_days_are_compared_with_as_many_days_before(world: World) -> None:
    sold_at_times_of_two_months(world)
    shown = world.read(OVERVIEW, **{"from": "2026-10-25", "to": "2026-10-27"})
    assert [(one["agency"], one["now"]["net"], one["before"]["net"]) for one in shown["items"]] == [
        ("42", "10.00", "1.00"), ("7", "4.00", "0")
    ]  # fmt: skip


def test_without_quarter_hours_of_that_time_whole_days_are_compared(world: World) -> None:
    sold_at_times_of_two_months(world)
    shown = world.read(OVERVIEW, range="year")
    assert (shown["to"], shown["before_to"]) == ("2026-11-25T00:00:00Z", "2025-11-25T00:00:00Z")
    assert [one["now"]["net"] for one in shown["items"]] == ["27.00", "36.00"]


def test_the_spans_of_pages_add_up(world: World) -> None:
    sold_at_times_of_two_months(world)
    pages = list(world.pages(OVERVIEW, range="month", limit=1))
    assert [[one["agency"] for one in page["items"]] for page in pages] == [["42"], ["7"]]
    assert [one["net"] for page in pages for one in page["days"] if one["day"] == "2026-10-25"] == ["2.00", "4.00"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"range": "decade"}, "range"),
        ({"range": "month", "period": "2026-10"}, "range"),
        ({"period": "2026-10", "from": "2026-10-01"}, "from"),
        ({"from": "2026-10-01"}, "to"),
        ({"from": "2026-10-01", "to": "2026-10-01"}, "to"),
        ({"from": "2026-10-02", "to": "2026-10-01"}, "from"),
        ({"from": "2025-10-01", "to": "2026-10-03"}, "to"),
        ({"to": "2026-10-01"}, "period"),
    ],
)
def test_spans_are_named_in_one_way(world: World, query: dict[str, str], field: str) -> None:
    assert world.refused(OVERVIEW, **query)["field"] == field
