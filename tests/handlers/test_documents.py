"""Documents over HTTP: versions, exact contents, and permissions."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour_tools.emulator.http_api import Request, Response
from tests.handlers.desk import JSON, send
from tests.support.system import World
from tests.support.tables import items
from tests.unit.registry.rate_cards.builders import content

RULES = "/documents/house%20rules"
RATE_CARD = "/documents/rate-card:42"
PERSON = {"jwt": {"claims": {"sub": "ann", "agency": "42"}, "scopes": None}}


def write(world: World, path: str, seen: int, sent: object) -> Response:
    return send(world, "PUT", path, {"seen": seen, "content": sent})


def as_person(world: World, route: str, **variables: str) -> tuple[int, dict[str, Any]]:
    """Return the response to a request of a person of agency 42, sent as the API for people sends it."""
    event = {
        "version": "2.0",
        "routeKey": f"GET {route}",
        "rawPath": route,
        "rawQueryString": "",
        "headers": {},
        "pathParameters": variables,
        "requestContext": {
            "http": {"method": "GET", "path": route},
            "stage": "$default",
            "requestId": "r",
            "authorizer": PERSON,
        },
        "isBase64Encoded": False,
    }
    response = world.stack.invoke("read", event)
    return response["statusCode"], json.loads(response["body"])


# ---------------------------------------------------------------- writing


def test_a_document_is_written_and_read_back_in_every_version(world: World) -> None:
    first = write(world, RULES, 0, {"pets": "none"})
    world.pass_time(minutes=1)
    second = write(world, RULES, 1, {"pets": ["cats"]})
    assert (first.status, second.status) == (201, 201)
    assert world.read(RULES) == {**second.json(), "content": {"pets": ["cats"]}}
    assert world.read(f"{RULES}/versions/1") == {**first.json(), "content": {"pets": "none"}}
    assert world.read(f"{RULES}/versions") == {"items": [second.json(), first.json()], "next": None}
    assert first.json()["written_at"] == "2026-10-23T01:30:00.000Z"
    assert world.read(f"{RULES}/metadata") == {
        "document": "house rules",
        "kind": "document",
        "created_at": first.json()["written_at"],
        "created_by": first.json()["written_by"],
    }


def test_any_json_is_read_back_unchanged_with_its_numbers(world: World) -> None:
    sent = (
        '{"a": 1.10, "big": 12345678901234567890.12345678901234567890, "e": 1E+3, "t": "ü \\u2713", "n": [null, true]}'
    )
    body = f'{{"seen": 0, "content": {sent}}}'.encode()
    assert world.stack.request(Request("PUT", RULES, headers=JSON, body=body)).status == 201
    response = world.get(RULES).body
    for text in (b"1.10", b"12345678901234567890.1234567890", b"1E+3"):
        assert text in response
    assert json.loads(response)["content"] == json.loads(sent)


def test_the_owner_has_a_schema_and_a_kind_and_documents_of_similar_names_have_none(world: World) -> None:
    refused = write(world, "/documents/owner", 0, {"name": "Riverside", "logo": "https://example.org/logo.png"})
    fields = {error["field"] for error in refused.json()["errors"]}
    assert (refused.status, fields) == (400, {"content.legal_name", "content.logo", "content.name"})
    owner = {"legal_name": "Riverside Market Ltd", "country": "GB", "vat_id": "GB980780684"}
    assert write(world, "/documents/owner", 0, {**owner, "valid_from": "2026-11-01T00:00:00Z"}).status == 201
    (listed,) = world.read("/documents", kind="owner")["items"]
    assert (listed["document"], listed["kind"]) == ("owner", "owner")
    for name in ("owner2", "owners", "owner:7"):
        assert write(world, f"/documents/{name}", 0, "anything").status == 201, name


def test_a_draft_after_an_outdated_version_is_a_conflict_and_changes_nothing(world: World) -> None:
    for seen in range(2):
        write(world, RULES, seen, seen)
    before = items(world, "EntityTable")
    for seen in (0, 1, 5):
        response = write(world, RULES, seen, "mine")
        assert (response.status, response.json()["title"]) == (409, "Conflict")
        assert response.json()["errors"][0]["field"] == "seen"
    assert items(world, "EntityTable") == before


def test_the_same_draft_again_gets_the_response_of_the_first_try(world: World) -> None:
    first = write(world, RULES, 0, {"a": 1, "b": 2})
    world.pass_time(minutes=1)
    again = send(world, "PUT", RULES, {"content": {"b": 2, "a": 1}, "seen": 0})
    assert (first.status, again.status, again.json()) == (201, 200, first.json())


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"seen": 0}, "content"),
        ({"content": "a"}, "seen"),
        ({"seen": -1, "content": "a"}, "seen"),
        ({"seen": 0.5, "content": "a"}, "seen"),
        ({"seen": True, "content": "a"}, "seen"),
        ({"seen": 99_999_999, "content": "a"}, "seen"),
        ({"seen": 0, "content": "x" * 200_001}, "content"),
        ({"seen": 0, "content": "a", "author": "me"}, "author"),
    ],
)
def test_an_invalid_draft_is_refused_by_its_field(world: World, sent: object, field: str) -> None:
    response = send(world, "PUT", RULES, sent)
    assert (response.status, [one["field"] for one in response.json()["errors"]]) == (400, [field])
    assert items(world, "EntityTable") == []


def test_an_invalid_rate_card_is_refused(world: World) -> None:
    response = write(world, RATE_CARD, 0, content({"percent": "101"}))
    assert (response.status, response.json()["errors"][0]["field"]) == (400, "content.rules[0].percent")
    assert write(world, RATE_CARD, 0, content()).json()["valid_from"] == "2026-10-01T00:00:00Z"
    assert world.read(f"{RATE_CARD}/metadata")["kind"] == "rate-card"


def test_names_may_hold_slashes_and_percent_signs(world: World) -> None:
    for name in ("a/b", "50% off", "100%25", "rate-card:a/b%2F"):
        path = f"/documents/{quote(quote(name, safe=''), safe='')}"
        sent = content() if name.startswith("rate-card:") else name
        assert write(world, path, 0, sent).json()["document"] == name
        assert world.read(path)["document"] == name
    assert len({item["pk"] for item in items(world, "EntityTable")}) == 4


def test_an_invalid_name_or_version_is_refused_and_a_missing_one_is_not_found(world: World) -> None:
    write(world, RULES, 0, "a")
    for name in ("a%2523b", "x" * 217, "%0A"):
        assert world.refused(f"/documents/{name}")["field"] == "document"
    for version in ("0", "-1", "1.0", "01x", "100000000", "latest"):
        assert world.refused(f"{RULES}/versions/{version}")["field"] == "version"
    for path in ("/documents/none", "/documents/none/versions", "/documents/none/metadata", f"{RULES}/versions/2"):
        assert world.missing(path)


# ---------------------------------------------------------------- permissions


def test_permissions_are_written_as_a_whole_and_read_back(world: World) -> None:
    assert world.read(f"{RULES}/permissions") == {"agencies": [], "people": []}
    response = send(world, "PUT", f"{RULES}/permissions", {"agencies": ["42", "7", "42"], "people": ["ann"]})
    assert (response.status, response.json()) == (200, {"agencies": ["42", "7"], "people": ["ann"]})
    assert world.read(f"{RULES}/permissions") == response.json()
    send(world, "PUT", f"{RULES}/permissions", {"agencies": [], "people": []})
    assert world.read(f"{RULES}/permissions") == {"agencies": [], "people": []}


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"people": []}, "agencies"),
        ({"agencies": "42", "people": []}, "agencies"),
        ({"agencies": ["a#b"], "people": []}, "agencies"),
        ({"agencies": [], "people": [""]}, "people"),
        ({"agencies": [], "people": ["x"] * 201}, "people"),
        ({"agencies": [], "people": [], "machines": []}, "machines"),
    ],
)
def test_invalid_permissions_are_refused_by_their_field(world: World, sent: object, field: str) -> None:
    response = send(world, "PUT", f"{RULES}/permissions", sent)
    assert (response.status, [one["field"] for one in response.json()["errors"]]) == (400, [field])


@pytest.mark.parametrize("allowed", [{"agencies": ["42"], "people": []}, {"agencies": [], "people": ["ann"]}])
def test_a_person_reads_permitted_documents_and_other_names_are_not_found(
    world: World, allowed: dict[str, Any]
) -> None:
    routes = [f"/documents/{{document}}{part}" for part in ("", "/versions", "/metadata")]
    write(world, RULES, 0, "a")
    send(world, "PUT", f"{RULES}/permissions", {"agencies": ["7"], "people": ["bob"]})
    for route in routes:
        status, hidden = as_person(world, route, document="house rules")
        _, absent = as_person(world, route, document="no rules at")
        assert (status, hidden["detail"].replace("house rules", "no rules at")) == (404, absent["detail"])
    send(world, "PUT", f"{RULES}/permissions", allowed)
    for route in routes:
        assert as_person(world, route, document="house rules")[0] == 200
    assert as_person(world, "/documents/{document}/permissions", document="house rules")[0] == 403


def test_a_person_reads_a_permitted_report(world: World) -> None:
    world.sell("12.50")
    world.pass_time(minutes=20)
    (run,) = world.report()["runs"]
    status, report = as_person(world, "/reports/{run}", run=run)
    assert (status, report["detail"]) == (
        404,
        world.missing("/reports/2026-10-23T0000-0015").replace("2026-10-23T0000-0015", run),
    )
    send(world, "PUT", f"/documents/report:{run}/permissions", {"agencies": ["42"], "people": []})
    status, report = as_person(world, "/reports/{run}", run=run)
    assert (status, report["run"]) == (200, run)
