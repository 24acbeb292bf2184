"""What becomes of a statement over HTTP: its status, disputes of its lines, and corrections that resolve them."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour.statements.status.store import StatementStatusStore
from quarterhour_tools.emulator.faults import FaultKind, Killed
from quarterhour_tools.emulator.http_api import Response
from tests.handlers.desk import send
from tests.support.copies import OnACopy
from tests.support.events import adjustment, refund, sale, void
from tests.support.requests import post
from tests.support.stored_statements import (
    document,
    end_of_october,
    keep_sealed,
    plan_of,
    register,
    seal_statements,
)
from tests.support.system import World, faulty, opened
from tests.support.tables import items

OCTOBER = "/statements/42/GBP/2026-10"
STATUS = f"{OCTOBER}/status"
DISPUTES = f"{OCTOBER}/disputes"


@pytest.fixture(scope="module")
def with_a_statement() -> Iterator[World]:
    """The system with a statement: agency 42 sold e0 and e1, agency 43 sold e2; then 42 sold e3, which is on none."""
    with opened() as world:
        for amount, agency in (("100.00", "42"), ("50.00", "42"), ("7.00", "43")):
            world.sell(amount, agency=agency)
        world.pass_time(hours=1)
        keep_sealed(world, plan_of(bound="202610230145"), document("42"), document("43"))
        world.sell("3.00")
        world.drain()
        yield world


@pytest.fixture
def world(with_a_statement: World, on_a_copy: OnACopy) -> Iterator[World]:
    """The system with a statement, for one test."""
    with on_a_copy(with_a_statement):
        yield with_a_statement


def test_a_statement_that_is_not_answered_is_accepted_by_silence() -> None:
    """Issued on 1 November at 00:30 in UTC; the agency can dispute it until 1 December."""
    with end_of_october({"acceptance_days": 30}) as world:
        world.sell("100.00")
        register(world, "42")
        seal_statements(world)
        assert (world.read(OCTOBER)["status"], world.read(OCTOBER)["may_become"]) == (
            "issued",
            ["accepted", "disputed"],
        )
        assert [one["dispute_until"] for one in (world.read(OCTOBER), *world.read("/statements")["items"])] == [
            "2026-12-01",
            "2026-12-01",
        ]
        (file,) = (one for one in world.read(OCTOBER)["files"] if one["key"].endswith("statement.json"))
        assert json.loads(world.stack.bucket.open(file["key"]).read())["dispute_until"] == "2026-12-01"
        world.clock.advance(timedelta(days=30, hours=23))
        assert world.read(OCTOBER)["status"] == "issued"
        world.clock.advance(timedelta(minutes=30))
        found = world.read(OCTOBER)
        assert (found["status"], found["changes"], found["may_become"]) == ("accepted", 1, [])
        assert (found["history"][0]["by"], found["history"][0]["at"]) == ("silence", "2026-12-02T00:00:00.000Z")
        assert [one["number"] for one in world.read("/statements", status="accepted")["items"]] == ["S-000001"]
        assert world.read("/statements", status="issued", agency="42")["items"] == []
        for answer in (set_status(world, "disputed"), set_status(world, "accepted", 1), dispute(world)):
            assert answer.status == 409
            assert "was accepted by silence at 2026-12-02T00:00:00.000Z" in answer.json()["detail"]


def set_status(world: World, status: str, seen: int = 0, reason: str = "checked", path: str = STATUS) -> Response:
    return send(world, "PUT", path, {"status": status, "reason": reason, "seen": seen})


def dispute(world: World, id_: str = "e0", reason: str = "returned", path: str = DISPUTES) -> Response:
    return send(world, "POST", path, {"source": "shop", "id": id_, "reason": reason})


def resolve(world: World, id_: str = "e0", reason: str = "agreed") -> Response:
    return send(world, "PUT", f"{DISPUTES}/shop/{id_}", {"reason": reason})


def as_person(world: World, method: str, path: str, body: object, **claims: str) -> Any:
    """Return the status and the body of the response to a person, whose request the API for people has admitted."""
    parts = path.split("/")
    variables = dict(zip(("agency", "currency", "period"), parts[2:5], strict=True))
    template = "/statements/{agency}/{currency}/{period}/" + parts[5]
    if len(parts) > 6:
        variables |= {"source": parts[6], "event": parts[7]}
        template += "/{source}/{event}"
    event = {
        "version": "2.0",
        "routeKey": f"{method} {template}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json"},
        "pathParameters": variables,
        "requestContext": {
            "http": {"method": method, "path": path},
            "stage": "$default",
            "requestId": "r",
            "authorizer": {"jwt": {"claims": {"sub": "ann", "agency": "42", **claims}, "scopes": None}},
        },
        "body": json.dumps(body),
        "isBase64Encoded": False,
    }
    response = world.stack.invoke("write", event)
    return response["statusCode"], json.loads(response["body"])


def watch(world: World) -> Any:
    return world.stack.invoke("watch", {})["disputes"]


def stored(world: World) -> list[dict[str, Any]]:
    return [one for one in items(world, "EntityTable") if one["pk"].startswith(("STATEMENTS#", "DISPUTES#"))]


# ---------------------------------------------------------------- the status


def test_a_statement_is_accepted_with_a_reason_and_its_history_is_kept(world: World) -> None:
    response = set_status(world, "accepted")
    found = response.json()
    assert (response.status, found["status"], found["changes"]) == (200, "accepted", 1)
    (change,) = found["history"]
    assert (change["party"], change["at"], change["reason"]) == ("marketplace", "2026-10-23T02:30:00.000Z", "checked")
    assert world.read(OCTOBER).items() >= {name: found[name] for name in ("status", "changes", "history")}.items()
    assert [one["status"] for one in world.read("/statements", agency="42")["items"]] == ["accepted"]
    assert [one["agency"] for one in world.read("/statements", status="issued")["items"]] == ["43"]


def test_no_change_touches_the_sealed_statement_or_an_earlier_change(world: World) -> None:
    before = stored(world)
    set_status(world, "disputed")
    after = stored(world)
    set_status(world, "resolved", 1)
    assert all(one in after for one in before)
    assert all(one in stored(world) for one in after)
    assert len(stored(world)) == len(before) + 2


def test_a_retry_returns_the_same_history_and_writes_nothing(world: World) -> None:
    first = set_status(world, "disputed")
    before = stored(world)
    assert set_status(world, "disputed").json() == first.json()
    assert set_status(world, "resolved", 1).status == 200
    assert set_status(world, "disputed").json()["status"] == "resolved", "a late retry of what was overtaken since"
    assert len(stored(world)) == len(before) + 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"status": "accepted"}, "has 1 changes"),
        ({"reason": "for another reason"}, "has 1 changes"),
        ({"seen": 7}, "has 1 changes"),
    ],
)
def test_a_change_after_others_than_were_seen_is_a_conflict(
    world: World, changed: dict[str, Any], message: str
) -> None:
    assert set_status(world, "disputed").status == 200
    response = send(world, "PUT", STATUS, {"status": "disputed", "reason": "checked", "seen": 0, **changed})
    assert (response.status, response.json()["title"]) == (409, "Conflict")
    assert message in response.json()["detail"]
    assert response.json()["errors"][0]["expected"] == "1, once you have read the changes"


@pytest.mark.parametrize(
    ("before", "status", "expected"),
    [
        ([], "resolved", "accepted or disputed"),
        ([], "issued", "accepted or disputed"),
        (["accepted"], "disputed", "no change"),
        (["disputed"], "accepted", "resolved"),
        (["disputed", "resolved"], "disputed", "no change"),
    ],
)
def test_a_status_that_cannot_follow_is_a_conflict_that_says_what_can(
    world: World, before: list[str], status: str, expected: str
) -> None:
    for number, one in enumerate(before):
        assert set_status(world, one, number).status == 200
    response = set_status(world, status, len(before))
    assert response.status == 409
    assert response.json()["errors"][0]["expected"].startswith(f"{expected}, as the statement is")


def overtaken(monkeypatch: pytest.MonkeyPatch, other: Callable[[], Response]) -> None:
    """Let another request be carried out between the reads and the write of the next one."""
    plain = StatementStatusStore.record

    def record(*arguments: Any) -> None:
        monkeypatch.undo()
        assert other().status in {200, 201}
        plain(*arguments)

    monkeypatch.setattr(StatementStatusStore, "record", record)


def test_of_two_changes_at_once_the_later_one_is_a_conflict(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    overtaken(monkeypatch, lambda: set_status(world, "accepted"))
    assert set_status(world, "disputed").status == 409
    assert world.read(OCTOBER)["status"] == "accepted"


def test_a_change_of_a_statement_that_does_not_exist_is_not_found(world: World) -> None:
    assert set_status(world, "accepted", path="/statements/42/GBP/2026-11/status").status == 404
    assert set_status(world, "accepted", path="/statements/44/GBP/2026-10/status").status == 404


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["status", "reason", "seen"]),
        ({"status": "paid", "reason": "", "seen": -1}, ["status", "reason", "seen"]),
        ({"status": "accepted", "reason": "ok", "seen": 0, "by": "me"}, ["by"]),
    ],
)
def test_a_change_names_each_field_that_is_wrong(world: World, body: object, fields: list[str]) -> None:
    response = send(world, "PUT", STATUS, body)
    assert (response.status, [one["field"] for one in response.json()["errors"]]) == (400, fields)


# ---------------------------------------------------------------- people


def test_people_accept_and_dispute_statements_of_their_own_agency_under_their_own_name(world: World) -> None:
    status, found = as_person(world, "PUT", STATUS, {"status": "disputed", "reason": "too much", "seen": 0})
    assert (status, found["history"][0]["by"], found["history"][0]["party"]) == (200, "ann", "agency")
    assert as_person(world, "PUT", STATUS, {"status": "resolved", "reason": "paid", "seen": 1})[0] == 403
    assert set_status(world, "resolved", 1).status == 200
    _, found = as_person(world, "PUT", STATUS, {"status": "disputed", "reason": "too much", "seen": 0})
    assert ["by" in one for one in found["history"]] == [True, False], "people see no operators"
    assert as_person(world, "PUT", STATUS, {"status": "disputed", "reason": "too much", "seen": 0}, sub="bob")[0] == 409


def test_people_of_another_agency_change_nothing(world: World) -> None:
    before = stored(world)
    change = {"status": "accepted", "reason": "ok", "seen": 0}
    line = {"source": "shop", "id": "e0", "reason": "mine"}
    assert as_person(world, "PUT", STATUS, change, agency="43")[0] == 403
    assert as_person(world, "POST", DISPUTES, line, agency="43")[0] == 403
    assert as_person(world, "PUT", f"{DISPUTES}/shop/e0", {"reason": "no"})[0] == 403
    assert stored(world) == before


# ---------------------------------------------------------------- disputes


def test_a_disputed_line_disputes_its_statement_and_names_the_path_of_its_messages(world: World) -> None:
    response = dispute(world)
    found = response.json()
    assert (response.status, found["status"], found["opened"]["reason"]) == (201, "open", "returned")
    assert (dispute(world).status, dispute(world).json()) == (200, found)
    october = world.read(OCTOBER)
    assert (october["status"], october["history"][0]["line"]) == ("disputed", {"source": "shop", "id": "e0"})
    assert world.read("/disputes")["items"] == world.read("/disputes", agency="42")["items"] == [found]
    assert world.read("/disputes", agency="43")["items"] == world.read("/disputes", status="resolved")["items"] == []
    message = {"id": "m-1", "user": "ann", "text": "It came back on Monday."}
    assert send(world, "POST", found["thread"], message).status == 201
    assert len(world.read(found["thread"])["items"]) == 1


def test_the_path_of_the_messages_about_a_line_holds_for_names_with_slashes() -> None:
    with end_of_october() as world:
        event = sale("50%/1", "10.00") | {"source": "https://shop.example"}
        assert post(world, event).status == 202
        register(world, "42")
        seal_statements(world)
        line = {"source": "https://shop.example", "id": "50%/1", "reason": "what is this?"}
        response = send(world, "POST", DISPUTES, line)
        assert response.status == 201, response.body
        assert world.read(response.json()["thread"])["items"] == []
        path = "/".join(quote(quote(name, safe=""), safe="") for name in ("https://shop.example", "50%/1"))
        assert send(world, "PUT", f"{DISPUTES}/{path}", {"reason": "it is a sale"}).status == 200


@pytest.mark.parametrize("id_", ["e2", "e3", "none"])
def test_a_line_of_another_account_or_statement_is_not_found(world: World, id_: str) -> None:
    response = dispute(world, id_)
    assert (response.status, "has no line of that event" in response.json()["detail"]) == (404, True)
    assert as_person(world, "POST", DISPUTES, {"source": "shop", "id": id_, "reason": "mine"})[0] == 404
    assert world.read(OCTOBER)["status"] == "issued"


def test_a_line_is_disputed_once(world: World) -> None:
    assert dispute(world).status == 201
    assert "its dispute is open" in dispute(world, reason="another").json()["detail"]
    assert resolve(world).status == 200
    assert "its dispute is resolved" in dispute(world, reason="another").json()["detail"]


def test_a_line_of_a_statement_that_is_accepted_cannot_be_disputed(world: World) -> None:
    assert set_status(world, "accepted").status == 200
    assert dispute(world).status == 409


def test_the_last_resolved_line_resolves_the_statement(world: World) -> None:
    assert [dispute(world, id_).status for id_ in ("e0", "e1")] == [201, 201]
    assert "has 2 open disputes" in set_status(world, "resolved", 2).json()["detail"]
    first = resolve(world, "e0")
    assert (first.status, first.json()["status"], first.json()["resolved"]["reason"]) == (200, "resolved", "agreed")
    assert world.read(OCTOBER)["status"] == "disputed"
    assert "has 1 open dispute:" in set_status(world, "resolved", 3).json()["detail"]
    assert resolve(world, "e1").status == 200
    found = world.read(OCTOBER)
    assert (found["status"], found["changes"]) == ("resolved", 4)
    assert [one["id"] for one in world.all("/disputes", status="resolved", limit=1)] == ["e0", "e1"]
    assert world.read("/disputes")["items"] == []


def test_a_resolved_line_does_not_resolve_a_statement_that_was_disputed_itself(world: World) -> None:
    assert set_status(world, "disputed", reason="the tax is wrong").status == 200
    assert dispute(world).status == 201
    assert resolve(world).status == 200
    assert world.read(OCTOBER)["status"] == "disputed"
    assert set_status(world, "resolved", seen=3, reason="the tax is right").json()["status"] == "resolved"


def test_a_line_that_is_disputed_while_the_last_other_one_is_resolved_keeps_the_statement_disputed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispute(world, "e0")
    overtaken(monkeypatch, lambda: dispute(world, "e1"))
    assert resolve(world, "e0").status == 200
    assert world.read(OCTOBER)["status"] == "disputed"
    assert resolve(world, "e1").status == 200
    assert world.read(OCTOBER)["status"] == "resolved"


def test_a_resolution_is_repeated_without_effect_and_other_ones_conflict(world: World) -> None:
    dispute(world)
    first = resolve(world)
    before = stored(world)
    assert resolve(world).json() == first.json()
    assert (resolve(world, reason="changed my mind").status, resolve(world, "e1").status) == (409, 404)
    assert stored(world) == before


@pytest.mark.slow
@pytest.mark.parametrize("death", [FaultKind.KILL_BEFORE, FaultKind.KILL_AFTER, FaultKind.RESET_AFTER])
@pytest.mark.parametrize("call", range(6))
def test_a_dispute_that_crashed_at_any_call_may_be_repeated(death: FaultKind, call: int) -> None:
    with faulty() as (world, faults):
        keep_sealed(world, plan_of(), document())
        world.sell("10.00")
        before = stored(world)
        faults.arm(death, call)
        with suppress(Killed), faults.at_work():
            dispute(world)
        assert faults.struck
        assert len(stored(world)) in {len(before), len(before) + 2}
        world.stack.cold_start("write")
        assert dispute(world).status in {200, 201}
        assert len(stored(world)) == len(before) + 2


# ---------------------------------------------------------------- corrections


@pytest.mark.parametrize(
    "correction",
    [refund("r1", "-1", of="e0"), void("v1", of="e0"), adjustment("a1", "-1", of="e0")],
    ids=["refund", "void", "adjustment"],
)
def test_a_correction_that_is_recorded_later_resolves_the_dispute(world: World, correction: dict[str, Any]) -> None:
    assert [dispute(world, id_).status for id_ in ("e0", "e1")] == [201, 201]
    assert watch(world) == {"resolved": 0, "open": 2}
    world.pass_time(minutes=1)
    assert post(world, correction).status == 202
    before = world.read(OCTOBER)
    assert watch(world) == {"resolved": 1, "open": 1}
    (resolved,) = world.read("/disputes", status="resolved")["items"]
    assert resolved["correction"] == {"source": "shop", "id": correction["id"]}
    assert resolved["resolved"]["reason"] == f"corrected: {correction['type']}"
    after = world.read(OCTOBER)
    assert (after["status"], after["history"][-1]["correction"]) == ("disputed", resolved["correction"])
    figures = ("closing", "commission", "lines", "number")
    assert [after[name] for name in figures] == [before[name] for name in figures]
    assert after["files"][0]["sha256"] == before["files"][0]["sha256"]
    assert resolve(world, "e1").status == 200
    assert world.read(OCTOBER)["status"] == "resolved"
    assert watch(world) == {"resolved": 0, "open": 0}


def test_a_correction_of_before_the_dispute_or_of_another_line_resolves_nothing(world: World) -> None:
    post(world, refund("early", "-1", of="e0"))
    world.pass_time(minutes=1)
    assert dispute(world).status == 201
    world.pass_time(minutes=1)
    post(world, refund("other", "-1", of="e1"))
    assert watch(world) == {"resolved": 0, "open": 1}


def test_the_next_statement_shows_the_correction() -> None:
    with end_of_october() as world:
        world.sell("100.00")
        register(world, "42")
        seal_statements(world)
        assert dispute(world).status == 201
        world.pass_time(minutes=1)
        post(world, void("v1", of="e0"))
        assert watch(world)["resolved"] == 1
        world.drain()
        october, preview = world.read(OCTOBER), world.read("/statements/42/GBP/2026-11")
        assert (october["closing"], october["status"]) == ("12.50", "resolved")
        assert (preview["opening"], preview["refunds"], preview["closing"]) == ("12.50", "-100.00", "0.00")


def test_a_disputed_refund_is_resolved_by_a_correction_of_its_sale() -> None:
    with end_of_october() as world:
        post(world, [sale("s1", "100"), refund("r1", "-10", of="s1")])
        register(world, "42")
        seal_statements(world)
        assert dispute(world, "r1").status == 201
        world.pass_time(minutes=1)
        post(world, refund("r2", "-5", of="s1"))
        assert watch(world) == {"resolved": 1, "open": 0}
        assert world.read(OCTOBER)["status"] == "resolved"


def test_each_tick_goes_on_behind_the_disputes_that_the_last_one_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for id_ in ("e0", "e1"):
        dispute(world, id_)
        world.pass_time(minutes=1)
    post(world, refund("r1", "-1", of="e1"))
    monkeypatch.setattr("quarterhour.statements.status.service.MOST", 1)
    assert [watch(world)["resolved"] for _ in range(3)] == [0, 1, 0]
    assert [one["id"] for one in world.read("/disputes")["items"]] == ["e0"]


@pytest.mark.slow
@pytest.mark.parametrize("death", [FaultKind.KILL_BEFORE, FaultKind.KILL_AFTER, FaultKind.RESET_AFTER])
def test_the_watch_may_die_at_any_call_while_it_resolves_a_dispute(
    death: FaultKind, record_property: Callable[[str, object], None]
) -> None:
    with faulty() as (world, faults):
        for call in count():
            agency = f"agency-{call}"
            statement = f"/statements/{agency}/GBP/2026-10"
            world.sell("10.00", agency=agency)
            keep_sealed(world, plan_of(), document(agency))
            assert dispute(world, f"e{call}", path=f"{statement}/disputes").status == 201
            world.pass_time(minutes=1)
            post(world, refund(f"r{call}", "-1", of=f"e{call}", agency=agency))
            faults.arm(death, call)
            with suppress(Killed), faults.at_work():
                watch(world)
            struck = len(faults.struck) > call
            world.stack.cold_start("watch")
            watch(world)
            world.drain()
            found = world.read(statement)
            assert (found["status"], found["changes"]) == ("resolved", 2), call
            assert world.read("/disputes")["items"] == []
            if not struck:
                break
        record_property(f"{death.value} while the watch resolves a dispute", f"{call} calls, 0 violations")
