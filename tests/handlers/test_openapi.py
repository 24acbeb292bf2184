"""The OpenAPI document: complete and published. `make lint` compares it with what the code gives."""

import json
import re

import pytest
from openapi_spec_validator import validate

from tests.handlers.described import DOCUMENT, FILE, OPERATIONS, WRITES, reference
from tests.support.pages import broken_links
from tests.support.repository import ROOT
from tests.support.system import World


def test_a_document_that_is_not_current_is_reported_and_not_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from quarterhour_tools.openapi import document  # noqa: PLC0415 - every worker would wait two seconds for it
    from quarterhour_tools.openapi.__main__ import main  # noqa: PLC0415 - as above

    monkeypatch.setattr(document, "laid_out", lambda _document: "another")
    before = FILE.read_bytes()
    assert main(["--check"]) == 1
    assert f"{FILE.relative_to(ROOT)} is not current: run make openapi\n" in capsys.readouterr().err
    assert FILE.read_bytes() == before


def test_each_link_of_the_reference_has_a_target() -> None:
    text = reference()
    assert len(re.findall(r"\]\(\.\./docs/\w", text)) > 20
    assert list(broken_links(text, ROOT / "docs")) == []


def test_the_page_names_each_route_once() -> None:
    table = (ROOT / "docs" / "api.md").read_text("utf-8").partition("\n## Routes\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"`([A-Z]+ /[^`]*)`", table)) == sorted(OPERATIONS)


def test_the_reference_has_a_section_for_each_route_and_every_example() -> None:
    text = reference()
    sections = dict(re.findall(r"^### `([A-Z]+ /[^`]+)`\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    assert sections.keys() == OPERATIONS.keys()
    for route, operation in OPERATIONS.items():
        for response in operation["responses"].values():
            for one in response.get("content", {}).get("application/json", {}).get("examples", {}).values():
                blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", sections[route], re.DOTALL)]
                assert f"```http\n{one['x-request']}\n```" in sections[route]
                assert one["value"] in blocks


@pytest.mark.slow  # some seconds; `make lint` compares the document with the code
def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1")


def test_the_document_describes_exactly_the_routes_of_the_template(world: World) -> None:
    from quarterhour_tools.openapi.routes import ROUTES  # noqa: PLC0415 - as above

    routes = {f"{one.method} {one.path}" for one in world.stack.answered_routes()}
    assert OPERATIONS.keys() == routes == ROUTES.keys()


def test_the_name_of_an_operation_begins_with_the_first_part_of_its_path() -> None:
    names = [one["operationId"] for one in OPERATIONS.values()]
    assert len(set(names)) == len(names)
    for name, operation in zip(names, OPERATIONS.values(), strict=True):
        (feature,) = operation["tags"]
        assert name.startswith(f"{feature.partition('.')[0].replace('-', '_')}_")


def test_the_document_is_published(world: World) -> None:
    assert world.read("/openapi.json") == DOCUMENT


def test_every_write_says_why_it_may_be_repeated() -> None:
    assert {route for route, one in OPERATIONS.items() if "**Retries:**" in one.get("description", "")} == set(WRITES)


def test_every_route_has_a_sentence_as_its_summary() -> None:
    assert [route for route, one in OPERATIONS.items() if not one["summary"].endswith(".")] == []
