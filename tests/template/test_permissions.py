"""Each function's permissions against the calls that it really makes: none is missing, none is spare."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase

import pytest
from moto import mock_aws

from quarterhour.aws.entity import LATEST
from quarterhour.ledger.postings.segments import archived_item
from quarterhour.messages.keys import SubjectKind, Thread
from quarterhour.model.clock import ManualClock, using
from quarterhour.orders.keys import customer_pk
from quarterhour.reports.keys import PENDING
from quarterhour.snapshots.keys import window_partitions
from quarterhour.snapshots.layers import LAYERS
from quarterhour_tools.emulator.direct import embedded
from quarterhour_tools.emulator.template import Template
from tests.support.builders import posting_item
from tests.support.cases import cases
from tests.support.repository import ROOT
from tests.template.calls import Call, World
from tests.template.day import PARAMETERS, live_through
from tests.template.stack import Properties, Stack, arn_of, listed, logical_id, parsed

FUNCTIONS = [
    *("ingest", "write", "read", "counters", "snapshots"),
    *("report", "statements", "watch", "repair", "billing", "intake", "connections", "notify"),
]
STANDARD = {"Log", "ReadStream", "ReadQueues", "GiveUp"}
"""Statements for what Lambda does in the function's name: no call of the code shows it, so it has its own rules."""
QUEUE_READING = ["DeleteMessage", "GetQueueAttributes", "ReceiveMessage"]
STREAM_READING = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"]
BY_KEY = {
    *("BatchGetItem", "BatchWriteItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PartiQLInsert"),
    *("PartiQLUpdate", "PutItem", "Query", "UpdateItem"),
}
"""What always names the partition keys that it is about."""

Grant = tuple[str, str, str, str]
"""Statement, action, resource pattern and key pattern (empty where the statement is about all keys)."""


@pytest.fixture(scope="module")
def world(stack: Stack) -> Iterator[World]:
    """The system after a day in which every function met everything that it has a call for."""
    clock = ManualClock(datetime(2026, 10, 23, 1, 40, tzinfo=UTC))
    with mock_aws(), embedded(), using(clock), pytest.MonkeyPatch.context() as patch:
        world = World(clock)
        world.build(Template(parsed(), ROOT, PARAMETERS), stack, patch)
        live_through(world)
        yield world


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
    patterns: list[str] = condition.get("dynamodb:LeadingKeys", [])
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


def test_the_archive_may_write_what_an_archived_item_holds_and_no_events(stack: Stack) -> None:
    (archive,) = (one for one in stack.statements("ReportFunction") if one["Sid"] == "Archive")
    written = list(archived_item(posting_item(), 1, part=0))
    assert archive["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:Attributes": written}}


def test_the_functions_are_those_known_here(world: World) -> None:
    assert sorted(world.functions) == sorted([*FUNCTIONS, "console"]), "the console calls nothing"


@cases("name", FUNCTIONS)
def test_a_function_may_make_every_call_that_it_makes(world: World, stack: Stack, name: str) -> None:
    statements = stack.statements(logical_id(name, "Function"))
    assert world.calls[name]
    assert [call for call in sorted(world.calls[name]) if not list(grants(statements, call))] == []


@cases("name", FUNCTIONS)
def test_a_function_makes_a_call_of_every_kind_that_it_may_make(world: World, stack: Stack, name: str) -> None:
    statements = stack.statements(logical_id(name, "Function"))
    used = {grant for call in world.calls[name] for grant in grants(statements, call)}
    given = {
        (one["Sid"], action, str(pattern), keys)
        for one in statements
        if one["Sid"] not in STANDARD
        for action in listed(one["Action"])
        for pattern in listed(one["Resource"])
        if action != "sqs:SendMessage" or "DeadLetterQueue" not in str(pattern)
        for keys in leading_keys(one) or [""]
    }
    assert given - used == set()


@cases("name", FUNCTIONS)
def test_lambda_may_do_in_a_functions_name_what_its_events_need_and_no_more(stack: Stack, name: str) -> None:
    function = {"Ref": logical_id(name, "Function")}
    mappings = [one for one in stack.of("AWS::Lambda::EventSourceMapping").values() if one["FunctionName"] == function]
    invocations = [
        one for one in stack.of("AWS::Lambda::EventInvokeConfig").values() if one["FunctionName"] == function
    ]
    needed = {f"logs:{action} FunctionLogGroup" for action in ("CreateLogStream", "PutLogEvents")}
    of_queues = [one for one in mappings if "StartingPosition" not in one]
    mappings = [one for one in mappings if "StartingPosition" in one]
    for mapping in of_queues:
        needed |= {f"sqs:{action} {arn_of(mapping['EventSourceArn'])}" for action in QUEUE_READING}
    for mapping in mappings:
        needed |= {f"dynamodb:{action} {arn_of(mapping['EventSourceArn'])}" for action in STREAM_READING}
    for one in mappings + invocations:
        needed.add(f"sqs:SendMessage {arn_of(one['DestinationConfig']['OnFailure']['Destination'])}")
    given = {
        f"{action} {arn_of(resource)}"
        for one in stack.statements(function["Ref"])
        for action in listed(one["Action"])
        for resource in listed(one["Resource"])
        if one["Sid"] in STANDARD or (action == "sqs:SendMessage" and "DeadLetterQueue" in str(resource))
    }
    assert given == needed


@cases("name", FUNCTIONS)
def test_what_is_open_by_its_keys_opens_nothing_to_a_call_that_names_none(stack: Stack, name: str) -> None:
    """ForAllValues holds for a call without any key, such as a Scan: so none of those is permitted."""
    for one in stack.statements(logical_id(name, "Function")):
        tables = [resource for resource in listed(one["Resource"]) if "Table" in str(resource)]
        if tables and one["Sid"] not in STANDARD:
            assert {action.removeprefix("dynamodb:") for action in listed(one["Action"])} <= BY_KEY, one["Sid"]
        if any("EntityTable" in str(table) for table in tables) and one["Sid"] not in STANDARD:
            assert leading_keys(one), f"{one['Sid']} is about the keys of every entity"


READING = {
    *("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "s3:GetObject"),
    *("scheduler:GetSchedule", "sqs:GetQueueAttributes"),
}


def test_the_reading_function_can_write_nothing_but_its_own_log(stack: Stack) -> None:
    assert {
        action for one in stack.statements("ReadFunction") if one["Sid"] != "Log" for action in listed(one["Action"])
    } == READING


# ---------------------------------------------------------------- the partitions of windows


def window_patterns(stack: Stack) -> list[str]:
    """Return the key patterns of the partitions of windows that the reading function may read."""
    (statement,) = (one for one in stack.statements("ReadFunction") if one["Sid"] == "ReadWindows")
    return leading_keys(statement)


def test_the_reading_function_may_read_the_windows_of_every_layer(stack: Stack) -> None:
    patterns = window_patterns(stack)
    for layer in LAYERS[1:]:
        for partition in window_partitions(f"{layer.name}#2026-10-23T01:30:00Z"):
            assert any(fnmatchcase(partition, one) for one in patterns), partition


@pytest.mark.parametrize("name", ["tom", "smith", "5m", "1h", "1d", "12h", "m", "h"])
def test_the_reading_function_may_read_nothing_else_of_the_windows_index(stack: Stack, name: str) -> None:
    others = [
        *(partition for kind in SubjectKind for partition in Thread(kind, name).partitions),
        *Thread(SubjectKind.LINES, f"shop#{name}").partitions,
        *window_partitions(LATEST),
        customer_pk(name),
        customer_pk(f"{name}#1"),
        PENDING,
    ]
    patterns = window_patterns(stack)
    assert [partition for partition in others if any(fnmatchcase(partition, one) for one in patterns)] == []
