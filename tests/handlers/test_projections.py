"""Projections of the sealed lines: the summary in the base currency, sales by location, and a source's events."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour.proof.reports import verify
from quarterhour_tools.emulator.http_api import Request
from tests.support.requests import account
from tests.support.system import World, opened

DAY = {"from_": "2026-10-23", "to": "2026-10-24"}
SOURCE = "/sources/shop/events"


def enter_rate(world: World, currency: str, units: str) -> None:
    body = json.dumps({"units_per_base": units, "source": "ECB"}).encode()
    headers = (("content-type", "application/json"),)
    assert world.stack.request(Request("PUT", f"/exchange-rates/{currency}", headers=headers, body=body)).status == 201


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The system after a run over three quarter-hours, each with another rate; and a sale that is not sealed."""
    with opened({"base_currency": "EUR"}) as world:
        enter_rate(world, "GBP", "0.8")
        world.sell("8.00", location="GB#London")
        world.pass_time(minutes=14)
        enter_rate(world, "GBP", "0.5")
        world.sell("1.00", currency="EUR", location="FR")
        world.pass_time(minutes=1)
        enter_rate(world, "GBP", "0.25")
        world.sell("2.00", location="GB#London#Soho")
        world.sell("-1.00", location="GB#London")
        world.sell("5.00", currency="USD", location="US#NY#New York")
        world.pass_time(minutes=32)
        world.report()
        world.sell("3.00")
        world.drain()
        yield world


# ---------------------------------------------------------------- the base currency


def test_the_summary_shows_each_account_in_the_base_currency_too(world: World) -> None:
    (run,) = world.read("/reports")["items"]
    key = "reports/2026/10/23/0130-0215/summary.csv"
    with world.stack.bucket.open(key) as file:
        rows = list(csv.DictReader(io.StringIO(file.read().decode(), newline="")))
    shown = {row["currency"]: [row[f"{name}_in_base_rounded_half_even"] for name in ("gross", "net")] for row in rows}
    assert shown == {"EUR": ["1.00", "1.00"], "GBP": ["24.00", "20.00"], "USD": ["", ""]}
    assert [row["base_note"] for row in rows] == ["", "", "no rate of USD at the end of 202610230145"]
    manifest = world.read(f"/reports/{run['run']}")["manifest"]
    assert manifest["base_currency"] == "EUR"
    assert [entry["rates"] for entry in manifest["quarter_hours"]] == [
        [{"currency": "GBP", "units_per_base": "0.5", "source": "ECB", "as_of": "2026-10-23T01:44:00.000Z"}],
        [
            {"currency": "GBP", "units_per_base": "0.25", "source": "ECB", "as_of": "2026-10-23T01:45:00.000Z"},
            {"currency": "USD", "units_per_base": None},
        ],
        [],
    ]
    assert verify(world.stack.bucket.open, world.stack.bucket.keys()).proven


# ---------------------------------------------------------------- sales by location


def sold(items: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    return {one["location"]: {some["currency"]: some["net"] for some in one["sales"]} for one in items}


@pytest.mark.parametrize(
    ("path", "parameters", "found"),
    [
        ("/locations", {}, {"GB": {"GBP": "9.00"}, "FR": {"EUR": "1.00"}, "US": {"USD": "5.00"}}),
        ("/locations/GB", {}, {"GB": {"GBP": "9.00"}}),
        ("/locations/GB", {"level": 3}, {"GB#London": {"GBP": "7.00"}, "GB#London#Soho": {"GBP": "2.00"}}),
        ("/locations/GB%23London%23Soho", {}, {"GB#London#Soho": {"GBP": "2.00"}}),
        ("/locations/US%23NY%23New%20York", {}, {"US#NY#New York": {"USD": "5.00"}}),
        ("/locations/US%2523NY", {}, {"US#NY": {"USD": "5.00"}}),
        ("/locations/G", {}, {}),
    ],
)
def test_sales_are_returned_at_any_level(
    world: World, path: str, parameters: dict[str, Any], found: dict[str, dict[str, str]]
) -> None:
    for limit in (1, 100):
        assert sold(world.all(path, limit=limit, **DAY, **parameters)) == found
    assert world.all(path, from_="2026-10-24", to="2026-12-31", **parameters) == []


def test_the_sales_of_a_location_have_the_figures_of_an_account(world: World) -> None:
    assert world.read("/locations/GB", **DAY)["items"] == [
        {
            "day": "2026-10-23",
            "location": "GB",
            "sales": [
                {
                    "currency": "GBP",
                    "events": 3,
                    "gross": "10.00",
                    "refunds": "-1.00",
                    "commission": "1.12500",
                    "net": "9.00",
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("path", "parameters", "field"),
    [
        ("/locations/GB", {}, "from"),
        ("/locations/GB", {"from_": "2026-10-23T01:00:00Z", "to": "2026-10-24"}, "from"),
        ("/locations/GB", {"from_": "2026-10-24", "to": "2026-10-23"}, "from"),
        ("/locations/GB%23%23", DAY, "location"),
        ("/locations/GB%23London", {**DAY, "level": 1}, "level"),
        ("/locations", {**DAY, "level": 0}, "level"),
        ("/locations", {**DAY, "level": "deep"}, "level"),
        ("/locations", {**DAY, "limit": 1001}, "limit"),
    ],
)
def test_a_bad_request_for_locations_is_refused_with_its_field(
    world: World, path: str, parameters: dict[str, Any], field: str
) -> None:
    assert world.refused(path, **parameters)["field"] == field


# ---------------------------------------------------------------- the log of a source


def amounts(items: list[dict[str, Any]]) -> list[str]:
    return [one["amount"] for one in items]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        (DAY, ["8.00", "1.00", *["2.00", "-1.00", "5.00"], "3.00"]),
        ({"after": "2026-10-23T01:30:00Z"}, ["1.00", *["2.00", "-1.00", "5.00"], "3.00"]),
        ({"after": "2026-10-23T01:29:59.999Z"}, ["8.00", "1.00", *["2.00", "-1.00", "5.00"], "3.00"]),
        ({"before": "2026-10-23T01:45:00Z"}, ["8.00", "1.00"]),
        ({"before": "2026-10-24"}, ["8.00", "1.00", *["2.00", "-1.00", "5.00"], "3.00"]),
        ({"from_": "2026-10-23T01:44:00Z", "to": "2026-10-23T02:17:00Z"}, ["1.00", *["2.00", "-1.00", "5.00"]]),
        ({"after": "2026-10-23T02:17:00Z"}, []),
    ],
)
def test_a_sources_events_are_read_after_before_and_between(
    world: World, parameters: dict[str, Any], found: list[str]
) -> None:
    for limit in (1, 2, 100):
        returned = amounts(world.all(SOURCE, limit=limit, **parameters))
        assert sorted(returned) == sorted(found)
        assert returned[:2] == found[:2] or set(returned[:2]) <= set(found), "events of one millisecond have any order"


def test_a_sources_events_are_those_of_the_ledger(world: World) -> None:
    assert world.all(SOURCE, **DAY) == world.all("/events", **DAY)
    assert world.all("/sources/shop-2/events", **DAY) == []


def test_a_source_may_be_an_address(world: World) -> None:
    assert world.all(f"/sources/{quote(quote('https://shop.example/a', safe=''), safe='')}/events", **DAY) == []


@pytest.mark.parametrize(
    ("source", "parameters", "field"),
    [
        ("shop", {}, "from"),
        ("shop", {"from_": "2026-10-23"}, "to"),
        ("shop", {"after": "2026-10-23", "before": "2026-10-24"}, "before"),
        ("shop", {"after": "now"}, "after"),
        ("a%23b", DAY, "source"),
    ],
)
def test_a_bad_request_for_a_source_is_refused_with_its_field(
    world: World, source: str, parameters: dict[str, Any], field: str
) -> None:
    assert world.refused(f"/sources/{source}/events", **parameters)["field"] == field


# ---------------------------------------------------------------- an account's changes


def test_an_accounts_single_changes_come_the_newest_first_for_an_hour(world: World) -> None:
    changes = world.all(account(part="changes"), limit=1)
    assert [(one["version"], one["net"]) for one in changes][:2] == [(3, "12.00"), (2, "9.00")]
    assert changes == world.all(account(part="snapshots"), layer="change", last=100)
    assert world.missing(account("nobody", part="changes"))
