"""Discussions over HTTP: on an order, a line of a statement, a report; and who may take part."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour_tools.emulator.http_api import Request, Response
from tests.handlers.desk import place
from tests.support.system import World, opened

LINE = "/threads/lines/shop%23e0/messages"


@pytest.fixture
def sold(world: World) -> World:
    """The system with a sale, sealed in a report."""
    seal_a_sale(world)
    return world


@pytest.fixture(scope="module")
def untouched() -> Iterator[World]:
    """The same for all tests that only hear what is wrong."""
    with opened() as world:
        seal_a_sale(world)
        yield world


def seal_a_sale(world: World) -> None:
    world.sell("12.50")
    world.pass_time(hours=1)
    world.report()


def say(world: World, path: str = LINE, **body: Any) -> Response:
    content = json.dumps({"id": "m-1", "user": "ann", "text": "Where is the refund?", **body}).encode()
    return world.stack.request(Request("POST", path, headers=(("Content-Type", "application/json"),), body=content))


def test_a_message_is_answered_as_it_stands_and_its_retry_too(sold: World) -> None:
    first, again = say(sold), say(sold)
    assert (first.status, again.status) == (201, 200)
    assert first.json() == again.json() == {
        "user": "ann", "at": "2026-10-23T02:30:00.000Z", "id": "m-1", "text": "Where is the refund?",
    }  # fmt: skip
    assert sold.read(LINE) == {"items": [first.json()], "next": None, "previous": None}


def test_another_text_under_the_same_id_is_a_conflict(sold: World) -> None:
    assert say(sold).status == 201
    answer = say(sold, text="Something else")
    assert (answer.status, answer.headers["content-type"]) == (409, "application/problem+json")
    assert len(sold.read(LINE)["items"]) == 1


def test_pages_go_on_and_back(sold: World) -> None:
    for number in range(5):
        say(sold, id=f"m-{number}", user="ann" if number % 2 else "bob", text=f"text {number}")
        sold.clock.advance_to(sold.clock.now().replace(second=number + 1))
    first = sold.read(LINE, order="newest", limit=2)
    second = sold.read(LINE, order="newest", limit=2, next=first["next"])
    assert [one["id"] for one in first["items"] + second["items"]] == ["m-4", "m-3", "m-2", "m-1"]
    assert sold.read(LINE, order="newest", limit=2, next=second["previous"])["items"] == first["items"]
    assert [one["id"] for one in sold.read(LINE, user="ann", period="2026-10-23")["items"]] == ["m-1", "m-3"]
    assert sold.read(LINE, period="2025")["items"] == []


def test_a_message_goes_to_the_order_that_is_named_and_to_no_other(world: World) -> None:
    place(world, "50%")
    assert say(world, "/threads/orders/50%252525/messages").status == 404
    assert world.read("/threads/orders/50%25/messages")["items"] == []
    place(world, "50%25")
    assert say(world, "/threads/orders/50%252525/messages").status == 201
    assert world.read("/threads/orders/50%2525/messages")["items"] == []
    assert len(world.read("/threads/orders/50%252525/messages")["items"]) == 1


def test_a_report_is_discussed_under_its_run(sold: World) -> None:
    (run,) = [one["run"] for one in sold.read("/reports")["items"]][:1]
    assert say(sold, f"/threads/reports/{run}/messages").status == 201
    assert len(sold.read(f"/threads/reports/{run}/messages")["items"]) == 1
    assert sold.read(LINE)["items"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/threads/lines/shop%23nothing/messages",
        "/threads/lines/shop/messages",
        "/threads/lines/a%23b%23c/messages",
        "/threads/orders/nothing/messages",
        "/threads/reports/2020-01-01T0000-0100/messages",
        f"/threads/reports/{quote('../../secret', safe='')}/messages",
        "/threads/people/ann/messages",
    ],
)
def test_of_what_is_not_there_nothing_is_said(untouched: World, path: str) -> None:
    assert say(untouched, path).status == 404
    assert untouched.missing(path)


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"user": "a#b"}, "user"),
        ({"period": "yesterday"}, "period"),
        ({"order": "random"}, "order"),
        ({"limit": 0}, "limit"),
        ({"next": "x"}, "next"),
        ({"more": 1}, "more"),
    ],
)
def test_a_bad_parameter_is_told(untouched: World, parameters: dict[str, Any], field: str) -> None:
    assert untouched.refused(LINE, **parameters)["field"] == field


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [("text/plain", b"{}", 415), ("application/json", b"{", 400), ("application/json", b"[]", 400),
     ("application/json", b'"' + b"x" * 1_000_001 + b'"', 413)],
)  # fmt: skip
def test_a_body_that_is_none_is_told(untouched: World, content_type: str, body: bytes, status: int) -> None:
    request = Request("POST", LINE, headers=(("Content-Type", content_type),), body=body)
    answer = untouched.stack.request(request)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
