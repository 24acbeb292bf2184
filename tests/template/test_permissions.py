"""Each function's permissions against the calls that it really makes: none is missing, none is spare."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase

import pytest
from moto import mock_aws

from local.template import Template
from quarterhour.clock import ManualClock, using
from quarterhour.errors import SealedFileError
from tests.template.calls import Call, World
from tests.template.stack import ROOT, Properties, Stack, arn_of, listed, parsed

FUNCTIONS = [
    *("ingest", "counters", "snapshots", "report", "rebuild", "unpark", "api"),
    *("threads", "rates", "documents", "orders", "billing"),
    "schedule",
    "watch",
]
STANDING = {"Log", "ReadStream", "GiveUp"}
"""Statements for what Lambda does in the function's name: no call of the code shows it, so it has rules of its own."""
STREAM_READING = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"]
BY_KEY = {"BatchGetItem", "BatchWriteItem", "GetItem", "PutItem", "Query", "UpdateItem"}
"""What always names the partition keys that it is about."""
LAYERS = "change=1h,5m=24h,1h=31d,1d=90d"

ALL_DONE: Properties = {"batchItemFailures": []}
Grant = tuple[str, str, str, str]
"""Statement, action, resource pattern and key pattern (empty where the statement is about all keys)."""


@pytest.fixture(scope="module")
def world(stack: Stack) -> Iterator[World]:
    """The system after a day in which every function met everything that it has a call for."""
    clock = ManualClock(datetime(2026, 10, 23, 1, 40, tzinfo=UTC))
    with mock_aws(), using(clock), pytest.MonkeyPatch.context() as patch:
        world = World(clock)
        world.build(Template(parsed(), ROOT, {"SnapshotLayers": LAYERS, "BaseCurrency": "EUR"}), stack, patch)
        live_with_documents(world)
        live_through(world)
        live_with_orders(world)
        # Whatever has a current state by now, its snapshots are kept.
        states = [item for item in world.standing("EntityTable") if item["sk"]["S"] == "latest"]
        assert world.stream("snapshots", *states) == ALL_DONE
        yield world


def live_with_documents(world: World) -> None:
    """Let an agency have a rate card, by which events to come are charged."""
    for name in ("write", "write", "latest", "versions", "version", "metadata", "permit", "permissions"):
        assert world.sample(f"documents-{name}", document="rate-card:Nord & Süd")["statusCode"] in {200, 201}, name


def live_through(world: World) -> None:
    """Let every function meet everything that it has a call for."""
    for name in ("put", "put", "all", "one"):
        assert world.sample(f"rates-{name}")["statusCode"] == 200, name

    recorded = world.sample("ingest-batch")
    assert recorded["statusCode"] == 202, recorded

    # A claim whose append was lost, retried when its bucket is long settled: looked for, then moved.
    lost = json.loads(recorded["body"])["items"][0]["receipt"]
    world.remove("LedgerTable", {"quarter_hour": {"S": lost["partition"]}, "position": {"S": lost["position"]}})
    world.pass_time(hours=1)
    assert world.sample("ingest-one")["statusCode"] == 202

    # Sealed once more after a crash that forgot the checkpoint: the files are there, and the same.
    world.pass_time(hours=1)
    (checkpoint,) = (item for item in world.standing("EntityTable") if item["sk"]["S"] == "checkpoint")
    sealed = world.sample("report-schedule")
    assert (sealed["lines"], sealed["complete"]) == (4, True)
    world.put("EntityTable", checkpoint)
    assert world.sample("report-schedule") == sealed

    with world.without_sealed_lines():
        assert world.run("report", {"reseal": sealed["runs"][0]})["written"]

    # Counted only now, so that a later run settles the verdict, once it finds the file.
    assert world.stream("counters", *world.standing("LedgerTable"), {"quarter_hour": {"S": "no bucket"}}) == ALL_DONE
    world.pass_time(hours=1)
    with world.without_sealed_lines(), pytest.raises(SealedFileError, match="is gone"):
        world.sample("report-schedule")
    world.sample("report-schedule")

    for name in ("snapshots", "trend"):
        assert world.sample(f"rates-{name}")["statusCode"] == 200, name

    states = [item for item in world.standing("EntityTable") if item["sk"]["S"] == "latest"]
    assert states
    assert world.stream("snapshots", *states, {"pk": {"S": "ACCOUNT#"}, "sk": {"S": "latest"}}) == ALL_DONE

    read_everything(world, sealed["runs"][0])

    assert world.sample("threads-write")["statusCode"] == 201
    for name in ("list", "user"):
        assert world.sample(f"threads-{name}")["statusCode"] == 200, name
    assert world.sample("threads-list", kind="reports", subject=sealed["runs"][0])["statusCode"] == 200
    assert world.sample("threads-list", kind="orders", subject="none")["statusCode"] == 404
    assert world.sample("threads-person", subject=sealed["runs"][0])["statusCode"] == 403, "nobody has allowed it"

    world.deploy_schedule()
    for name in ("put", "get"):
        assert world.sample(f"schedule-{name}")["statusCode"] == 200, name
    world.deploy_schedule()
    assert world.sample("watch-tick")["mended"], "what was asked for goes before what was deployed"

    forget_counters(world)
    with world.without_sealed_lines(), pytest.raises(SealedFileError, match="is gone"):
        world.sample("rebuild-account")
    assert world.sample("rebuild-account")["mended"] > 0

    # Parked by a version that could not read them; this one can.
    forget_counters(world)
    world.park("CountersParkedQueue", next(item for item in world.standing("LedgerTable") if "customer" in item))
    kinds = {item["pk"]["S"].partition("#")[0]: item for item in states}
    for state in kinds.values():
        world.park("SnapshotsParkedQueue", state)
    unparked = world.sample("unpark")
    assert unparked == {"snapshots": {"applied": len(kinds), "kept": 1}, "counters": {"applied": 1, "kept": 1}}, (
        "poison stays"
    )
    assert any(item["sk"]["S"] == "latest" for item in world.standing("EntityTable"))
    world.park("CountersParkedQueue", next(item for item in world.standing("LedgerTable") if "customer" in item))
    with world.without_sealed_lines(), pytest.raises(SealedFileError, match="is gone"):
        world.sample("unpark")


def live_with_orders(world: World) -> None:
    """Let an order be created, found in every way, paid, cancelled, and billed, at once or from the parked ones."""
    assert [world.sample("orders-create")["statusCode"] for _ in range(2)] == [201, 200]
    world.pass_time(minutes=1)
    for name in ("get", "work", "customer", "items", "status"):
        assert world.sample(f"orders-{name}")["statusCode"] == 200, name
    due = json.loads((ROOT / "events" / "billing-batch.json").read_text("utf-8"))["Records"]
    no_order = {**due[0], "dynamodb": {**due[0]["dynamodb"], "NewImage": {}}}
    assert world.run("billing", {"Records": [no_order, *due]}) == ALL_DONE

    # Billed again after a claim whose append was lost, when its bucket is long settled.
    for item in world.standing("LedgerTable"):
        if item["source"]["S"] == "orders":
            world.remove("LedgerTable", {name: item[name] for name in ("quarter_hour", "position")})
    world.pass_time(hours=1)
    world.park("BillingParkedQueue", due[0]["dynamodb"]["NewImage"], "MODIFY")
    assert world.sample("billing-unpark") == {"billing": {"applied": 1, "kept": 1}}, "poison stays"


def read_everything(world: World, run: str) -> None:
    """Let all that the reading function can be asked be asked."""
    for name in (
        "account",
        "changes",
        "quarters",
        "days",
        "snapshots",
        "trend",
        "window",
        "reports",
        "events",
        "explain",
        "source",
        "location",
        "locations",
    ):
        assert world.sample(f"api-{name}")["statusCode"] == 200, name
    for layer in ("5m", "1d"):
        world.sample("api-window", layer=layer)
    assert world.sample("api-report", run=run)["statusCode"] == 200
    assert world.sample("api-report-person", run=run)["statusCode"] == 404, "nobody has allowed it"


def forget_counters(world: World) -> None:
    """Lose all that was counted."""
    for item in world.standing("EntityTable"):
        if item["pk"]["S"].startswith(("ACCOUNT#", "SEEN#")):
            world.remove("EntityTable", {name: item[name] for name in ("pk", "sk")})


def matches(pattern: Properties, resource: str) -> bool:
    """Tell whether a statement's resource covers a call's."""
    if "Fn::GetAtt" in pattern:
        return bool(pattern["Fn::GetAtt"][0] == resource)
    named = re.sub(r"\$\{(\w+)\.Arn\}", r"\1", pattern["Fn::Sub"])
    return fnmatchcase(resource, re.sub(r"\$\{[^}]+\}", "*", named))


def leading_keys(statement: Properties) -> list[str]:
    """Return the patterns of the partition keys that a statement is about; none where it is about all."""
    if "Condition" not in statement or statement["Action"] == "iam:PassRole":
        return []
    ((operator, condition),) = statement["Condition"].items()
    assert operator in {"ForAllValues:StringEquals", "ForAllValues:StringLike"}
    patterns: list[str] = condition["dynamodb:LeadingKeys"]
    return patterns


def fits(statement: Properties, call: Call) -> bool:
    """Tell whether a statement's condition on the partition keys holds."""
    patterns = leading_keys(statement)
    return not patterns or all(any(fnmatchcase(key, one) for one in patterns) for key in call.keys)


def grants(statements: list[Properties], call: Call) -> Iterator[Grant]:
    """Yield what permits a call."""
    for statement in statements:
        if call.action in listed(statement["Action"]) and fits(statement, call):
            for pattern in listed(statement["Resource"]):
                if matches(pattern, call.resource):
                    for keys in leading_keys(statement) or [""]:
                        if not keys or any(fnmatchcase(key, keys) for key in call.keys):
                            yield statement["Sid"], call.action, str(pattern), keys


def test_the_functions_are_those_known_here(world: World) -> None:
    assert sorted(world.functions) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_may_make_every_call_that_it_makes(world: World, stack: Stack, name: str) -> None:
    statements = stack.statements(f"{name.capitalize()}Function")
    assert world.calls[name]
    assert [call for call in sorted(world.calls[name]) if not list(grants(statements, call))] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_makes_a_call_of_every_kind_that_it_may_make(world: World, stack: Stack, name: str) -> None:
    statements = stack.statements(f"{name.capitalize()}Function")
    used = {grant for call in world.calls[name] for grant in grants(statements, call)}
    given = {
        (one["Sid"], action, str(pattern), keys)
        for one in statements
        if one["Sid"] not in STANDING
        for action in listed(one["Action"])
        for pattern in listed(one["Resource"])
        if "DeadLetterQueue" not in str(pattern)
        for keys in leading_keys(one) or [""]
    }
    assert given - used == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_lambda_may_do_in_a_functions_name_what_its_events_need_and_no_more(stack: Stack, name: str) -> None:
    function = {"Ref": f"{name.capitalize()}Function"}
    mappings = [one for one in stack.of("AWS::Lambda::EventSourceMapping").values() if one["FunctionName"] == function]
    invocations = [
        one for one in stack.of("AWS::Lambda::EventInvokeConfig").values() if one["FunctionName"] == function
    ]
    needed = {f"logs:{action} {name.capitalize()}LogGroup" for action in ("CreateLogStream", "PutLogEvents")}
    for mapping in mappings:
        needed |= {f"dynamodb:{action} {arn_of(mapping['EventSourceArn'])}" for action in STREAM_READING}
    for one in mappings + invocations:
        needed.add(f"sqs:SendMessage {arn_of(one['DestinationConfig']['OnFailure']['Destination'])}")
    given = {
        f"{action} {arn_of(resource)}"
        for one in stack.statements(function["Ref"])
        for action in listed(one["Action"])
        for resource in listed(one["Resource"])
        if one["Sid"] in STANDING or "DeadLetterQueue" in str(resource)
    }
    assert given == needed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_open_by_its_keys_opens_nothing_to_a_call_that_names_none(stack: Stack, name: str) -> None:
    """ForAllValues holds for a call without any key, such as a Scan: so none of those is permitted."""
    for one in stack.statements(f"{name.capitalize()}Function"):
        tables = [resource for resource in listed(one["Resource"]) if "Table" in str(resource)]
        if tables and one["Sid"] not in STANDING:
            assert {action.removeprefix("dynamodb:") for action in listed(one["Action"])} <= BY_KEY, one["Sid"]
        if any("EntityTable" in str(table) for table in tables) and one["Sid"] not in STANDING:
            assert leading_keys(one), f"{one['Sid']} is about the keys of every entity"
