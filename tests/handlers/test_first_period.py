"""Business times before the first period: said in the answer, in lists, and with the drafts of the run."""

from datetime import UTC, datetime
from typing import Any

from tests.support.agencies import OWNER, tax
from tests.support.events import payment, refund, sale, view
from tests.support.requests import post
from tests.support.system import opened

START = datetime(2026, 11, 5, 12, tzinfo=UTC)
SETTINGS: dict[str, Any] = {"first_period": "2026-11", "grace_days": 1, "commission_rate": "0.10"}


def test_what_counts_before_the_first_period_is_named_and_counted_and_leaves_the_bills_by_no_silence() -> None:
    sent = [
        sale("now", "100.00"),
        {**sale("reset", "100.00"), "time": "1970-01-01T00:00:00Z"},
        {**sale("late", "50.00", currency="EUR"), "time": "2026-10-31T23:59:00Z"},
        {**refund("back", "-10.00", "reset"), "time": "2026-10-31T23:59:30Z"},
        {**payment("paid", "7.00"), "time": "2026-10-31T23:59:00Z"},
        {**view("seen", "page", "ann"), "time": "2026-10-31T23:59:00Z"},
        {**sale("held", "1.00"), "type": "sale.refunded", "data": {**refund("x", "-1", "y")["data"]}},
    ]
    before = ["reset", "late", "back", "paid"]
    with opened(SETTINGS, start=START) as world:
        world.write("/documents/owner", OWNER, 0)
        world.write("/agencies/42", {**tax(percent="20"), "address": None}, 0)
        for verdict in ("recorded", "duplicate"):
            items = post(world, sent).json()["items"]
            assert [one["verdict"] for one in items] == [verdict] * 6 + ["held"]
            said = {one["id"]: one.get("before_first_period") for one in items}
            assert said == dict.fromkeys(said) | dict.fromkeys(before, "2026-11")
        span = {"from_": "2026-11-05", "to": "2026-11-06"}
        for path, events in (
            ("/events", world.all("/events", **span)),
            ("/sources", world.all("/sources/shop/events", **span)),
        ):
            assert {one["id"] for one in events if "before_first_period" in one} == set(before), path
        assert world.read("/events/shop/reset")["before_first_period"] == "2026-11"
        assert "before_first_period" not in world.read("/events/shop/now")
        world.drain()
        world.clock.advance_to(datetime(2026, 12, 2, 1, tzinfo=UTC))
        world.report()
        world.stack.invoke("watch", {})
        (november,) = (one for one in world.read("/periods")["items"] if one["state"] == "sealed")
        assert november["before_first_period"] == {
            "EUR": {"lines": 1, "net": "50.00", "commission": "5.0000"},
            "GBP": {"lines": 3, "net": "90.00", "commission": "9.0000"},
        }
        assert november["lines"] == 1
        (draft,) = world.read("/drafts")["items"]
        assert {one["check"]: one["message"] for one in draft["checks"]}["before_first_period"] == (
            "3 lines before the first period, on no statement: net 90.00, commission 9.0000"
        )


def test_without_a_first_period_nothing_is_before_it() -> None:
    with opened({"commission_rate": "0.10"}, start=START) as world:
        (item,) = post(world, {**sale("reset", "100.00"), "time": "1970-01-01T00:00:00Z"}).json()["items"]
        assert "before_first_period" not in item
        assert "before_first_period" not in world.read("/events/shop/reset")
