"""Queries of snapshots: an account over time, as of an instant, its trend; all accounts of a window."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cases import cases
from tests.support.requests import account
from tests.support.system import World, opened

SNAPSHOTS = account(part="snapshots")
TREND = account(part="trend")
CHANGES = [("01:30", "1.00"), ("01:32", "3.00"), ("01:35", "7.00"), ("01:45", "15.00"), ("02:00", "7.00")]
"""The instants at which account 42 changed, with the net of each."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The system with five changes of account 42, in three windows of 5 minutes and two of an hour."""
    with opened() as world:
        world.sell("1.00")
        world.pass_time(minutes=2)
        world.sell("2.00")
        world.pass_time(minutes=3)
        world.sell("4.00")
        world.pass_time(minutes=10)
        world.sell("8.00")
        world.pass_time(minutes=15)
        world.sell("-8.00")
        world.sell("5.00", agency="43", currency="EUR")
        world.drain()
        yield world


def seen(items: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the instant and the net of each state."""
    return [(item["last_updated"][11:16], item["net"]) for item in items]


def test_a_state_is_shown_with_its_window(world: World) -> None:
    page = world.read(SNAPSHOTS, layer="5m", from_="2026-10-23T01:30:00Z", to="2026-10-23T01:35:00Z")
    state = {
        "layer": "5m",
        "window": "2026-10-23T01:30:00Z",
        "events": 2,
        "gross": "3.00",
        "refunds": "0",
        "commission": "0.37500",
        "payments": "0",
        "net": "3.00",
        "version": 2,
        "last_updated": "2026-10-23T01:32:00.000Z",
    }
    assert page == {"items": [state], "next": None}


@cases(
    ("layer", "start", "end", "states"),
    [
        ("5m", "2026-10-23", "2026-10-24", CHANGES[1:]),
        ("5m", "2026-10-23T01:30:00.001Z", "2026-10-23T01:45:00Z", [("01:35", "7.00")]),
        ("5m", "2026-10-23T01:35:00Z", "2026-10-23T01:45:00.000001Z", [("01:35", "7.00"), ("01:45", "15.00")]),
        ("5m", "2026-10-23T01:31:00Z", "2026-10-23T01:34:00Z", []),
        ("1h", "2026-10-23", "2026-10-24", [("01:45", "15.00"), ("02:00", "7.00")]),
        ("1h", "2026-10-23T03:00:00+02:00", "2026-10-23T02:00:00Z", [("01:45", "15.00")]),
        ("change", "2026-10-23T01:32:00Z", "2026-10-23T01:45:00Z", [("01:32", "3.00"), ("01:35", "7.00")]),
        ("change", "2026-10-23T01:31:59.9999Z", "2026-10-23T01:32:00.000001Z", [("01:32", "3.00")]),
        ("change", "2026-10-23T01:32:00.000001Z", "2026-10-23T01:35:00Z", []),
        ("change", "2026-10-23T01:32:00Z", "2026-10-23T01:32:00Z", []),
        ("change", "1970-01-01", "9998-12-31T23:59:59.999999999Z", CHANGES),
    ],
)
def test_a_span_holds_what_begins_in_it(
    world: World, layer: str, start: str, end: str, states: list[tuple[str, str]]
) -> None:
    for limit in (1, 2, 1000):
        assert seen(world.all(SNAPSHOTS, layer=layer, from_=start, to=end, limit=limit)) == states


def test_a_date_holds_its_day(world: World) -> None:
    assert seen(world.all(SNAPSHOTS, layer="1h", date="2026-10-23")) == [("01:45", "15.00"), ("02:00", "7.00")]
    assert seen(world.all(SNAPSHOTS, layer="1h", date="2026-10-23", limit=1)) == [("01:45", "15.00"), ("02:00", "7.00")]
    assert world.all(SNAPSHOTS, layer="1h", date="2026-10-24") == []


def test_the_last_states_come_newest_first_in_pages(world: World) -> None:
    page = world.read(SNAPSHOTS, layer="change", last=2)
    assert seen(page["items"]) == [("02:00", "7.00"), ("01:45", "15.00")]
    page = world.read(SNAPSHOTS, layer="change", last=2, next=page["next"])
    assert seen(page["items"]) == [("01:35", "7.00"), ("01:32", "3.00")]
    assert len(world.read(SNAPSHOTS, layer="5m", last=1000)["items"]) == 4


@pytest.mark.parametrize(
    ("layer", "at", "state"),
    [
        ("5m", "2026-10-23T01:30:00Z", ("01:32", "3.00")),
        ("5m", "2026-10-23T01:34:59.999999Z", ("01:32", "3.00")),
        ("5m", "2026-10-23T01:35:00Z", ("01:35", "7.00")),
        ("5m", "2026-10-23T01:44:59Z", ("01:35", "7.00")),
        ("5m", "2030-01-01T00:00:00Z", ("02:00", "7.00")),
        ("1h", "2026-10-23T01:00:00Z", ("01:45", "15.00")),
        ("change", "2026-10-23T01:30:00Z", ("01:30", "1.00")),
        ("change", "2026-10-23T01:31:59.999999Z", ("01:30", "1.00")),
        ("change", "2026-10-23T01:32:00Z", ("01:32", "3.00")),
    ],
)
def test_as_of_an_instant_is_the_newest_window_at_or_before_it(
    world: World, layer: str, at: str, state: tuple[str, str]
) -> None:
    assert seen([world.read(SNAPSHOTS, layer=layer, at=at)]) == [state]


def test_before_the_first_state_there_is_none(world: World) -> None:
    reason = world.missing(SNAPSHOTS, layer="change", at="2026-10-23T01:29:59.999Z")
    assert reason == "layer change holds no state of 42#GBP at or before 2026-10-23T01:29:59.999Z"
    assert world.missing(SNAPSHOTS, layer="5m", at="1970-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("layer", "window", "net", "change", "direction"),
    [("5m", "01:45", "15.00", "-8.00", "down"), ("1h", "01:00", "15.00", "-8.00", "down")],
)
def test_the_trend_compares_with_the_window_before(  # noqa: PLR0913, PLR0917 - the figures of one case
    world: World, layer: str, window: str, net: str, change: str, direction: str
) -> None:
    trend = world.read(TREND, layer=layer)
    assert trend["before"]["window"] == f"2026-10-23T{window}:00Z"
    assert {"agency": "42", "currency": "GBP", **trend["latest"], "customers": 0} == world.read(account())
    assert trend["trend"] == direction
    assert trend["figures"] == {
        "events": {"now": 5, "before": 4, "change": 1, "trend": "up"},
        "gross": {"now": "15.00", "before": "15.00", "change": "0.00", "trend": "stable"},
        "refunds": {"now": "-8.00", "before": "0", "change": "-8.00", "trend": "down"},
        "commission": {"now": "0.87500", "before": "1.87500", "change": "-1.00000", "trend": "down"},
        "payments": {"now": "0", "before": "0", "change": "0", "trend": "stable"},
        "net": {"now": "7.00", "before": net, "change": change, "trend": direction},
    }


def test_the_trend_of_single_changes_compares_with_the_change_before(world: World) -> None:
    trend = world.read(TREND, layer="change")
    assert (trend["before"]["last_updated"], trend["trend"]) == ("2026-10-23T01:45:00.000Z", "down")


def test_the_default_layer_of_a_trend_has_the_shortest_windows(world: World) -> None:
    assert world.read(TREND) == world.read(TREND, layer="5m")


def test_a_new_account_has_no_trend_yet(world: World) -> None:
    trend = world.read(account("43", "EUR", "trend"))
    assert (trend["trend"], trend["before"]) == (None, None)
    assert trend["figures"]["net"] == {"now": "5.00", "before": None, "change": None, "trend": None}


# ---------------------------------------------------------------- windows


def test_a_window_holds_all_accounts_that_changed_in_it(world: World) -> None:
    window = world.read("/windows/1h/2026-10-23T02:00:00Z")
    assert (window["layer"], window["window"], window["next"]) == ("1h", "2026-10-23T02:00:00Z", None)
    found = {(item["agency"], item["currency"]): item["net"] for item in window["items"]}
    assert found == {("42", "GBP"): "7.00", ("43", "EUR"): "5.00"}
    assert [item["net"] for item in world.read("/windows/1h/2026-10-23T01:00:00Z")["items"]] == ["15.00"]


@pytest.mark.parametrize(
    "start",
    ["2026-10-23T02:04:59.999Z", "2026-10-23T04:01:00%2B02:00", "2026-10-23T02%3A00%3A00Z", "2026-10-23t02:02:00z"],
)
def test_the_start_of_a_window_may_be_any_instant_in_it(world: World, start: str) -> None:
    window = world.read(f"/windows/5m/{start}")
    assert window["window"] == "2026-10-23T02:00:00Z"
    assert len(window["items"]) == 2


def test_a_window_in_which_nothing_changed_is_not_found(world: World) -> None:
    reason = world.missing("/windows/5m/2026-10-23T01:40:00Z")
    assert reason == "layer 5m holds no state of the window from 2026-10-23T01:40:00Z"
    assert world.missing("/windows/1h/2026-10-24")


@pytest.mark.parametrize("layer", ["change", "latest", "7m", "5m%23", "5M", "%2e"])
def test_only_layers_with_windows_have_windows(world: World, layer: str) -> None:
    problem = world.refused(f"/windows/{layer}/2026-10-23")
    assert (problem["field"], problem["expected"]) == ("layer", "one of 5m, 1h")


@pytest.mark.parametrize(
    "start", ["latest", "202610230130", "2026-10-32", "2026-10-23T02:00:00", "2026-10-23T25:00:00Z"]
)
def test_a_window_needs_an_instant(world: World, start: str) -> None:
    assert world.refused(f"/windows/5m/{start}")["field"] == "start"


# ---------------------------------------------------------------- invalid requests


@cases(
    ("parameters", "field", "problem"),
    [
        ({}, "layer", "is missing"),
        ({"last": 1}, "layer", "is missing"),
        ({"layer": "2m", "last": 1}, "layer", "is '2m'"),
        ({"layer": "", "last": 1}, "layer", "is ''"),
        ({"layer": "5m"}, "from", "is missing"),
        ({"layer": "5m", "to": "2026-10-23"}, "from", "is missing"),
        ({"layer": "5m", "from_": "2026-10-23"}, "to", "is missing"),
        ({"layer": "5m", "from_": "2026-10-24", "to": "2026-10-23"}, "from", "is after to"),
        ({"layer": "5m", "last": 1, "at": "2026-10-23T00:00:00Z"}, "last", "cannot be combined with at"),
        ({"layer": "5m", "date": "2026-10-23", "from_": "2026-10-23"}, "date", "cannot be combined with from"),
        ({"layer": "5m", "date": "2026-10-23", "to": "2026-10-23"}, "to", "is not known here"),
        ({"layer": "5m", "at": "2026-10-23T00:00:00Z", "limit": 1}, "limit", "is not known here"),
        ({"layer": "5m", "last": 1, "limit": 1}, "limit", "is not known here"),
        ({"layer": "5m", "at": "2026-10-23"}, "at", "is '2026-10-23'"),
        ({"layer": "5m", "last": 0}, "last", "is '0'"),
        ({"layer": "5m", "last": 1001}, "last", "is '1001'"),
        ({"layer": "5m", "date": "2026-10"}, "date", "is '2026-10'"),
        ({"layer": "5m", "date": "2026-02-30"}, "date", "is '2026-02-30'"),
        ({"layer": "5m", "last": 1, "when": "now"}, "when", "is not known here"),
    ],
)
def test_an_invalid_request_is_refused_by_its_field(
    world: World, parameters: dict[str, Any], field: str, problem: str
) -> None:
    found = world.refused(SNAPSHOTS, **parameters)
    assert (found["field"].strip("'"), found["problem"]) == (field.strip("'"), problem)
