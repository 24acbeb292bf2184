"""What the OpenAPI document promises, held against the system: every answer is as it says, whatever is sent."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from requests import Session
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.core.transport import Response
from schemathesis.specs.openapi import checks

from tests.handlers.described import ADDRESS, DOCUMENT, OPERATIONS, WRITES, Json, session
from tests.handlers.desk import place
from tests.handlers.postbox import items, post, refund, sale
from tests.handlers.world import World, opened

TABLES: Final = ("IdentityTable", "LedgerTable", "EntityTable")
CHECKS: Final = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
CONFIG: Final = SchemathesisConfig.from_dict(
    {
        "base-url": ADDRESS,
        "generation": {"deterministic": True, "max-examples": 25, "with-security-parameters": False},
        # What was answered before gives nothing to go on from: it differs from run to run.
        "phases": {
            "examples": {"extra-data-sources": {"responses": False}},
            "coverage": {"extra-data-sources": {"responses": False}, "unexpected-methods": []},
            "fuzzing": {"extra-data-sources": {"responses": False}, "error-feedback": {"enabled": False}},
        },
        "checks": {"negative_data_rejection": {"expected-statuses": ["400", "404", "413", "415", "422"]}},
    }
)
Case = schemathesis.Case[Any]
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
    "GET /rates/{currency}/history": {name: STATES[name] for name in ("last", "date", "from and to")},
    "GET /rates/{currency}/snapshots": STATES,
    "GET /sources/{source}/events": SOURCE_EVENTS,
}
"""Parameters that exclude each other, beside those that are required."""


def closed(document: Json) -> Json:
    """Return the document with answers that hold nothing but what it tells."""
    changed = deepcopy(document)
    for shape in changed["components"]["schemas"].values():
        if "properties" in shape:
            shape["additionalProperties"] = False
    return changed


def familiar(document: Json) -> Json:
    """Return the document with parameters that often are those of its examples, so that they lead to what is there."""
    changed = deepcopy(document)
    for operation in (one for methods in changed["paths"].values() for one in methods.values()):
        for parameter in operation.get("parameters", []):
            if "example" in parameter:
                parameter["schema"] = {"anyOf": [{"const": parameter["example"]}, parameter["schema"]]}
    return changed


schema = schemathesis.openapi.from_dict(closed(DOCUMENT), config=CONFIG)
known = schemathesis.openapi.from_dict(familiar(closed(DOCUMENT)), config=CONFIG)
known.config.generation.update(modes=[schemathesis.GenerationMode.POSITIVE])


def example(route: str, **chosen: Any) -> Case:
    """Return the document's example of a request; ``chosen`` stand for what can be left out of its query."""
    method, _, path = route.partition(" ")
    told = OPERATIONS[route]
    sent: dict[str, Json] = {"path": {}, "query": dict(chosen)}
    for one in told.get("parameters", []):
        if "example" in one and (one["required"] or not chosen):
            sent[one["in"]][one["name"]] = one["example"]
    content = told.get("requestBody", {}).get("content", {})
    bodies = ({"body": media["example"], "media_type": kind} for kind, media in content.items())
    return schema[path][method].Case(path_parameters=sent["path"], query=sent["query"], **next(bodies, {}))


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A system to which every write has been sent, as the document gives it for an example, and some more events."""
    with opened({"BaseCurrency": "EUR"}) as world:
        world.sell("120.00", location="GB#London", customer="c-1")
        for route in WRITES:
            assert answered(session(world.stack), example(route)).status_code in {200, 201, 202}
        assert place(world, "1002").status == 201
        charged = [
            sale(),
            refund("taken back", "-1.00"),
            sale("more", extra={"gift": True}, quantity=2, category="books"),
        ]
        named = sale("mended", "1.00", "adjustment.recorded", commission="0.10")
        seen = {**sale("seen", type_="view.recorded"), "data": {"customer": "ann"}}
        assert post(world, [*charged, named, seen]).status == 202
        world.pass_time(minutes=37)
        world.report()
        yield world


@pytest.fixture(scope="module")
def client(world: World) -> Session:
    """A session whose requests reach the system."""
    return session(world.stack)


def answered(client: Session, case: Case) -> Response:
    """Send a request, and hold the answer to the document."""
    answer = case.call(session=client)
    case.validate_response(answer, checks=CHECKS)
    return answer


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


@pytest.mark.slow
@schema.parametrize()
def test_whatever_is_sent_has_an_answer_as_promised(case: Case, client: Session) -> None:
    answered(client, case)


@pytest.mark.slow
@known.parametrize()
def test_whatever_is_asked_of_what_is_there_has_an_answer_as_promised(case: Case, client: Session) -> None:
    answered(client, case)


@pytest.mark.slow
def test_wherever_answers_lead_the_next_is_as_promised(client: Session) -> None:
    class Journey(schema.as_state_machine()):  # type: ignore[misc] # made of the document's links
        def get_call_kwargs(self, _case: Case) -> Json:
            return {"session": client}

        def validate_response(self, response: Response, case: Case, **_: Any) -> None:
            case.validate_response(response, checks=CHECKS)

    calm = settings(max_examples=30, stateful_step_count=6, deadline=None, derandomize=True)
    run_state_machine_as_test(Journey, settings=settings(calm, suppress_health_check=list(HealthCheck)))
