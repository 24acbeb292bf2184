"""The OpenAPI document, tested against the system: every request gets a documented response."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from requests import Session
from schemathesis.core.transport import Response

from tests.handlers.described import DOCUMENT, Json, closed, session
from tests.handlers.promised import CHECKS, CONFIG, Case, answered, described_system, schema

pytestmark = pytest.mark.slow


def familiar(document: Json) -> Json:
    """Return the document with parameters that often have the values of its examples, for which data exists."""
    changed = deepcopy(document)
    own = (
        one
        for methods in changed["paths"].values()
        for operation in methods.values()
        for one in operation.get("parameters", [])
    )
    for parameter in (*changed["components"]["parameters"].values(), *own):
        if "example" in parameter:
            parameter["schema"] = {"anyOf": [{"const": parameter["example"]}, parameter["schema"]]}
    return changed


known = schemathesis.openapi.from_dict(familiar(closed(DOCUMENT)), config=CONFIG)
known.config.generation.update(modes=[schemathesis.GenerationMode.POSITIVE])


@pytest.fixture(scope="module")
def client() -> Iterator[Session]:
    """A session with a system to which every write of the document was sent."""
    with described_system() as world:
        yield session(world.stack)


@schema.parametrize()
def test_every_request_gets_a_documented_response(case: Case, client: Session) -> None:
    answered(client, case)


@known.parametrize()
def test_every_request_for_existing_data_gets_a_documented_response(case: Case, client: Session) -> None:
    answered(client, case)


def test_every_request_along_the_links_gets_a_documented_response(client: Session) -> None:
    class Journey(schema.as_state_machine()):  # type: ignore[misc] # made of the document's links
        def get_call_kwargs(self, _case: Case) -> Json:
            return {"session": client}

        def validate_response(self, response: Response, case: Case, **_: Any) -> None:
            case.validate_response(response, checks=CHECKS)

    calm = settings(max_examples=30, stateful_step_count=6, deadline=None, derandomize=True)
    run_state_machine_as_test(Journey, settings=settings(calm, suppress_health_check=list(HealthCheck)))
