"""Reading accounts: lifetime totals, quarter-hours, days."""

from datetime import timedelta
from typing import Any

import pytest

from tests.handlers.desk import send
from tests.support.events import sale
from tests.support.requests import account, post
from tests.support.system import World
from tests.support.tables import counter

ACCOUNT = account()
QUARTER_HOURS = account(part="quarter-hours")
DAYS = account(part="days")
PERIODS = account(part="periods")
DAY = {"from_": "2026-10-23", "to": "2026-10-24"}


def quarter_hour(name: str, events: int, gross: str, commission: str) -> dict[str, Any]:
    start = f"{name[:4]}-{name[4:6]}-{name[6:8]}T{name[8:10]}:{name[10:]}:00Z"
    figures = {
        "events": events,
        "gross": gross,
        "refunds": "0",
        "commission": commission,
        "payments": "0",
        "net": gross,
    }
    return {"quarter_hour": name, "start": start, **figures}


def test_lifetime_totals_are_exact_and_include_the_net_amount(world: World) -> None:
    world.sell("10.00")
    world.sell("0.1")
    world.sell("-2.555")
    world.drain()
    assert world.read(ACCOUNT) == {
        "agency": "42",
        "currency": "GBP",
        "events": 3,
        "gross": "10.10",
        "refunds": "-2.555",
        "commission": "0.943125",
        "payments": "0",
        "net": "7.545",
        "version": 1,
        "last_updated": "2026-10-23T01:30:00.000Z",
        "customers": 0,
    }


def test_amounts_of_38_digits_stay_exact(world: World) -> None:
    huge = "99999999999999999999999999999999999.999"
    world.sell(huge, commission_rate="0")
    world.sell(huge, commission_rate="0")
    world.drain()
    assert world.read(ACCOUNT)["net"] == "199999999999999999999999999999999999.998"


def test_an_unknown_account_is_not_found_with_a_reason(world: World) -> None:
    world.sell("1.00")
    world.drain()
    parts: dict[str, dict[str, Any]] = {"quarter-hours": DAY, "days": DAY, "snapshots": {"layer": "5m", "last": 1}}
    for part in ("", "quarter-hours", "days", "snapshots", "trend"):
        query = parts.get(part, {})
        assert world.missing(account("43", part=part), **query) == "there is no account '43' in 'GBP'"
        assert world.missing(account(currency="EUR", part=part), **query) == "there is no account '42' in 'EUR'"
        assert world.missing(account(currency="gbp", part=part), **query) == "there is no account '42' in 'gbp'"


def test_the_totals_take_no_parameters(world: World) -> None:
    assert world.refused(ACCOUNT, limit=5) == {
        "field": "limit",
        "problem": "is not known here",
        "expected": "no parameters",
    }


# ---------------------------------------------------------------- quarter-hours


def test_a_quarter_hour_has_the_totals_of_its_shards(sharded: World) -> None:
    for amount in ("1.00", "2.00", "4.00", "8.00", "16.00", "32.00"):
        sharded.sell(amount)
    sharded.pass_time(minutes=15)
    sharded.sell("0.50")
    sharded.drain()
    assert len(counter(sharded, "QUARTER#202610230130")["watermarks"]) > 1
    assert sharded.read(QUARTER_HOURS, **DAY) == {
        "items": [
            quarter_hour("202610230130", 6, "63.00", "7.87500"),
            quarter_hour("202610230145", 1, "0.50", "0.06250"),
        ],
        "next": None,
    }


def test_a_span_holds_the_quarter_hours_that_begin_in_it(world: World) -> None:
    for _ in range(4):
        world.sell("1.00")
        world.pass_time(minutes=15)

    def found(start: str, end: str) -> list[str]:
        return [item["quarter_hour"][8:] for item in world.all(QUARTER_HOURS, from_=start, to=end)]

    assert found("2026-10-23T01:30:00Z", "2026-10-23T02:30:00Z") == ["0130", "0145", "0200", "0215"]
    assert found("2026-10-23T01:30:00.000001Z", "2026-10-23T02:15:00Z") == ["0145", "0200"]
    assert found("2026-10-23T03:31:00+02:00", "2026-10-23T02:15:00.000001Z") == ["0145", "0200", "0215"]
    assert found("2026-10-23t01:30:00z", "2026-10-23T01:30:00Z") == []
    assert found("2026-10-24", "2026-10-25") == []
    assert found("1970-01-01", "9998-12-31") == ["0130", "0145", "0200", "0215"]


def test_a_page_never_splits_a_quarter_hour(sharded: World) -> None:
    for _ in range(3):
        for amount in ("1.00", "2.00", "4.00", "8.00"):
            sharded.sell(amount)
        sharded.pass_time(minutes=15)
    for limit in (1, 2, 3, 4):
        pages = list(sharded.pages(QUARTER_HOURS, **DAY, limit=limit))
        assert [item["gross"] for page in pages for item in page["items"]] == ["15.00"] * 3
        assert all(len(page["items"]) <= limit for page in pages)


def test_an_expired_quarter_hour_is_not_shown_though_it_is_still_there(world: World) -> None:
    world.sell("1.00")
    world.pass_time(hours=1)
    world.sell("2.00")
    world.drain()
    world.clock.advance_to(world.clock.now().replace(hour=1, minute=45) + timedelta(days=35, seconds=-1))
    assert [item["gross"] for item in world.all(QUARTER_HOURS, **DAY)] == ["1.00", "2.00"]
    world.clock.advance(timedelta(seconds=1))
    assert [item["gross"] for item in world.all(QUARTER_HOURS, **DAY)] == ["2.00"]
    assert [item["gross"] for item in world.all(QUARTER_HOURS, **DAY, limit=1)] == ["2.00"]
    assert world.read(ACCOUNT)["gross"] == "3.00"


# ---------------------------------------------------------------- days


def test_days_are_returned_from_the_first_to_before_the_last(world: World) -> None:
    for _ in range(3):
        world.sell("1.50")
        world.sell("-0.50")
        world.pass_time(days=1)
    figures = {
        "events": 2,
        "gross": "1.50",
        "refunds": "-0.50",
        "commission": "0.12500",
        "payments": "0",
        "net": "1.00",
    }
    days = [{"day": f"2026-10-{day}", **figures, "customers": 0} for day in (23, 24, 25)]
    assert world.read(DAYS, from_="2026-10-01", to="2026-11-01") == {"items": days, "next": None}
    assert world.all(DAYS, from_="2026-10-24", to="2026-10-25") == days[1:2]
    assert world.all(DAYS, from_="2026-10-24", to="2026-10-24") == []
    assert world.all(DAYS, from_="2026-10-01", to="2026-11-01", limit=1) == days
    assert world.all(DAYS, from_="1970-01-01", to="9998-12-31", limit=2) == days


def test_customers_are_counted_for_each_day_and_in_total(world: World) -> None:
    for number in range(4):
        for customer in {0: ("Ann", "Bob", "Ann"), 2: ("Bob", "Cid", "Dan")}.get(number, ()):
            world.sell("1.00", customer=customer)
        world.sell("1.00")
        world.pass_time(days=1)
    days = {"from_": "2026-10-01", "to": "2026-11-01"}
    for limit in (1, 2, 3, 100):
        assert [item["customers"] for item in world.all(DAYS, **days, limit=limit)] == [2, 0, 3, 0]
    assert world.read(ACCOUNT)["customers"] == 4


def test_an_expired_day_is_not_shown(world: World) -> None:
    world.sell("1.00")
    world.pass_time(days=1)
    world.sell("2.00")
    world.drain()
    world.clock.advance_to(world.clock.now() + timedelta(days=800))
    world.sell("4.00")
    world.drain()
    assert [item["gross"] for item in world.all(DAYS, from_="2026-10-01", to="2030-01-01")] == ["2.00", "4.00"]


def test_days_take_dates_only(world: World) -> None:
    problem = world.refused(DAYS, from_="2026-10-23T00:00:00Z", to="2026-10-24")
    assert (problem["field"], problem["problem"]) == ("from", "is '2026-10-23T00:00:00Z'")


# ---------------------------------------------------------------- periods


def test_periods_are_returned_from_the_first_to_before_the_last_and_add_up_to_the_lifetime(world: World) -> None:
    for time in ("2026-08-31T12:00:00Z", "2026-10-01T00:00:00Z", "2026-10-31T00:00:00Z"):
        post(world, {**sale(time[:10], "1.50", commission_rate="0.1"), "time": time})
    world.pass_time(days=10)
    world.sell("2.00")
    world.drain()
    sums = {"refunds": "0", "gross": "4.50", "commission": "0.450", "payments": "0", "net": "4.50"}
    october = {"period": "2026-10", "events": 3, **sums}
    november = {"period": "2026-11", "events": 1, **sums, "gross": "2.00", "commission": "0.25000", "net": "2.00"}
    assert world.read(PERIODS) == {"items": [october, november], "next": None}
    assert world.all(PERIODS, limit=1) == [october, november]
    assert world.all(PERIODS, from_="2026-11") == [november]
    assert world.all(PERIODS, to="2026-11") == [october]
    assert world.all(PERIODS, from_="2026-11", to="2026-11") == []
    assert world.read(ACCOUNT)["events"] == 4


@pytest.mark.parametrize("month", ["2026-13", "2026-10-01", "2026", "1969-12", ""])
def test_periods_take_months_only(world: World, month: str) -> None:
    problem = world.refused(PERIODS, from_=month)
    assert problem["field"] == "from"
    assert problem["expected"].startswith("a month such as 2026-10")


# ---------------------------------------------------------------- all accounts


def listed(world: World, **query: Any) -> list[str]:
    return [f"{one['agency']}#{one['currency']}" for one in world.all("/accounts", **query)]


def test_all_accounts_are_listed_in_order_with_their_latest_figures(world: World) -> None:
    names = [(f"agency {number}", currency) for number in range(7) for currency in ("EUR", "GBP")]
    for agency, currency in names:
        world.sell("1.50", agency=agency, currency=currency)
    world.drain()
    for limit in (1, 3, 14, 100):
        assert listed(world, limit=limit) == [f"{agency}#{currency}" for agency, currency in names]
    for one in world.all("/accounts"):
        totals = world.read(account(one["agency"], one["currency"]))
        assert {**one, "customers": 0} == {**totals, "registered": False}


def test_accounts_are_selected_by_agency_and_currency(world: World) -> None:
    for agency in ("4", "42", "42 b", "420"):
        for currency in ("EUR", "GBP"):
            world.sell("1.00", agency=agency, currency=currency)
    world.drain()
    for limit in (1, 100):
        assert listed(world, agency="42", limit=limit) == ["42#EUR", "42#GBP"]
        assert listed(world, currency="GBP", limit=limit) == ["4#GBP", "42 b#GBP", "42#GBP", "420#GBP"]
        assert listed(world, agency="42", currency="EUR", limit=limit) == ["42#EUR"]
        assert listed(world, agency="43", limit=limit) == []
    for name, value in (("agency", "a#b"), ("currency", "gbp"), ("currency", "EURO")):
        assert world.refused("/accounts", **{name: value})["field"] == name


def test_a_page_of_accounts_ends_when_the_time_runs_short(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        world.sell("1.00", agency=f"agency {number}")
    world.drain()
    monkeypatch.setattr("quarterhour.web.paging.RESERVE_SECONDS", 60.0)
    pages = list(world.pages("/accounts", currency="GBP"))
    assert [len(page["items"]) for page in pages] == [1, 1, 1, 0]
    assert [len(page["items"]) for page in world.pages("/accounts", currency="EUR")] == [0, 0, 0, 0]


def test_listed_accounts_show_whether_their_agency_is_registered(world: World) -> None:
    for agency in ("42", "7"):
        world.sell("10.00", agency)
    assert send(world, "PUT", "/agencies/7", {"seen": 0, "content": {}}).status == 201
    world.drain()
    shown = {
        one["agency"]: one["registered"] for one in world.all("/accounts", limit=1) if one["agency"] in {"42", "7"}
    }
    assert shown == {"42": False, "7": True}
