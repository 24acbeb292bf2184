"""Projections survive a crash at every call: the base currency, sales by location, source indexes."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from quarterhour.aws.items import from_item
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.quarter_hours import LENGTH, QuarterHour
from tests.invariants.crashing import Crashes, Numbers
from tests.invariants.trial import GRACE, Trial, on_trial
from tests.support.events import sale


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial(base="EUR") as made:
        yield made


def sold(n: int) -> list[dict[str, Any]]:
    """A request with sales at several places, of two sources, in currencies with a rate, without one, and the base."""
    sales = [
        sale(f"a{n}", "10.00", location="GB#London"),
        sale(f"b{n}", "0.01", location="GB#London#Soho"),
        sale(f"c{n}", "3.333", location="GB#London"),
        sale(f"d{n}", "7"),
    ]
    for number, currency in enumerate(("GBP", "EUR", "USD", "GBP")):
        sales[number]["data"]["currency"] = currency
    sales[3]["source"] = "device"
    return sales


def enter(place: Trial, currency: str, units: str, as_of: str | None = None) -> None:
    """Enter a rate; the function may die."""
    body = {"units_per_base": units, "source": "ECB", **({"as_of": as_of} if as_of else {})}
    answer = place.request("write", "PUT", f"/exchange-rates/{currency}", body)
    assert answer is None or answer.status in {200, 201, 409, 500}, answer.body


def documents(place: Trial) -> list[dict[str, Any]]:
    """Return all manifests, in the order of time."""
    objects = place.objects()
    return [json.loads(objects[key]) for key in sorted(objects) if key.endswith("manifest.json")]


def test_a_report_in_a_base_currency_may_die_at_any_call_and_the_rates_may_change_meanwhile(
    place: Trial, number: Numbers, crashes: Crashes
) -> None:
    """The rates that an attempt has pinned stay, though others are entered before the next attempt."""

    def prepare(place: Trial) -> None:
        for _ in range(2):
            enter(place, "GBP", f"0.8{number()}")
            place.send(sold(number()))
            place.clock.advance(LENGTH)
        place.clock.advance(GRACE)

    def recover(place: Trial) -> None:
        place.faults.disarm()
        meanwhile = QuarterHour.at(place.clock.now() - GRACE).start - timedelta(seconds=1)
        enter(place, "GBP", f"0.9{number()}", iso_millis(meanwhile))
        enter(place, "USD", f"1.1{number()}", iso_millis(meanwhile))
        place.report()

    crashes.at_each_call("report in a base currency", place, prepare, act=Trial.report, recover=recover)
    pinned = [one for document in documents(place) for entry in document["quarter_hours"] for one in entry["rates"]]
    assert {one["currency"] for one in pinned} == {"GBP", "USD"}
    assert {one["units_per_base"] is None for one in pinned} == {True, False}, "some had a rate, some had none"


def test_entering_a_rate_may_die_at_any_call(place: Trial, number: Numbers, crashes: Crashes) -> None:
    """Sent again, a rate is stored once: in force, and in the history."""
    entered: dict[str, str] = {}

    def prepare(place: Trial) -> None:
        place.stack.cold_start("write")
        place.clock.advance(timedelta(seconds=1))
        entered[iso_millis(place.clock.now())] = f"1.{number()}"

    def say(place: Trial) -> None:
        as_of, units = max(entered.items())
        enter(place, "GBP", units, as_of)

    def check(place: Trial) -> None:
        place.faults.disarm()
        say(place)
        items = [from_item(item) for item in place.entities() if item["pk"]["S"] == "RATE#GBP"]
        history = {one["last_updated"]: one["units_per_base"] for one in items if one["sk"].startswith("AS_OF#")}
        (latest,) = (one for one in items if one["sk"] == "latest")
        assert history == entered
        assert latest["version"] == len(entered)

    crashes.at_each_call("enter a rate", place, prepare, act=say, recover=check)


def test_adding_an_earlier_rate_may_die_at_any_call(place: Trial, number: Numbers, crashes: Crashes) -> None:
    """Sent again, an earlier rate is in the history once, and the rate in force is the same."""
    enter(place, "GBP", "0.8")
    (latest,) = (item for item in place.entities() if item["pk"]["S"] == "RATE#GBP" and item["sk"]["S"] == "latest")
    in_force = from_item(latest)
    added: dict[str, str] = {}

    def prepare(place: Trial) -> None:
        place.stack.cold_start("write")
        seconds = number()
        added[iso_millis(parse_iso(in_force["last_updated"]) - timedelta(seconds=seconds))] = f"0.{seconds}"

    def say(place: Trial) -> None:
        as_of = list(added)[-1]
        enter(place, "GBP", added[as_of], as_of)

    def check(place: Trial) -> None:
        place.faults.disarm()
        say(place)
        items = [from_item(item) for item in place.entities() if item["pk"]["S"] == "RATE#GBP"]
        history = {one["last_updated"]: one["units_per_base"] for one in items if one["sk"].startswith("AS_OF#")}
        assert history == {in_force["last_updated"]: "0.8", **added}
        assert [one for one in items if one["sk"] == "latest"] == [in_force]

    crashes.at_each_call("add an earlier rate", place, prepare, act=say, recover=check)


def test_a_base_currency_that_is_changed_meanwhile_holds_for_the_next_plan(place: Trial) -> None:
    enter(place, "GBP", "0.8")
    place.send(sold(1))
    place.clock.advance(LENGTH + GRACE)
    place.report()
    place.change_settings(base_currency="USD")
    place.send(sold(2))
    place.drain()
    place.check()
    first, *_, last = documents(place)
    assert (first["base_currency"], last["base_currency"]) == ("EUR", "USD")
    rates = {one["currency"]: one["units_per_base"] for entry in last["quarter_hours"] for one in entry["rates"]}
    assert rates == {"EUR": None, "GBP": None}, "a rate for euros is none for dollars"
