"""Exchange rates over HTTP: entered once each, read now, as of any instant, and in windows."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from quarterhour_tools.emulator.http_api import Request, Response
from tests.support.cases import cases
from tests.support.system import World, opened

SNAPSHOTS = "/exchange-rates/GBP/snapshots"
HISTORY = "/exchange-rates/GBP/history"
CHANGES = [("01:30", "0.80"), ("01:32", "0.81"), ("01:35", "0.79"), ("02:00", "0.82")]
"""When the rate of the pound was entered, and how many were worth a euro."""


def put(world: World, currency: str, body: Any, content_type: str = "application/json") -> Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return world.stack.request(
        Request("PUT", f"/exchange-rates/{currency}", headers=(("content-type", content_type),), body=content)
    )


def enter(world: World, units: str, currency: str = "GBP", **more: Any) -> dict[str, Any]:
    answer = put(world, currency, {"units_per_base": units, "source": "ECB", **more})
    assert answer.status in {200, 201}, answer.body
    found: dict[str, Any] = answer.json()
    return found


def refused(world: World, currency: str, body: Any) -> list[str]:
    """Enter a bad rate, and return the fields with a problem."""
    answer = put(world, currency, body)
    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json"), answer.body
    return [problem["field"] for problem in answer.json()["errors"]]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The system with four rates of the pound, as ``CHANGES`` says, and one of the yen."""
    with opened({"base_currency": "EUR"}) as world:
        enter(world, "0.80")
        world.pass_time(minutes=2)
        enter(world, "0.81")
        world.pass_time(minutes=3)
        enter(world, "0.79", as_of="2026-10-23T03:35:00+02:00")
        world.pass_time(minutes=25)
        enter(world, "0.82")
        enter(world, "160.5", "JPY", as_of="2026-10-22T14:15:00Z")
        world.drain()
        yield world


def seen(items: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(item["as_of"][11:16], item["units_per_base"]) for item in items]


# ---------------------------------------------------------------- entering


def test_an_exchange_rate_is_returned_with_all_its_fields(world: World) -> None:
    assert world.read("/exchange-rates/GBP") == {
        "currency": "GBP",
        "units_per_base": "0.82",
        "source": "ECB",
        "base": "EUR",
        "version": 4,
        "as_of": "2026-10-23T02:00:00.000Z",
    }


def test_a_new_rate_is_201_and_a_repeated_one_200(world: World) -> None:
    entered = {"units_per_base": "1.5", "source": "bank", "as_of": "2026-10-23T01:00:00Z"}
    first, again = put(world, "CHF", entered), put(world, "CHF", entered)
    assert (first.status, again.status) == (201, 200)
    assert first.json() == again.json()
    assert put(world, "CHF", {"units_per_base": "1.5", "source": "bank"}).status == 200


def test_a_rate_may_name_the_base_currency(world: World) -> None:
    assert enter(world, "0.82", base="EUR")["base"] == "EUR"


def test_a_rate_entered_again_keeps_its_version(world: World) -> None:
    assert enter(world, "0.79", as_of="2026-10-23T01:35:00Z")["version"] == 3
    assert enter(world, "0.82")["version"] == 4
    assert world.read("/exchange-rates/GBP")["version"] == 4


@pytest.mark.parametrize(
    "body",
    [
        {"units_per_base": "0.5", "source": "ECB", "as_of": "2026-10-23T01:35:00Z"},
        {"units_per_base": "0.79", "source": "me", "as_of": "2026-10-23T01:35:00Z"},
    ],
)
def test_entering_another_past_rate_is_a_conflict(world: World, body: dict[str, str]) -> None:
    answer = put(world, "GBP", body)
    assert (answer.status, answer.headers["content-type"]) == (409, "application/problem+json")
    assert "has published 0.79 GBP" in answer.json()["detail"]
    assert world.read("/exchange-rates/GBP", at="2026-10-23T01:37:00Z")["units_per_base"] == "0.79"


@cases(
    ("body", "fields"),
    [
        ({}, ["units_per_base", "source"]),
        ({"units_per_base": "0", "source": "ECB"}, ["units_per_base"]),
        ({"units_per_base": 1e-3, "source": ""}, ["source"]),
        ({"units_per_base": "1", "source": "ECB", "as_of": "2026-10-23T02:00:00.001Z"}, ["as_of"]),
        ({"units_per_base": "1", "source": "ECB", "as_of": "2026-10-23"}, ["as_of"]),
        ({"units_per_base": "1", "source": "ECB", "base": "USD"}, ["base"]),
        ({"units_per_base": "1", "source": "ECB", "base": "euro"}, ["base"]),
        ({"units_per_base": "1", "source": "ECB", "base": "ZZZ"}, ["base"]),
        ({"units_per_base": "1", "source": "ECB", "base": "EUR\n"}, ["base"]),
        ([], ["body"]),
        (b"{", ["body"]),
    ],
)
def test_a_bad_statement_is_refused_with_its_fields(world: World, body: Any, fields: list[str]) -> None:
    assert refused(world, "GBP", body) == fields


@pytest.mark.parametrize("currency", ["EUR", "eur", "EURO", "E%25", "%2e"])
def test_the_base_currency_and_malformed_codes_are_refused(world: World, currency: str) -> None:
    assert refused(world, currency, {"units_per_base": "1", "source": "ECB"}) == ["currency"]


def test_a_statement_must_be_json(world: World) -> None:
    assert put(world, "GBP", {}, "text/plain").status == 415


def test_an_earlier_rate_is_added_until_a_report_relies_on_a_later_one() -> None:
    earlier = {"units_per_base": "0.7", "source": "ECB", "as_of": "2026-10-23T01:20:00Z"}
    with opened({"base_currency": "EUR"}) as world:
        enter(world, "0.80")
        added = put(world, "GBP", earlier)
        assert (added.status, added.json()["as_of"]) == (201, "2026-10-23T01:20:00.000Z")
        assert put(world, "GBP", earlier).status == 200
        assert world.read("/exchange-rates/GBP")["units_per_base"] == "0.80"
        assert world.read("/exchange-rates/GBP", at="2026-10-23T01:25:00Z")["units_per_base"] == "0.7"
        assert seen(world.all(HISTORY, last=2)) == [("01:30", "0.80"), ("01:20", "0.7")]
        world.sell("8.00")
        world.pass_time(minutes=20)
        world.report()
        (run,) = [one["run"] for one in world.all("/reports") if one["lines"]]
        answer = put(world, "GBP", {**earlier, "as_of": "2026-10-23T01:10:00Z"})
        assert answer.status == 409
        assert answer.json()["detail"].startswith(f"the report {run} relies on the exchange rates of GBP until ")
        assert world.missing("/exchange-rates/GBP", at="2026-10-23T01:15:00Z")


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("at", "units"),
    [("01:30:00", "0.80"), ("01:31:59.999", "0.80"), ("01:32:00", "0.81"), ("01:59:59", "0.79"), ("23:00:00", "0.82")],
)
def test_the_rate_as_of_an_instant_is_the_newest_entered_by_then(world: World, at: str, units: str) -> None:
    assert world.read("/exchange-rates/GBP", at=f"2026-10-23T{at}Z")["units_per_base"] == units


def test_a_rate_that_was_never_entered_is_not_found(world: World) -> None:
    before = world.missing("/exchange-rates/GBP", at="2026-10-23T01:29:59.999Z")
    assert before == "no exchange rate of GBP was entered as of 2026-10-23T01:29:59.999Z or before"
    for path in ("/exchange-rates/USD", "/exchange-rates/USD/trend"):
        assert world.missing(path) == "no exchange rate of USD was ever entered"
    assert world.missing("/exchange-rates/USD/history", last=1) == "no exchange rate of USD was ever entered"
    assert world.missing("/exchange-rates/USD/snapshots", layer="5m", last=1)
    assert world.refused("/exchange-rates/pounds")["field"] == "currency"
    assert world.refused("/exchange-rates/GBP", at="2026-10-23")["field"] == "at"


def test_the_snapshots_of_a_rate_are_read(world: World) -> None:
    assert seen(world.all(SNAPSHOTS, layer="5m", date="2026-10-23")) == [("01:32", "0.81"), *CHANGES[2:]]
    assert seen(world.read(SNAPSHOTS, layer="change", last=2)["items"]) == [CHANGES[3], CHANGES[2]]
    assert (
        seen(world.all(SNAPSHOTS, layer="change", from_="2026-10-23T01:32:00Z", to="2026-10-23T02:00:00Z"))
        == (CHANGES[1:3])
    )
    assert seen([world.read(SNAPSHOTS, layer="5m", at="2026-10-23T01:31:00Z")]) == [("01:32", "0.81")]
    assert world.refused(SNAPSHOTS, layer="7m", last=1)["field"] == "layer"


def test_the_history_lists_all_entered_rates(world: World) -> None:
    assert seen(world.all(HISTORY, date="2026-10-23", limit=3)) == CHANGES
    assert seen(world.all(HISTORY, last=3)) == CHANGES[::-1]
    assert seen(world.all(HISTORY, from_="2026-10-23T01:32:00Z", to="2026-10-23T02:00:00Z")) == CHANGES[1:3]
    assert world.all(HISTORY, date="2026-10-22") == []
    assert world.read(HISTORY, last=1)["items"] == [
        {name: value for name, value in world.read("/exchange-rates/GBP").items() if name != "currency"}
    ]
    assert world.refused(HISTORY, last=0)["field"] == "last"
    assert world.refused(HISTORY, last=1, date="2026-10-23")["field"] == "date"
    assert world.refused(HISTORY)["field"] == "from"


def test_old_rates_are_read_in_every_way(world: World) -> None:
    for day in range(1, 10):
        enter(world, f"0.9{day}", "SEK", as_of=f"2026-06-0{day}T14:15:00Z")
    world.drain()
    path = "/exchange-rates/SEK/history"
    days = [(f"2026-06-0{day}", f"0.9{day}") for day in range(1, 10)]

    def read(**query: Any) -> list[tuple[str, str]]:
        return [(one["as_of"][:10], one["units_per_base"]) for one in world.all(path, limit=2, **query)]

    assert [one["as_of"][:10] for one in world.read(path, last=5)["items"]] == [day for day, _ in days[:3:-1]]
    assert read(date="2026-06-03") == days[2:3]
    assert read(from_="2026-06-02", to="2026-06-08") == days[1:7]
    for layer, window in (("change", None), ("5m", "2026-06-08T14:15:00Z"), ("1h", "2026-06-08T14:00:00Z")):
        trend = world.read("/exchange-rates/SEK/trend", layer=layer)
        assert trend["figures"]["units_per_base"] == {"now": "0.99", "before": "0.98", "change": "0.01", "trend": "up"}
        assert trend["before"].get("window") == window


def test_the_trend_compares_with_the_window_before(world: World) -> None:
    trend = world.read("/exchange-rates/GBP/trend", layer="1h")
    assert (trend["latest"]["units_per_base"], trend["before"]["units_per_base"]) == ("0.82", "0.79")
    assert trend["figures"] == {"units_per_base": {"now": "0.82", "before": "0.79", "change": "0.03", "trend": "up"}}


@pytest.mark.parametrize("limit", [1, 100])
def test_all_rates_are_listed(world: World, limit: int) -> None:
    found = {one["currency"]: one["units_per_base"] for one in world.all("/exchange-rates", limit=limit)}
    assert found.items() >= {"GBP": "0.82", "JPY": "160.5"}.items()


def test_a_window_lists_exchange_rates_on_request_and_accounts_by_default(world: World) -> None:
    window = world.read("/windows/5m/2026-10-23T02:01:00Z", kind="exchange-rates")
    assert [(one["currency"], one["units_per_base"]) for one in window["items"]] == [("GBP", "0.82")]
    assert world.missing("/windows/5m/2026-10-23T02:01:00Z")
    assert world.missing("/windows/5m/2026-10-23T02:01:00Z", kind="accounts")
    assert world.refused("/windows/5m/2026-10-23T02:01:00Z", kind="orders")["field"] == "kind"
