"""Threads over HTTP: about an order, a line of a statement, or a report; and who may write."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour_tools.emulator.http_api import Request, Response
from tests.handlers.desk import place
from tests.support.cases import cases
from tests.support.stored_statements import document, keep_sealed, plan_of
from tests.support.system import World, opened

LINE = "/threads/lines/shop%23e0/messages"


@pytest.fixture
def sold(world: World) -> World:
    """The system with a sale, sealed in a report."""
    seal_a_sale(world)
    return world


@pytest.fixture(scope="module")
def untouched() -> Iterator[World]:
    """The same system, shared by the tests that change nothing."""
    with opened() as world:
        seal_a_sale(world)
        yield world


def seal_a_sale(world: World) -> None:
    world.sell("12.50")
    world.pass_time(hours=1)
    world.report()


def send_message(world: World, path: str = LINE, **body: Any) -> Response:
    content = json.dumps({"id": "m-1", "user": "ann", "text": "Where is the refund?", **body}).encode()
    return world.stack.request(Request("POST", path, headers=(("Content-Type", "application/json"),), body=content))


def test_a_message_and_its_retry_get_the_same_stored_message(sold: World) -> None:
    first, again = send_message(sold), send_message(sold)
    assert (first.status, again.status) == (201, 200)
    assert first.json() == again.json() == {
        "user": "ann", "at": "2026-10-23T02:30:00.000Z", "id": "m-1", "text": "Where is the refund?",
    }  # fmt: skip
    assert sold.read(LINE) == {"items": [first.json()], "next": None, "previous": None}


def test_another_text_under_the_same_id_is_a_conflict(sold: World) -> None:
    assert send_message(sold).status == 201
    response = send_message(sold, text="Something else")
    assert (response.status, response.headers["content-type"]) == (409, "application/problem+json")
    assert len(sold.read(LINE)["items"]) == 1


def test_messages_can_be_paged_forward_and_back(sold: World) -> None:
    for number in range(5):
        send_message(sold, id=f"m-{number}", user="ann" if number % 2 else "bob", text=f"text {number}")
        sold.clock.advance_to(sold.clock.now().replace(second=number + 1))
    first = sold.read(LINE, order="newest", limit=2)
    second = sold.read(LINE, order="newest", limit=2, next=first["next"])
    assert [one["id"] for one in first["items"] + second["items"]] == ["m-4", "m-3", "m-2", "m-1"]
    assert sold.read(LINE, order="newest", limit=2, next=second["previous"])["items"] == first["items"]
    assert [one["id"] for one in sold.read(LINE, user="ann", period="2026-10-23")["items"]] == ["m-1", "m-3"]
    assert sold.read(LINE, period="2025")["items"] == []


def test_a_message_belongs_to_the_named_order_and_no_other(world: World) -> None:
    place(world, "50%")
    assert send_message(world, "/threads/orders/50%252525/messages").status == 404
    assert world.read("/threads/orders/50%25/messages")["items"] == []
    place(world, "50%25")
    assert send_message(world, "/threads/orders/50%252525/messages").status == 201
    assert world.read("/threads/orders/50%2525/messages")["items"] == []
    assert len(world.read("/threads/orders/50%252525/messages")["items"]) == 1


def test_messages_about_a_report_are_under_its_run(sold: World) -> None:
    (run,) = [one["run"] for one in sold.read("/reports")["items"]][:1]
    assert send_message(sold, f"/threads/reports/{run}/messages").status == 201
    assert len(sold.read(f"/threads/reports/{run}/messages")["items"]) == 1
    assert sold.read(LINE)["items"] == []


def test_messages_about_an_agency_need_a_registration_or_an_account(sold: World) -> None:
    body = json.dumps({"seen": 0, "content": {"legal_name": "Harbour Books Ltd"}}).encode()
    kind = (("Content-Type", "application/json"),)
    assert sold.stack.request(Request("PUT", "/agencies/a%252Fb", "", kind, body)).status == 201
    for agency in ("42", "a%252Fb"):
        path = f"/threads/agencies/{agency}/messages"
        assert (send_message(sold, path).status, send_message(sold, path).status) == (201, 200)
        assert len(sold.read(path)["items"]) == 1
    assert send_message(sold, "/threads/agencies/4/messages").status == 404
    assert sold.read(LINE)["items"] == []


def test_messages_about_a_statement_are_under_its_agency_currency_and_period(sold: World) -> None:
    path = "/threads/statements/42%23GBP%232026-09/messages"
    assert send_message(sold, path).status == 404, "the period is not sealed yet"
    keep_sealed(sold, plan_of("2026-09", bound="202610230200"), document("42"))
    assert send_message(sold, path).status == 201
    assert len(sold.read(path)["items"]) == 1
    assert sold.missing("/threads/statements/42%23EUR%232026-09/messages")


@cases(
    "path",
    [
        "/threads/lines/shop%23nothing/messages",
        "/threads/lines/shop/messages",
        "/threads/lines/a%23b%23c/messages",
        "/threads/orders/nothing/messages",
        "/threads/reports/2020-01-01T0000-0100/messages",
        f"/threads/reports/{quote('../../secret', safe='')}/messages",
        "/threads/people/ann/messages",
        "/threads/agencies/43/messages",
        "/threads/agencies/42%23GBP/messages",
        "/threads/statements/42%23GBP%232026-10/messages",
        "/threads/statements/42%23GBP/messages",
        "/threads/statements/42%23GBP%23October/messages",
        f"/threads/statements/{'x' * 1100}%23GBP%232026-10/messages",
    ],
)
def test_a_thread_about_a_missing_subject_is_not_found(untouched: World, path: str) -> None:
    assert send_message(untouched, path).status == 404
    assert untouched.missing(path)


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [("text/plain", b"{}", 415), ("application/json", b"{", 400), ("application/json", b"[]", 400),
     ("application/json", b'"' + b"x" * 1_000_001 + b'"', 413)],
)  # fmt: skip
def test_an_unreadable_body_is_refused(untouched: World, content_type: str, body: bytes, status: int) -> None:
    request = Request("POST", LINE, headers=(("Content-Type", content_type),), body=body)
    response = untouched.stack.request(request)
    assert (response.status, response.headers["content-type"]) == (status, "application/problem+json")


def test_messages_are_read_from_the_oldest_on_unless_the_newest_are_requested(sold: World) -> None:
    ids = ["m-0", "m-1", "m-2"]
    for id_ in ids:
        send_message(sold, id=id_)
        sold.clock.advance(timedelta(minutes=1))
    orders = {order: [one["id"] for one in sold.read(LINE, order=order)["items"]] for order in ("oldest", "newest")}
    assert orders == {"oldest": ids, "newest": ids[::-1]}
    assert [one["id"] for one in sold.read(LINE)["items"]] == ids
    assert sold.refused(LINE, order="random")["expected"] == "one of oldest, newest"
