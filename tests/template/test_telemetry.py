"""What the functions log: JSON that can be followed by its correlation id, and nothing that senders wrote."""

import json
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from moto import mock_aws

from quarterhour.aws.telemetry import correlation_id
from quarterhour.ledger.postings.segments import postings_of
from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.direct import embedded
from quarterhour_tools.emulator.template import Template
from tests.support.repository import ROOT
from tests.template.calls import World
from tests.template.stack import Properties, Stack, attribute, function_of, parsed

pytestmark = pytest.mark.slow

FUNCTIONS = sorted(Template(parsed(), ROOT).functions(attribute))
SAMPLES = sorted((ROOT / "events").iterdir(), key=lambda path: (path.stem.endswith("-batch"), path))
"""The batches last: the changed keys in them are stored, and no key that is read is such."""
BY_HAND = ("repair", "statements")
"""What an operator starts, and whose own words may come back as an error."""
NAME = "Zoë Quine"
PERSON = 'Zoë Quine <zoe.quine@example.org> eyJhbGciOi.c2VjcmV0\r\n{"level":"ERROR","message":"forged"}'
TRACES = ("Quine", "quine", "Zo\\u00eb", "Zoë", "eyJhbGciOi", "forged")
AWS_OWN = {
    *("accountId", "apiId", "domainName", "domainPrefix", "method", "protocol", "requestId", "routeKey", "stage"),
    *("awsRegion", "eventID", "eventName", "eventSource", "eventSourceARN", "eventVersion", "SequenceNumber"),
    *("account", "detail-type", "id", "region", "resources", "source", "StreamViewType", "time", "version"),
    *("publish", "reseal", "seal", "collect", "add_up", "write"),
}
"""What AWS or an operator puts into an event, not a sender; not so in a body."""


def variants(value: Any, own: AbstractSet[str] = frozenset()) -> Iterator[Any]:
    """Yield a value with each text in it replaced, one at a time, in a JSON body too; none under ``own`` names."""
    match value:
        case {"body": str(body), "isBase64Encoded": True} if own:
            for text in (PERSON, b64decode(body).decode() + PERSON):
                yield {**value, "body": b64encode(text.encode()).decode()}
            others = {key: one for key, one in value.items() if key != "body"}
            yield from ({**changed, "body": body} for changed in variants(others, own))
        case {"body": str(body)} if own:
            texts = [PERSON, body[:-1] + PERSON, *(json.dumps(one) for one in variants(_parsed(body)))]
            yield from ({**value, "body": text} for text in texts)
            others = {key: one for key, one in value.items() if key != "body"}
            yield from ({**changed, "body": body} for changed in variants(others, own))
        case {"proxy": str(path)}:
            yield from ({"proxy": "/".join(parts)} for parts in variants(path.split("/"), own))
        case dict():
            for key in value.keys() - own:
                yield from ({**value, key: changed} for changed in variants(value[key], own))
        case list():
            for index, one in enumerate(value):
                yield from ([*value[:index], changed, *value[index + 1 :]] for changed in variants(one, own))
        case str():
            yield PERSON


def _parsed(body: str) -> Any:
    """Return what the JSON of a body says; nothing for one that is none."""
    with suppress(ValueError):
        return json.loads(body)
    return None


def personal_sale() -> Properties:
    """Return a request with an event that is good, and personal wherever it may be."""
    sample: Properties = json.loads((ROOT / "events" / "ingest-one.json").read_text("utf-8"))
    event = json.loads(sample["body"])
    texts = dict.fromkeys(("customer", "product", "location", "order_id", "line"), NAME)
    event = {**event, "id": "personal", "note": NAME, "data": {**event["data"], **texts, "extra": {NAME: NAME}}}
    return {**sample, "body": json.dumps(event)}


def invoked(world: World, function: str, event: Properties) -> None:
    """Invoke a function, whatever it says; an error of it tells nothing of the sender either."""
    try:
        world.run(function, deepcopy(event))
    except Exception as error:
        if function not in BY_HAND and any(trace in str(error) for trace in TRACES):
            raise


@pytest.fixture(scope="module")
def world(template: Template, stack: Stack) -> Iterator[World]:
    """The system after personal words have stood in every place of every sample, and in all that it keeps."""
    clock = ManualClock(datetime(2026, 10, 23, 1, 40, tzinfo=UTC))
    with mock_aws(), embedded(), using(clock), pytest.MonkeyPatch.context() as patch:
        world = World(clock)
        world.build(template, stack, patch)
        assert world.run("ingest", personal_sale())["statusCode"] == 202
        for path in SAMPLES:
            event = json.loads(path.read_text("utf-8"))
            for one in (event, *variants(event, AWS_OWN)):
                invoked(world, function_of(path.stem), one)
        recorded = world.items("LedgerTable")
        assert any("Quine" in str(postings_of(item)) for item in recorded)
        world.stream("counters", *recorded)
        states = [item for item in world.items("EntityTable") if item["sk"]["S"] == "latest"]
        world.leave_windows(states)
        for function in ("counters", "snapshots", "billing"):
            world.park(function, {name: {"S": PERSON} for name in ("pk", "sk", "quarter_hour", "customer")})
        world.pass_time(hours=3)
        invoked(world, "report", {})
        for action in ("rebuild", "unpark"):
            world.pass_time(hours=3)
            invoked(world, "repair", {"action": action})
        yield world


@pytest.mark.parametrize("name", FUNCTIONS)
class TestEachFunction:
    def test_writes_json_that_names_what_it_is_about(self, world: World, name: str) -> None:
        lines = world.written(name)
        assert lines
        assert [line for line in lines if not line["correlation_id"] or not line["function_request_id"]] == []

    def test_writes_nothing_of_a_person(self, world: World, name: str) -> None:
        text = world.logs[name].getvalue()
        assert [trace for trace in TRACES if trace in text] == []


# ---------------------------------------------------------------- correlation ids


CONTEXT: Any = SimpleNamespace(aws_request_id="invocation")


@pytest.mark.parametrize(
    ("event", "id_"),
    [
        ({"requestContext": {"requestId": "asked"}}, "asked"),
        ({"Records": [{"eventID": "first"}, {"eventID": "second"}]}, "first"),
        ({"source": "aws.scheduler", "id": "tick"}, "tick"),
        ({"account": "42#GBP"}, "invocation"),
        ({"id": "somebody's"}, "invocation"),
        ({"Records": []}, "invocation"),
        ({}, "invocation"),
    ],
)
def test_an_invocation_is_followed_by_what_it_is_about(event: Properties, id_: str) -> None:
    assert correlation_id(event, CONTEXT) == id_


def test_client_access_log_and_function_log_know_a_request_by_one_id(world: World, stack: Stack) -> None:
    sample = json.loads((ROOT / "events" / "ingest-one.json").read_text("utf-8"))
    sample["requestContext"]["requestId"] = "JKJaXmPLvHcESHA="
    sample["body"] = "[]"
    answer = world.run("ingest", sample)
    assert answer["headers"]["x-request-id"] == "JKJaXmPLvHcESHA="
    assert json.loads(answer["body"])["request_id"] == "JKJaXmPLvHcESHA="
    (line,) = (one for one in world.written("ingest") if one["correlation_id"] == "JKJaXmPLvHcESHA=")
    assert (line["message"], line["status"]) == ("refused", answer["statusCode"])
    for stage in stack.of("AWS::ApiGatewayV2::Stage").values():
        assert json.loads(stage["AccessLogSettings"]["Format"])["requestId"] == "$context.requestId"


def test_what_goes_well_names_its_request_too(world: World) -> None:
    answer = world.sample("ingest-one")
    measured = world.written("ingest")[-1]
    assert (answer["statusCode"], measured["correlation_id"]) == (202, answer["headers"]["x-request-id"])
    assert measured["verdicts"] == {"duplicate": 1}


def test_a_batch_that_is_delivered_again_keeps_its_id(world: World) -> None:
    before = len(world.written("counters"))
    for _ in range(2):
        world.stream("counters", {"quarter_hour": {"S": "no quarter-hour"}})
    again = world.written("counters")[before:]
    assert len(again) == 2
    assert {line["correlation_id"] for line in again} == {"counters-1"}


def test_a_failure_is_tied_to_what_failed(world: World) -> None:
    with pytest.raises(KeyError):
        world.run("counters", {})
    (line,) = (
        one for one in world.written("counters") if one.get("message") == "failed" and one["error"] == "KeyError"
    )
    assert (line["level"], line["correlation_id"]) == ("ERROR", line["function_request_id"])


def test_at_debug_no_library_tells_what_it_sends() -> None:
    """Lambda sets the root logger to its own level; botocore at DEBUG writes tokens and every item."""
    script = """
import logging
logging.getLogger().setLevel("DEBUG")
import quarterhour.aws.telemetry
print(logging.getLogger("botocore.auth").isEnabledFor(logging.INFO), quarterhour.aws.telemetry.logger.log_level)
"""
    variables = {"POWERTOOLS_LOG_LEVEL": "DEBUG", "POWERTOOLS_SERVICE_NAME": "api", "AWS_LAMBDA_LOG_LEVEL": "DEBUG"}
    ended = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True
    )
    assert (ended.stdout, ended.stderr) == ("False 10\n", "")
