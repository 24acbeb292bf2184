"""The OpenAPI document: generated from the code, complete, and published."""

import re
from typing import Final

from openapi_spec_validator import validate

from quarterhour_tools.emulator.stack import TEMPLATE
from tests.handlers.described import DOCUMENT, FILE, OPERATIONS, WRITES
from tests.support.system import World

PAGE: Final = TEMPLATE.parent / "docs" / "api.md"


def test_the_document_is_what_the_code_gives() -> None:
    from quarterhour_tools.openapi.document import text  # noqa: PLC0415 - every worker would wait two seconds for it

    assert FILE.read_text("utf-8") == text(), "run make openapi"


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1")


def test_the_document_describes_exactly_the_routes_of_the_template(world: World) -> None:
    from quarterhour_tools.openapi.routes import ROUTES  # noqa: PLC0415 - as above

    routes = {f"{one.method} {one.path}" for one in world.stack.answered_routes()}
    assert OPERATIONS.keys() == routes == ROUTES.keys()


def test_the_document_is_published(world: World) -> None:
    assert world.read("/openapi.json") == DOCUMENT


def test_every_write_says_why_it_may_be_repeated() -> None:
    table = PAGE.read_text("utf-8").partition("**Retries**")[2].partition("\n\n|")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+ /\S+)`", table, re.MULTILINE)) == set(WRITES)
    assert {route for route, one in OPERATIONS.items() if "**Retries:**" in one.get("description", "")} == set(WRITES)


def test_every_route_has_a_sentence_as_its_summary() -> None:
    assert [route for route, one in OPERATIONS.items() if not one["summary"].endswith(".")] == []
