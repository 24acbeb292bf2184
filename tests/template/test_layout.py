"""How the template is laid out: every resource has its section."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import pytest

from quarterhour_tools.emulator.template import Template
from tests.template.cloudwatch import Alarm, alarms
from tests.template.stack import FILE, Stack, aliased, arn_of, function_names, listed, logical_id, parsed

OPTIONS: Final = {
    "warehouse": ["bucket", "warehouse", "queries for people", "alarms"],
    "notifications": ["queues", "schedules", "notify", "alarms"],
    "intake": ["bucket", "queues", "APIs", "intake", "connections", "alarms"],
    "console": ["APIs", "ingest", "write", "read", "console", "alarms"],
}
"""The sections of the options' templates, in the order in which the core names the options."""
TEXTS: Final = {
    name: (FILE.parent / path).read_text("utf-8")
    for name, path in [("core", FILE.name), *((one, f"options/{one}/template.yaml") for one in OPTIONS)]
}
LONGEST: Final = 2_000
"""The lines of a template that an engineer reviews before lunch."""
SHARED: Final = ["tables", "bucket", "queues", "schedules", "shared by functions", "APIs"]
"""The sections before those of the functions, in their order."""
LAST: Final = ["alarms", "dashboard", "options"]
"""The sections after those of the functions."""
ORDER: Final = [
    {"AWS::Serverless::Function"},
    {"AWS::IAM::Role"},
    {"AWS::SQS::QueuePolicy"},
    {"AWS::Events::Rule", "AWS::Events::EventBusPolicy"},
    {"AWS::StepFunctions::StateMachine"},
    {"AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Route", "AWS::Lambda::Permission"},
]
"""The kinds of resources that a function's section holds, in their order."""


def triggers(name: str) -> Iterator[str]:
    """Yield what starts a function: a route by its method and first part."""
    function = parsed()["Resources"][logical_id(name, "Function")]["Properties"]
    for event in function.get("Events", {}).values():
        properties = event["Properties"]
        match event["Type"]:
            case "HttpApi":
                yield f"{properties['Method']} /{properties['Path'].split('/')[1]}"
            case "DynamoDB":
                yield f"stream of {arn_of(properties['Stream'])}"
            case "SQS":
                yield arn_of(properties["Queue"])
            case "ScheduleV2":
                expression = properties["ScheduleExpression"]
                yield f"schedule {expression['Ref'] if isinstance(expression, dict) else expression}"
    yield from machines(name)
    if logical_id(name, "Function") in of_people():
        yield "PeopleApi"
    elif "Events" not in function:
        yield "an operator"


def machines(name: str) -> list[str]:
    """Return the logical ids of the state machines that invoke a function."""
    resources = parsed()["Resources"].items()
    arn = f"${{{logical_id(name, 'Function')}.Arn}}"
    return [
        logical
        for logical, one in resources
        if one["Type"] == "AWS::StepFunctions::StateMachine" and arn in one["Properties"]["DefinitionString"]["Fn::Sub"]
    ]


def of_people() -> set[str]:
    """Return the logical ids of the functions behind the API for people."""
    resources = parsed()["Resources"].values()
    return {
        aliased(one["Properties"]["IntegrationUri"])
        for one in resources
        if one["Type"] == "AWS::ApiGatewayV2::Integration"
    }


def given_up_to(stack: Stack, name: str) -> set[str]:
    """Return the queues that a function, or Lambda in its name, may send to."""
    sends = [
        one for one in stack.statements(logical_id(name, "Function")) if "sqs:SendMessage" in listed(one["Action"])
    ]
    return {arn_of(queue) for one in sends for queue in listed(one["Resource"])}


def alarmed(stack: Stack, alarm: Alarm, name: str) -> bool:
    """Return whether an alarm looks at a function: at itself, its own metrics or its queues."""
    service = service_of(stack, name)
    own = {("service", service), ("FunctionName", f"{logical_id(name, 'Function')}.Ref")}
    own |= {("StateMachineArn", f"{machine}.Ref") for machine in machines(name)}
    own |= {("QueueName", f"{queue}.QueueName") for queue in given_up_to(stack, name) | set(triggers(name))}
    return any(own & metric.dimensions for metric in alarm.metrics)


def service_of(stack: Stack, name: str) -> str:
    """Return the name under which a function writes its metrics."""
    function = stack.of("AWS::Lambda::Function")[logical_id(name, "Function")]
    return str(function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"])


@pytest.fixture(scope="module")
def known(stack: Stack, template: Template) -> dict[str, Alarm]:
    return alarms(stack, template)


# ---------------------------------------------------------------- the sections


def sections_of(text: str) -> dict[str, list[str]]:
    """Return the logical ids of a template's resources by section, all in the order in which they are written."""
    resources = text.partition("\nResources:\n")[2].partition("\nOutputs:\n")[0]
    _, *parts = re.split(r"^  # ---- (.+) ----$", resources, flags=re.MULTILINE)
    return {
        name: re.findall(r"^  (\w+):$", text, re.MULTILINE) for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


def sections() -> dict[str, list[str]]:
    """Return the logical ids of all templates' resources by section, in which the options hold theirs."""
    found: dict[str, list[str]] = {}
    for text in TEXTS.values():
        for name, ids in sections_of(text).items():
            found.setdefault(name, []).extend(ids)
    del found["options"]
    return found


def kind(resource: str) -> str:
    return str(parsed()["Resources"][resource]["Type"])


def test_the_sections_are_those_shared_then_one_for_each_function() -> None:
    core, *options = (list(sections_of(text)) for text in TEXTS.values())
    assert options == list(OPTIONS.values())
    assert core == [*SHARED, *(one for one in function_names() if one in core), *LAST]
    assert set(function_names()) <= sections().keys()


def test_the_core_names_each_option_in_the_order_known_here() -> None:
    assert sections_of(TEXTS["core"])["options"] == [f"{name.capitalize()}Option" for name in OPTIONS]


def test_every_resource_has_one_section() -> None:
    core, *options = ([*sections_of(text).items()] for text in TEXTS.values())
    written = [name for section, names in core if section != "options" for name in names]
    assert [*written, *(name for one in options for _, names in one for name in names)] == list(parsed()["Resources"])


@pytest.mark.parametrize("name", list(TEXTS))
def test_a_template_can_be_reviewed_at_once(name: str) -> None:
    assert len(TEXTS[name].splitlines()) <= LONGEST


@pytest.mark.parametrize("function", function_names())
class TestEachFunctionsSection:
    def test_begins_with_the_function_and_its_role(self, stack: Stack, function: str) -> None:
        properties = stack.of("AWS::Lambda::Function")[logical_id(function, "Function")]
        assert sections()[function][:2] == [logical_id(function, "Function"), arn_of(properties["Role"])]

    def test_holds_its_resources_in_the_one_order(self, function: str) -> None:
        places = [next(at for at, kinds in enumerate(ORDER) if kind(one) in kinds) for one in sections()[function]]
        assert all(before <= after for before, after in pairwise(places))

    def test_holds_what_leads_people_to_it(self, function: str) -> None:
        leading = [one for one in sections()[function] if kind(one) == "AWS::ApiGatewayV2::Integration"]
        assert bool(leading) == (logical_id(function, "Function") in of_people())
        for one in leading:
            assert aliased(parsed()["Resources"][one]["Properties"]["IntegrationUri"]) == logical_id(
                function, "Function"
            )


@pytest.mark.parametrize(
    ("section", "kinds"),
    [
        ("tables", {"AWS::DynamoDB::Table"}),
        ("bucket", {"AWS::S3::Bucket", "AWS::S3::BucketPolicy"}),
        ("queues", {"AWS::SQS::Queue"}),
        ("schedules", {"AWS::IAM::Role"}),
        ("shared by functions", {"AWS::Serverless::LayerVersion", "AWS::Logs::LogGroup", "AWS::IAM::ManagedPolicy"}),
        ("queries for people", {"AWS::Athena::NamedQuery"}),
        ("alarms", {"AWS::CloudWatch::Alarm"}),
        ("dashboard", {"AWS::CloudWatch::Dashboard"}),
    ],
)
def test_a_shared_section_holds_what_its_name_says(section: str, kinds: set[str]) -> None:
    assert {kind(one) for one in sections()[section]} == kinds
