"""The OpenAPI document, tested against the system: alternative parameters, links and repeated writes."""

from collections.abc import Collection, Iterator
from typing import Any, Final

import pytest
from requests import Session

from tests.handlers.described import DOCUMENT, OPERATIONS, WRITES, Json, session
from tests.handlers.promised import answered, described_system, example
from tests.support.system import World
from tests.support.tables import items

TABLES: Final = ("IdentityTable", "LedgerTable", "EntityTable")
STATES: Final[dict[str, Json]] = {
    "last": {"last": 3},
    "date": {"date": "2026-10-23"},
    "from and to": {"from": "2026-10-23", "to": "2026-10-24"},
    "at": {"at": "2026-10-23T01:31:00Z"},
}
SOURCE_EVENTS: Final[dict[str, Json]] = {
    "from and to": {"from": "2026-10-23", "to": "2026-10-24"},
    "after": {"after": "2026-10-23T00:00:00Z"},
    "before": {"before": "2026-10-24"},
}
OVERVIEWS: Final[dict[str, Json]] = {
    "period": {"period": "2026-10"},
    "range": {"range": "month"},
    "from and to": {"from": "2026-10-01", "to": "2026-11-01"},
}
CHOICES: Final[dict[str, dict[str, Json]]] = {
    "GET /overview": OVERVIEWS,
    "GET /accounts/{agency}/{currency}/snapshots": STATES,
    "GET /exchange-rates/{currency}/history": {name: STATES[name] for name in ("last", "date", "from and to")},
    "GET /exchange-rates/{currency}/snapshots": STATES,
    "GET /sources/{source}/events": SOURCE_EVENTS,
}
"""Parameters that exclude each other, besides the required ones."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A system to which every write of the document was sent."""
    with described_system() as world:
        yield world


@pytest.fixture(scope="module")
def client(world: World) -> Session:
    """A session with the system."""
    return session(world.stack)


@pytest.mark.parametrize(
    ("route", "chosen"),
    [
        pytest.param(route, chosen, id=f"{route} {name}")
        for route, choices in CHOICES.items()
        for name, chosen in choices.items()
    ],
)
def test_every_choice_of_parameters_gets_a_successful_response_with_content(
    client: Session, route: str, chosen: Json
) -> None:
    response = answered(client, example(route, **chosen))
    assert response.status_code == 200, response.text
    assert response.json().get("items") != []


def bodies() -> Iterator[Any]:
    """Yield each route that takes one form of JSON, and the fields of that form."""
    for route, operation in OPERATIONS.items():
        content = operation.get("requestBody", {}).get("content", {})
        if content.keys() == {"application/json"}:
            name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
            yield pytest.param(route, DOCUMENT["components"]["schemas"][name]["properties"].keys(), id=route)


@pytest.mark.parametrize(("route", "fields"), [*bodies()])
def test_a_body_takes_the_described_fields_and_no_other(client: Session, route: str, fields: Collection[str]) -> None:
    case = example(route)
    assert isinstance(case.body, dict)
    case.body = {**case.body, "another": 1}
    response = answered(client, case)
    assert response.status_code == 400
    expected = [one["expected"] for one in response.json()["errors"] if one["field"] == "another"]
    assert expected == [f"one of {', '.join(sorted(fields))}"]


ROTATION = "POST /subscriptions/{name}/secrets"
"""The one write whose repetition is to do something: it makes another secret."""


@pytest.mark.parametrize("route", [one for one in WRITES if one != ROTATION])
def test_every_repeated_write_changes_nothing(world: World, client: Session, route: str) -> None:
    first = answered(client, example(route))
    before = [items(world, table) for table in TABLES]
    again = answered(client, example(route))
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert [items(world, table) for table in TABLES] == before


def links() -> Iterator[Any]:
    """Yield each link of a response: its route and its definition."""
    for route, operation in OPERATIONS.items():
        for response in operation["responses"].values():
            for name, link in response.get("links", {}).items():
                yield pytest.param(route, link, id=f"{route} {name}")


@pytest.mark.parametrize(("route", "link"), [*links()])
def test_every_link_leads_somewhere(client: Session, route: str, link: Json) -> None:
    case = example(route)
    response = answered(client, case).json()
    there = next(one for one, operation in OPERATIONS.items() if operation["operationId"] == link["operationId"])
    onward = example(there)
    for name, expression in link["parameters"].items():
        where, _, rest = expression.partition("#" if "#" in expression else "$request.path.")
        onward.path_parameters[name] = pointed(response, rest) if where else case.path_parameters[rest]
    assert answered(client, onward).status_code in {200, 202}


def pointed(value: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer."""
    for part in pointer.split("/")[1:]:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value
