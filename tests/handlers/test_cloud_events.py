"""POST /events in every mode of CloudEvents, as the official SDK sends it, and as NDJSON."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

from quarterhour_tools.emulator.faults import FaultKind, Killed
from quarterhour_tools.emulator.http_api import Request, Response
from tests.support.events import refund, sale
from tests.support.requests import BATCH, LINES, ONE, post, receipt, verdicts
from tests.support.system import World, faulty, opened
from tests.support.tables import items, ledger

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-{:016x}-01"
DAY = {"from_": "2026-10-23", "to": "2026-10-24"}


def made(id_: str = "order-1", data: Any = None, **attributes: Any) -> CloudEvent:
    """Return a sale as an event of the SDK."""
    given = {"id": id_, "source": "shop", "type": "sale.recorded", "subject": "42", **attributes}
    time = datetime(2026, 10, 23, 1, 29, tzinfo=UTC)
    return CloudEvent({"time": time, **given}, data if data is not None else sale()["data"])


def send(world: World, message: HTTPMessage) -> Response:
    """Send a message of the SDK."""
    return world.stack.request(Request("POST", "/events", headers=tuple(message.headers.items()), body=message.body))


def structured(event: CloudEvent) -> HTTPMessage:
    return to_structured_event(event)


def binary(event: CloudEvent) -> HTTPMessage:
    event.get_attributes()["datacontenttype"] = "application/json"
    return to_binary_event(event)


def in_base64(event: CloudEvent) -> HTTPMessage:
    """Return a message with the data as bytes, which the SDK sends in Base64."""
    return to_structured_event(CloudEvent(event.get_attributes(), json.dumps(event.get_data()).encode()))


def batch(*events: CloudEvent) -> HTTPMessage:
    return HTTPMessage({"content-type": BATCH}, b"[%s]" % b",".join(to_structured_event(one).body for one in events))


def lines(*events: CloudEvent) -> HTTPMessage:
    return HTTPMessage({"content-type": LINES}, b"\n".join(to_structured_event(one).body for one in events))


Mode = Callable[[CloudEvent], HTTPMessage]
MODES: list[Mode] = [structured, binary, in_base64, batch, lines]


@pytest.mark.parametrize("mode", MODES)
def test_an_event_of_the_sdk_is_recorded_in_every_mode_with_its_attributes(world: World, mode: Mode) -> None:
    attributes = {"traceparent": TRACE.format(1), "dataschema": "https://shop.example/sale", "note": 'Zoë "7" 100%'}
    response = send(world, mode(made(id_="№ 7, 50% off", subject="Café Lumière", **attributes)))
    assert (response.status, verdicts(response)) == (202, ["recorded"])
    (posting,) = ledger(world)
    assert (posting["id"], posting["agency"], posting["amount"]) == ("№ 7, 50% off", "Café Lumière", "12.50")
    assert posting["time"] == "2026-10-23T01:29:00Z"
    assert json.loads(posting["attributes"]) == attributes


def test_the_same_event_in_another_mode_is_a_duplicate(world: World) -> None:
    first = receipt(send(world, structured(made())))
    for mode in MODES:
        again = send(world, mode(made()))
        assert (verdicts(again), receipt(again)) == (["duplicate"], first)


def test_a_retry_with_another_trace_is_a_duplicate_and_the_first_trace_stays(world: World) -> None:
    first = receipt(send(world, binary(made(traceparent=TRACE.format(1)))))
    for mode in MODES:
        again = send(world, mode(made(traceparent=TRACE.format(2), tracestate="a=1")))
        assert (verdicts(again), receipt(again)) == (["duplicate"], first)
    assert verdicts(send(world, structured(made()))) == ["duplicate"]
    assert [json.loads(one["attributes"]) for one in ledger(world)] == [{"traceparent": TRACE.format(1)}]


def test_a_trace_does_not_hide_that_the_content_is_another(world: World) -> None:
    send(world, binary(made(traceparent=TRACE.format(1))))
    other = made(data={**sale()["data"], "amount": "99.00"}, traceparent=TRACE.format(1))
    assert verdicts(send(world, binary(other))) == ["conflict"]


def test_of_two_tries_in_one_request_the_first_one_gives_the_attributes(world: World) -> None:
    tries = [made(traceparent=TRACE.format(number)) for number in (1, 2)]
    assert verdicts(send(world, batch(*tries))) == ["recorded", "duplicate"]
    assert json.loads(ledger(world)[0]["attributes"]) == {"traceparent": TRACE.format(1)}


@pytest.mark.parametrize("seconds", [0, 3 * 3600])
def test_a_retry_after_a_crash_appends_the_attributes_that_were_claimed(seconds: int) -> None:
    """The first try may still append; whichever does, the posting has the same bytes."""
    with faulty() as (world, faults):
        post(world, sale("before"))  # the process is warm: its control items are set
        faults.arm(FaultKind.KILL_AFTER, after=1)
        with pytest.raises(Killed), faults.at_work():
            send(world, structured(made(traceparent=TRACE.format(1))))
        world.stack.cold_start("ingest")
        assert len(ledger(world)) == 1
        world.clock.advance(timedelta(seconds=seconds))
        assert verdicts(send(world, structured(made(traceparent=TRACE.format(2))))) == ["duplicate"]
        (posting,) = (one for one in ledger(world) if one["id"] == "order-1")
        assert json.loads(posting["attributes"]) == {"traceparent": TRACE.format(1)}


def test_a_claim_of_an_earlier_version_is_completed_without_attributes(world: World) -> None:
    """What an earlier version claimed, it may be appending: a retry that has attributes must not add them."""
    post(world, sale())
    (claim,) = items(world, "IdentityTable")
    assert "attributes" not in claim
    table = world.stack.ref("LedgerTable")
    (posting,) = ledger(world)
    key = {name: {"S": posting[name]} for name in ("quarter_hour", "position")}
    world.stack.dynamodb.delete_item(TableName=table, Key=key)
    assert verdicts(post(world, {**sale(), "traceparent": TRACE.format(1)})) == ["duplicate"]
    assert ledger(world) == [posting]


def test_a_held_event_keeps_its_attributes_and_is_posted_with_them(world: World) -> None:
    trace = {"traceparent": TRACE.format(1)}
    assert verdicts(post(world, {**refund("r1", "-2"), **trace})) == ["held"]
    assert verdicts(post(world, {**refund("r1", "-2"), "traceparent": TRACE.format(2)})) == ["held"]
    (held,) = world.read("/held")["items"]
    assert json.loads(held["event"]["attributes"]) == trace
    post(world, sale())
    assert world.stack.invoke("watch", {})["held"]["posted"] == 1
    (posting,) = (one for one in ledger(world) if one["id"] == "r1")
    assert json.loads(posting["attributes"]) == trace


# ---------------------------------------------------------------- reading


@pytest.fixture(scope="module")
def sealed() -> Iterator[World]:
    """A system that has sealed an event with attributes, its refund with others, and an event without."""
    with opened() as world:
        first = {**sale(extra={"gift": True}), "traceparent": "00-1", "rank": 7}
        post(world, [first, {**refund("r1", "-2"), "dataschema": "urn:x:y"}, sale("plain")])
        world.pass_time(hours=1)
        world.report()
        yield world


EXPECTED = {"order-1": '{"rank":7,"traceparent":"00-1"}', "r1": '{"dataschema":"urn:x:y"}'}


def test_attributes_are_shown_where_extra_is(sealed: World) -> None:
    listed = {one["id"]: one.get("attributes") for one in sealed.read("/events", **DAY)["items"]}
    assert listed == {**EXPECTED, "plain": None}
    assert sealed.read("/events/shop/order-1")["attributes"] == EXPECTED["order-1"]
    story = sealed.read("/events/shop/order-1/story")["items"]
    assert {one["id"]: one["attributes"] for one in story} == EXPECTED
    of_source = sealed.read("/sources/shop/events", **DAY)["items"]
    assert {one["id"]: one.get("attributes") for one in of_source} == {**EXPECTED, "plain": None}


def test_attributes_are_a_column_of_sealed_lines(sealed: World) -> None:
    (key,) = (key for key in sealed.stack.bucket.keys() if key.endswith("lines.csv.gz"))  # noqa: SIM118 - no dict
    with sealed.stack.bucket.open(key) as file:
        rows = list(csv.DictReader(io.StringIO(gzip.decompress(file.read()).decode())))
    assert {row["id"]: row["attributes"] for row in rows} == {**EXPECTED, "plain": ""}


# ---------------------------------------------------------------- lines


def test_lines_have_verdicts_of_their_own_and_the_numbers_of_their_lines(world: World) -> None:
    post(world, sale("known"))
    sent = [sale("a"), "", sale("known"), sale("known", amount="99.00"), sale("b", amount="x"), sale("a")]
    body = "\r\n".join(json.dumps(one) if one else "" for one in sent) + '\n{"id": "cut o'
    response = post(world, body, LINES)
    assert response.status == 207
    found = [(one["line"], one["index"], one["verdict"]) for one in response.json()["items"]]
    assert found == [
        (1, 0, "recorded"),
        (3, 1, "duplicate"),
        (4, 2, "conflict"),
        (5, 3, "rejected"),
        (6, 4, "duplicate"),
        (7, 5, "rejected"),
    ]
    last = response.json()["items"][-1]
    assert (last["source"], last["id"]) == (None, None)
    assert last["errors"][0]["problem"].startswith("is not JSON: Unterminated string")
    assert {one["id"] for one in ledger(world)} == {"a", "known"}


def test_500_lines_are_recorded_and_501_are_refused_as_a_whole(world: World) -> None:
    sent = [json.dumps(sale(str(number))) for number in range(501)]
    refused = post(world, "\n".join(sent), LINES)
    assert (refused.status, refused.json()["errors"][0]["problem"]) == (413, "holds 501 events")
    assert ledger(world) == []
    assert post(world, "\n".join(sent[:500]), LINES).json()["counts"] == {"recorded": 500}


# ---------------------------------------------------------------- bad input


@pytest.fixture(scope="module")
def empty() -> Iterator[World]:
    """A system whose tables stay empty."""
    with opened() as world:
        yield world


BOMB = gzip.compress(b" " * 5_000_000)
REFUSED: dict[str, tuple[tuple[tuple[str, str], ...], bytes, int, str]] = {
    "gzip": ((("content-type", ONE), ("content-encoding", "gzip")), BOMB, 415, "content-encoding"),
    "gzip without a word": ((("content-type", ONE),), BOMB, 400, "body"),
    "headers without a content type": ((("ce-id", "1"),), b"{}", 415, "content-type"),
    "headers with XML": ((("ce-id", "1"), ("content-type", "application/xml")), b"<a/>", 415, "content-type"),
    "headers with another format": (
        (("ce-id", "1"), ("content-type", "application/cloudevents+avro")),
        b"",
        415,
        "content-type",
    ),
    "headers with data that is not JSON": ((("ce-id", "1"), ("content-type", "application/json")), b"{", 400, "body"),
    "headers with no data": ((("ce-id", "1"), ("content-type", "application/json")), b"", 400, "body"),
}


@pytest.mark.parametrize(("headers", "body", "status", "field"), REFUSED.values(), ids=REFUSED)
def test_a_request_that_is_no_cloud_event_is_refused_whole(
    empty: World, headers: tuple[tuple[str, str], ...], body: bytes, status: int, field: str
) -> None:
    response = empty.stack.request(Request("POST", "/events", headers=headers, body=body))
    assert (response.status, [one["field"] for one in response.json()["errors"]]) == (status, [field])
    assert [items(empty, table) for table in ("IdentityTable", "LedgerTable", "EntityTable")] == [[], [], []]


def test_a_header_that_is_sent_twice_is_no_second_event(empty: World) -> None:
    message = binary(made())
    twice = (*message.headers.items(), *message.headers.items())
    twice = tuple((name, value) for name, value in twice if name != "content-type")
    headers = (*twice, ("content-type", "application/json"))
    response = empty.stack.request(Request("POST", "/events", headers=headers, body=message.body))
    assert (response.status, verdicts(response)) == (422, ["rejected"])
    fields = [one["field"] for one in response.json()["items"][0]["errors"]]
    assert fields == ["specversion", "type", "time"]
