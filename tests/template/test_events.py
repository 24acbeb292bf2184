"""The samples in events/: one for each function and each kind of request, named after the function."""

import json
from pathlib import Path
from typing import Any

import pytest

from quarterhour.counters.plan import group
from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.events.http import BATCH, ONE, read_request
from quarterhour.model.clock import parse_iso
from quarterhour.snapshots.layers import LAYERS
from quarterhour.snapshots.plan import snapshots
from quarterhour_tools.emulator.filters import matches
from quarterhour_tools.emulator.http_api import path_parameters, template_path
from quarterhour_tools.emulator.template import Route, Template
from tests.support.cases import cases
from tests.support.repository import ROOT
from tests.template.calls import started
from tests.template.stack import attribute, function_of

SAMPLES = sorted((ROOT / "events").iterdir())


def sample(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text("utf-8"))
    return content


@cases("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_is_json_for_a_function_that_exists(template: Template, path: Path) -> None:
    assert path.suffix == ".json"
    assert isinstance(json.loads(path.read_text("utf-8")), dict)
    assert function_of(path.stem) in template.functions(attribute)


def test_every_function_has_a_sample(template: Template) -> None:
    assert {function_of(path.stem) for path in SAMPLES} == set(template.functions(attribute))


def requests() -> list[tuple[str, dict[str, Any]]]:
    """Return the samples of requests of the API, each with its function."""
    return [
        (function, one)
        for path in SAMPLES
        if "routeKey" in (one := sample(path.stem)) and (function := function_of(path.stem)) != "console"
    ]


def test_a_request_is_one_as_the_api_sends_it_and_each_of_its_routes_has_one(template: Template) -> None:
    routes = {
        (function.name, f"{route.method} {route.path}")
        for function in template.functions(attribute).values()
        for route in function.routes
    } | {("connections", "POST /connections/{name}")}
    assert {(function, request["routeKey"]) for function, request in requests()} == routes
    for _, request in requests():
        method, _, route = request["routeKey"].partition(" ")
        filled = route.replace("+}", "}").format(**request.get("pathParameters", {}))
        assert (request["version"], request["rawPath"]) == ("2.0", filled)
        assert request["requestContext"]["http"]["method"] == method


@pytest.mark.parametrize("name", ["read", "write"])
def test_every_path_that_a_function_answers_has_a_sample(
    template: Template, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _ = started(template.functions(attribute)[name], monkeypatch)
    sent = [
        (request["requestContext"]["http"]["method"], request["rawPath"])
        for function, request in requests()
        if function == name
    ]
    missing = [
        operation.rule
        for operation in module.routes.operations
        if not any(
            method == operation.method
            and path_parameters(Route(method, template_path(operation.rule)), path) is not None
            for method, path in sent
        )
    ]
    assert (len(module.routes.operations) > 10, missing) == (True, [])


@pytest.mark.parametrize(
    ("name", "content_type", "kind"),
    [
        ("ingest-one", ONE, Event),
        ("ingest-binary", "application/json", Event),
        ("ingest-batch", BATCH, Event),
        ("ingest-bad", BATCH, Rejection),
    ],
)
def test_an_ingest_sample_holds_what_its_name_says(name: str, content_type: str, kind: type) -> None:
    request = sample(name)
    assert request["headers"]["content-type"] == content_type
    sent = read_request(request["headers"], request["body"].encode())
    assert {type(event) for event in sent.events} == {kind}


@pytest.mark.parametrize("name", ["counters-batch", "snapshots-batch", "billing-batch"])
def test_a_stream_sample_is_what_the_mapping_lets_through(template: Template, name: str) -> None:
    (mapping,) = template.functions(attribute)[name.removesuffix("-batch")].mappings
    records = sample(name)["Records"]
    assert records
    assert all(matches(mapping.filters, record) for record in records)


def test_the_ledger_records_can_all_be_counted() -> None:
    groups, poison = group(sample("counters-batch")["Records"])
    assert (len(groups), poison) == (2, [])


def test_the_entity_records_leave_a_window() -> None:
    records = sample("snapshots-batch")["Records"]
    states, poison = snapshots(records, LAYERS[1:], parse_iso("2026-10-23T01:46:20.004Z"))
    assert ([one.values["sk"] for one in states], poison) == (["5m#2026-10-23T01:40:00Z"], [])
