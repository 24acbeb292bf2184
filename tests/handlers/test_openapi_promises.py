"""What the OpenAPI document promises, held against the system: its examples, its links, and its retries."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from requests import Session

from tests.handlers.described import OPERATIONS, WRITES, Json, session
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
CHOICES: Final[dict[str, dict[str, Json]]] = {
    "GET /accounts/{agency}/{currency}/snapshots": STATES,
    "GET /exchange-rates/{currency}/history": {name: STATES[name] for name in ("last", "date", "from and to")},
    "GET /exchange-rates/{currency}/snapshots": STATES,
    "GET /sources/{source}/events": SOURCE_EVENTS,
}
"""Parameters that exclude each other, beside those that are required."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A system to which every write of the document has been sent."""
    with described_system() as world:
        yield world


@pytest.fixture(scope="module")
def client(world: World) -> Session:
    """A session whose requests reach the system."""
    return session(world.stack)


def examples() -> Iterator[Any]:
    """Yield each example, of parameters that exclude each other one for each choice."""
    for route in OPERATIONS:
        for name, chosen in CHOICES.get(route, {"": {}}).items():
            yield pytest.param(route, chosen, id=f"{route} {name}".strip())


@pytest.mark.parametrize(("route", "chosen"), [*examples()])
def test_every_example_has_a_good_answer_that_shows_something(client: Session, route: str, chosen: Json) -> None:
    answer = answered(client, example(route, **chosen))
    assert answer.status_code in {200, 202}, answer.text
    assert answer.json().get("items") != []


@pytest.mark.parametrize("route", WRITES)
def test_every_write_changes_nothing_when_it_is_sent_again(world: World, client: Session, route: str) -> None:
    first = answered(client, example(route))
    before = [items(world, table) for table in TABLES]
    again = answered(client, example(route))
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert [items(world, table) for table in TABLES] == before


def links() -> Iterator[Any]:
    """Yield each link: the route whose answer holds it, and what it says."""
    for route, operation in OPERATIONS.items():
        for response in operation["responses"].values():
            for name, link in response.get("links", {}).items():
                yield pytest.param(route, link, id=f"{route} {name}")


@pytest.mark.parametrize(("route", "link"), [*links()])
def test_every_link_leads_somewhere(client: Session, route: str, link: Json) -> None:
    case = example(route)
    answer = answered(client, case).json()
    there = next(one for one, operation in OPERATIONS.items() if operation["operationId"] == link["operationId"])
    onward = example(there)
    for name, expression in link["parameters"].items():
        where, _, rest = expression.partition("#" if "#" in expression else "$request.path.")
        onward.path_parameters[name] = pointed(answer, rest) if where else case.path_parameters[rest]
    assert answered(client, onward).status_code in {200, 202}


def pointed(value: Any, pointer: str) -> Any:
    """Return what a JSON pointer points to."""
    for part in pointer.split("/")[1:]:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value
