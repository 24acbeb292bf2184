"""The settings that finance decides: checked whole, in force within a minute, or from an instant ahead."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from quarterhour.model.clock import iso_seconds
from quarterhour.model.periods import Calendar, time_zone
from quarterhour.registry.settings.settings import DEFAULTS, FIELDS, LEAD
from quarterhour_tools.emulator.http_api import Request, Response
from tests.support.events import by_sign
from tests.support.requests import events_request
from tests.support.system import World, opened

WRONG: dict[str, tuple[Any, str, str]] = {
    "no object": ([], "content", "is not an object"),
    "unknown": ({"rate": 1}, "content.rate", "is not known"),
    "rate": ({"commission_rate": "1.01"}, "content.commission_rate", "is '1.01'"),
    "rate with many places": ({"commission_rate": "0.12345678901"}, "content.commission_rate", "is '0.12345678901'"),
    "policy": ({"agency_policy": "closed"}, "content.agency_policy", "is 'closed'"),
    "held days": ({"held_days": 0}, "content.held_days", "is 0"),
    "currency": ({"base_currency": "EURO"}, "content.base_currency", "is 'EURO'"),
    "zone": ({"time_zone": "Mars/Phobos"}, "content.time_zone", "is 'Mars/Phobos'"),
    "zone outside the database": ({"time_zone": "../etc"}, "content.time_zone", "is '../etc'"),
    "zone of a machine": ({"time_zone": "localtime"}, "content.time_zone", "is 'localtime'"),
    "zone with leap seconds": ({"time_zone": "right/UTC"}, "content.time_zone", "is 'right/UTC'"),
    "grace days": ({"grace_days": 91}, "content.grace_days", "is 91"),
    "part of a day": ({"grace_days": 1.5}, "content.grace_days", "is 1.5"),
    "first period": ({"first_period": "2026-13"}, "content.first_period", "is '2026-13'"),
    "no instant": ({"periods_from": "tomorrow"}, "content.periods_from", "is 'tomorrow'"),
    "prefix": ({"statement_prefix": "S #"}, "content.statement_prefix", "is 'S #'"),
    "long prefix": ({"credit_note_prefix": "C" * 21}, "content.credit_note_prefix", f"is '{'C' * 21}'"),
    "equal prefixes": (
        {"credit_note_prefix": "S-"},
        "content.credit_note_prefix",
        "is 'S-', in some years that of statements",
    ),
    "equal prefixes in a year": (
        {"statement_prefix": "S-{year}-", "credit_note_prefix": "S-2031-"},
        "content.credit_note_prefix",
        "is 'S-2031-', in some years that of statements",
    ),
    "first period long ago": (
        {"first_period": "2006-11", "periods_from": "2026-11-01T00:00:00Z"},
        "content.first_period",
        "is 2006-11",
    ),
    "release": ({"release": "never"}, "content.release", "is 'never'"),
    "approvals": ({"approvals": 3}, "content.approvals", "is 3"),
    "rounding": ({"rounding": "up"}, "content.rounding", "is 'up'"),
    "acceptance": ({"acceptance_days": 366}, "content.acceptance_days", "is 366"),
    "sources": ({"upload_sources": "till"}, "content.upload_sources", "is 'till'"),
    "a source that no event has": ({"upload_sources": ["a#b"]}, "content.upload_sources", "is a list of 1"),
    "a zone at once": ({"time_zone": "Asia/Tokyo"}, "content.periods_from", "is missing"),
    "grace too early": (
        {"grace_days": 5, "periods_from": "2026-10-23T01:59:59Z"},
        "content.periods_from",
        "is 2026-10-23T01:59:59Z",
    ),
}


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """A system whose settings nobody can write."""
    with opened() as world:
        yield world


def put(world: World, content: Any, seen: int = 0) -> Response:
    body = json.dumps({"seen": seen, "content": content}).encode()
    headers = (("content-type", "application/json"), ("host", "localhost"))
    return world.stack.request(Request("PUT", "/documents/settings", headers=headers, body=body))


@pytest.mark.parametrize(("content", "field", "problem"), WRONG.values(), ids=WRONG)
def test_a_wrong_document_is_refused_with_field_value_and_expectation(
    shared: World, content: Any, field: str, problem: str
) -> None:
    answer = put(shared, content)
    assert answer.status == 400
    (found,) = answer.json()["errors"]
    assert found["field"] == field
    assert found["problem"].startswith(problem)
    assert found["expected"]
    assert shared.missing("/documents/settings")


def test_every_field_has_a_wrong_value_above() -> None:
    assert {field.removeprefix("content.") for _, field, _ in WRONG.values()} >= set(FIELDS)


def test_the_defaults_are_a_document_that_changes_nothing(world: World) -> None:
    before = world.read("/me")
    assert put(world, dict(DEFAULTS)).status == 201
    world.clock.advance(timedelta(minutes=1))
    assert world.read("/me") == before


def test_all_but_the_calendar_applies_within_a_minute_and_keeps_a_history(world: World) -> None:
    assert world.sell("8.00", commission_rate=None)
    assert put(world, {"commission_rate": "0.5"}).status == 201
    world.clock.advance(timedelta(minutes=1))
    world.sell("8.00", commission_rate=None)
    world.drain()
    assert world.read("/accounts/42/GBP")["commission"] == "4.8000"
    assert put(world, {"commission_rate": "0.25"}, seen=1).status == 201
    assert [one["version"] for one in world.read("/documents/settings/versions")["items"]] == [2, 1]


def test_a_calendar_applies_from_its_instant_in_every_function(world: World) -> None:
    world.clock.advance(timedelta(days=8, hours=13))  # 2026-10-31T14:30Z; in Tokyo, November begins in half an hour
    since = world.clock.now() + LEAD
    content = {"time_zone": "Asia/Tokyo", "periods_from": iso_seconds(since)}
    assert put(world, content).status == 201
    assert put(world, {**content, "held_days": 3}, seen=1).status == 201, "the same calendar may be written again"
    world.clock.advance(LEAD - timedelta(seconds=1))
    assert world.read("/me")["time_zone"] == "UTC"
    assert recorded(world, "before") == "2026-10"
    world.clock.advance(timedelta(seconds=1))
    assert world.read("/me")["time_zone"] == "Asia/Tokyo"
    assert recorded(world, "after") == str(Calendar(time_zone("Asia/Tokyo")).month_of(world.clock.now())) == "2026-11"
    earlier = {"time_zone": "UTC", "periods_from": iso_seconds(since)}
    assert put(world, earlier, seen=2).status == 400, "what applies already never changes"


def test_a_change_that_is_still_far_is_replaced_by_the_next(world: World) -> None:
    now = world.clock.now()
    far = {"grace_days": 9, "periods_from": iso_seconds(now + timedelta(days=9))}
    assert put(world, far).status == 201
    assert put(world, {"first_period": "2026-11", "periods_from": iso_seconds(now + LEAD)}, seen=1).status == 201
    world.clock.advance(timedelta(days=10))
    assert world.read("/me")["first_period"] == "2026-11"
    (november,) = [one for one in world.read("/periods")["items"] if one["period"] == "2026-11"]
    assert november["cut_off"] == "2026-12-04T00:00:00Z", "by the default of the grace days"


def test_a_first_period_stays_allowed_after_years(world: World) -> None:
    since = iso_seconds(world.clock.now() + LEAD)
    assert put(world, {"first_period": "2024-10", "periods_from": since}).status == 201
    world.clock.advance(timedelta(days=500))
    later = iso_seconds(world.clock.now() + LEAD)
    changed = {"first_period": "2024-10", "grace_days": 5, "periods_from": later}
    assert put(world, changed, seen=1).status == 201


def test_what_counts_in_a_month_that_a_later_calendar_closes_is_on_a_statement() -> None:
    with opened({"grace_days": 60}) as world:
        late = {**by_sign("late", "1.00", agency="42", currency="GBP"), "time": "2026-09-15T00:00:00Z"}
        world.stack.request(events_request(late))
        world.drain()
        assert world.read("/events/shop/late")["period"] == "2026-09"
        assert (
            put(world, {"grace_days": 0, "periods_from": iso_seconds(world.clock.now() + LEAD)}, seen=1).status == 201
        )
        for days in (1, 14):
            world.clock.advance(timedelta(days=days))
            world.report()
        assert world.stack.invoke("statements", {})["drafts"] == 1


def recorded(world: World, id_: str) -> str:
    """Record a sale of now, and return the period in which it counts."""
    world.stack.request(events_request(by_sign(id_, "1.00")))
    period: str = world.read(f"/events/shop/{id_}")["period"]
    return period
