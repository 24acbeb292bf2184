"""Each function's permissions against the calls that it really makes: none is missing, none is spare."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase

import pytest
from moto import mock_aws

from local.template import Template
from quarterhour.clock import ManualClock, using
from tests.template.calls import Call, World
from tests.template.stack import Properties, Stack, listed

FUNCTIONS = ["ingest", "counters", "snapshots", "report", "rebuild", "unpark", "api"]
STANDING = {"Log", "ReadStream", "GiveUp", "TellMissing"}
"""Statements for what Lambda does in the function's name, and for how S3 answers: no call of the code shows them."""

ALL_DONE: Properties = {"batchItemFailures": []}
Grant = tuple[str, str, str]
"""Statement, action and resource pattern."""


@pytest.fixture(scope="module")
def world(template: Template, stack: Stack) -> Iterator[World]:
    """The system after a day in which every function met everything that it has a call for."""
    clock = ManualClock(datetime(2026, 10, 23, 1, 40, tzinfo=UTC))
    with mock_aws(), using(clock), pytest.MonkeyPatch.context() as patch:
        world = World(clock)
        world.build(template, stack, patch)
        live_through(world)
        yield world


def live_through(world: World) -> None:
    """Let every function meet everything that it has a call for."""
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

    # Counted only now, so that the next run settles the verdict.
    assert world.stream("counters", *world.standing("LedgerTable"), {"quarter_hour": {"S": "no bucket"}}) == ALL_DONE
    world.pass_time(hours=1)
    world.sample("report-schedule")

    states = [item for item in world.standing("EntityTable") if item["sk"]["S"] == "latest"]
    assert states
    assert world.stream("snapshots", *states, {"pk": {"S": "ACCOUNT#"}, "sk": {"S": "latest"}}) == ALL_DONE

    for name in ("account", "quarters", "days", "snapshots", "trend", "window", "reports", "events"):
        assert world.sample(f"api-{name}")["statusCode"] == 200, name
    assert world.sample("api-report", run=sealed["runs"][0])["statusCode"] == 200

    forget_counters(world)
    assert world.sample("rebuild-account")["mended"] > 0

    # Parked by a version that could not read them; this one can.
    forget_counters(world)
    world.park("CountersParkedQueue", next(item for item in world.standing("LedgerTable") if "customer" in item))
    world.park("SnapshotsParkedQueue", states[0])
    unparked = world.sample("unpark")
    assert unparked == {"snapshots": {"applied": 1, "kept": 1}, "counters": {"applied": 1, "kept": 1}}, "poison stays"
    assert any(item["sk"]["S"] == "latest" for item in world.standing("EntityTable"))


def forget_counters(world: World) -> None:
    """Lose all that was counted."""
    for item in world.standing("EntityTable"):
        if item["pk"]["S"].startswith(("ACCOUNT#", "SEEN#")):
            world.remove("EntityTable", {name: item[name] for name in ("pk", "sk")})


def matches(pattern: Properties, resource: str) -> bool:
    """Tell whether a statement's resource covers a call's."""
    if "Fn::GetAtt" in pattern:
        return bool(pattern["Fn::GetAtt"][0] == resource)
    return fnmatchcase(resource, pattern["Fn::Sub"].replace("${", "").replace(".Arn}", ""))


def fits(statement: Properties, call: Call) -> bool:
    """Tell whether a statement's condition on the partition keys holds."""
    if "Condition" not in statement:
        return True
    ((operator, condition),) = statement["Condition"].items()
    assert operator in {"ForAllValues:StringEquals", "ForAllValues:StringLike"}
    patterns = condition["dynamodb:LeadingKeys"]
    return all(any(fnmatchcase(key, one) for one in patterns) for key in call.keys)


def grants(statements: list[Properties], call: Call) -> Iterator[Grant]:
    """Yield what permits a call."""
    for statement in statements:
        if call.action in listed(statement["Action"]) and fits(statement, call):
            for pattern in listed(statement["Resource"]):
                if matches(pattern, call.resource):
                    yield statement["Sid"], call.action, str(pattern)


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
        (one["Sid"], action, str(pattern))
        for one in statements
        if one["Sid"] not in STANDING
        for action in listed(one["Action"])
        for pattern in listed(one["Resource"])
        if "DeadLetterQueue" not in str(pattern)
    }
    assert given - used == set()
