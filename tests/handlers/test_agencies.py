"""Agencies over HTTP: registered, read as of an instant, listed; and documents listed by their kind."""

from typing import Any

import pytest

from quarterhour_tools.emulator.http_api import Response
from tests.handlers.desk import send
from tests.handlers.test_documents import as_person
from tests.support.agencies import FULL, STORED
from tests.support.system import World
from tests.support.tables import items
from tests.unit.registry.rate_cards.builders import content


def register(world: World, agency: str, seen: int = 0, **changed: Any) -> Response:
    """Write a version of an agency's registration."""
    return send(world, "PUT", f"/agencies/{agency}", {"seen": seen, "content": {**FULL, **changed}})


def test_an_agency_is_registered_and_read_back(world: World) -> None:
    response = register(world, "42")
    assert response.status == 201
    assert response.json() == {
        "agency": "42",
        "version": 1,
        "sha256": response.json()["sha256"],
        "written_at": "2026-10-23T01:30:00.000Z",
        "written_by": response.json()["written_by"],
        "valid_from": "2026-10-01T00:00:00Z",
    }
    assert world.read("/agencies/42") == {**response.json(), "content": STORED}
    assert world.read("/documents/agency:42")["content"] == STORED
    assert register(world, "42").status == 200, "a retry"
    assert register(world, "42", group="libraries").status == 409


def test_an_agency_is_read_as_it_was_in_force_at_an_instant(world: World) -> None:
    register(world, "42", group="old", valid_from="2026-09-01T00:00:00Z")
    register(world, "42", 1, group="new", valid_from="2026-11-01T00:00:00Z")
    for at, group in (("2026-09-01", "old"), ("2026-10-31", "old"), ("2026-11-01", "new")):
        assert world.read("/agencies/42", at=f"{at}T00:00:00Z")["content"]["group"] == group
    assert world.read("/agencies/42")["content"]["group"] == "new"
    assert "was not in force yet" in world.missing("/agencies/42", at="2026-08-31T00:00:00Z")
    assert "is not registered" in world.missing("/agencies/43")


@pytest.mark.parametrize("name", ["default", "*", "group%252Feu", "%2042", "42%20"])
def test_an_agency_of_a_name_that_rate_cards_take_otherwise_is_refused(world: World, name: str) -> None:
    response = register(world, name)
    assert (response.status, [one["field"] for one in response.json()["errors"]]) == (400, ["agency"])
    assert items(world, "EntityTable") == []


@pytest.mark.parametrize("name", ["*", "group%252F", "42%20"])
def test_a_rate_card_of_a_name_that_can_match_nothing_is_refused(world: World, name: str) -> None:
    response = send(world, "PUT", f"/documents/rate-card:{name}", {"seen": 0, "content": content()})
    assert (response.status, [one["field"] for one in response.json()["errors"]]) == (400, ["document"])
    assert items(world, "EntityTable") == []


def test_people_read_the_registration_of_their_own_agency_only(world: World) -> None:
    for agency in ("42", "43"):
        register(world, agency)
    status, body = as_person(world, "/agencies/{agency}", agency="42")
    assert (status, body["agency"], body["content"]) == (200, "42", STORED)
    assert as_person(world, "/agencies/{agency}", agency="43")[0] == 403
    for route in ("/agencies", "/documents"):
        assert as_person(world, route)[0] == 403


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_agencies_are_listed_by_name_with_their_latest_version(world: World, limit: int) -> None:
    for agency in ("b", "a", "c"):
        register(world, agency)
    register(world, "b", 1, legal_name="B Ltd", group="libraries", country=None)
    found = world.all("/agencies", limit=limit)
    assert [(one["agency"], one["version"]) for one in found] == [("a", 1), ("b", 2), ("c", 1)]
    assert found[1] == {
        "agency": "b",
        "version": 2,
        "valid_from": "2026-10-01T00:00:00Z",
        "legal_name": "B Ltd",
        "currency": "GBP",
        "group": "libraries",
        "status": "active",
    }


@pytest.mark.parametrize("limit", [1, 100])
def test_documents_are_listed_by_their_kind(world: World, limit: int) -> None:
    register(world, "42")
    for name in ("rate-card:42", "rate-card:default", "rate-card:group%252Feu"):
        assert send(world, "PUT", f"/documents/{name}", {"seen": 0, "content": content()}).status == 201
    for name in ("house%20rules", "zoning"):
        send(world, "PUT", f"/documents/{name}", {"seen": 0, "content": name})
    listed = {
        kind: [one["document"] for one in world.all("/documents", kind=kind, limit=limit)]
        for kind in ("agency", "rate-card", "document")
    }
    assert listed == {
        "agency": ["agency:42"],
        "rate-card": ["rate-card:42", "rate-card:default", "rate-card:group/eu"],
        "document": ["house rules", "zoning"],
    }
    assert world.read("/documents", kind="agency")["items"] == [world.read("/documents/agency:42/metadata")]
    assert world.refused("/documents", kind="contract")["field"] == "kind"
    assert world.refused("/documents")["field"] == "kind"


def test_the_rate_cards_in_force_are_listed_in_the_order_in_which_they_are_tried(world: World) -> None:
    register(world, "42", group="eu")
    written = [
        ("default", content({"percent": "12"})),
        ("group%252Feu", content({"percent": "10"})),
        ("42", content({"percent": "8", "category": "books"})),
        ("43", content({"percent": "1"})),
    ]
    for name, rules in written:
        assert send(world, "PUT", f"/documents/rate-card:{name}", {"seen": 0, "content": rules}).status == 201
    later = content({"percent": "7"}, valid_from="2026-11-01T00:00:00Z")
    assert send(world, "PUT", "/documents/rate-card:42", {"seen": 1, "content": later}).status == 201
    found = world.read("/agencies/42/rate-cards")["items"]
    assert [(one["document"], one["version"], one["rules"]) for one in found] == [
        ("rate-card:42", 1, [{"percent": "8", "category": "books"}]),
        ("rate-card:group/eu", 1, [{"percent": "10"}]),
        ("rate-card:default", 1, [{"percent": "12"}]),
    ]
    assert world.read("/agencies/42/rate-cards", at="2026-11-01T00:00:00Z")["items"][0]["version"] == 2
    assert world.read("/agencies/42/rate-cards", at="2026-09-01T00:00:00Z") == {"items": []}
    assert [one["document"] for one in world.read("/agencies/7/rate-cards")["items"]] == ["rate-card:default"]


def test_people_of_an_agency_see_the_rate_cards_in_force_that_they_may_read(world: World) -> None:
    for name in ("42", "default"):
        draft = {"seen": 0, "content": content({"percent": "8"})}
        assert send(world, "PUT", f"/documents/rate-card:{name}", draft).status == 201
    route = "/agencies/{agency}/rate-cards"
    assert as_person(world, route, agency="42") == (200, {"items": []})
    assert send(world, "PUT", "/documents/rate-card:42/permissions", {"agencies": ["42"], "people": []}).status == 200
    status, body = as_person(world, route, agency="42")
    assert (status, [one["document"] for one in body["items"]]) == (200, ["rate-card:42"])
    assert as_person(world, route, agency="43")[0] == 403
