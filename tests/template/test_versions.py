"""The versions that the APIs invoke: one published of every change, and of nothing else."""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from tests.template.stack import OF_OPTIONS, Properties, Stack, logical_id, parsed, translated
from tests.template.updates import REGION

FUNCTIONS = ["ingest", "write", "read", "connections"]
LONGEST_DESCRIPTION = 256
"""Lambda's limit, in characters."""

Edit = Callable[[Properties], None]
"""Changes the properties of a function."""


@pytest.fixture(autouse=True)
def _region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)


def version_of(stack: Stack, function: str) -> tuple[str, Properties]:
    """Return the logical id of the version behind a function's alias, and its properties."""
    alias = stack.of("AWS::Lambda::Alias")[f"{function}Aliaslive"]
    assert alias["FunctionName"] == {"Ref": function}
    name, attribute = alias["FunctionVersion"]["Fn::GetAtt"]
    assert attribute == "Version"
    version = stack.of("AWS::Lambda::Version")[name]
    assert version["FunctionName"] == {"Ref": function}
    return name, version


def test_the_functions_behind_the_apis_have_an_alias_and_no_others(stack: Stack) -> None:
    routed = {
        name
        for name, one in parsed()["Resources"].items()
        if any(event["Type"] == "HttpApi" for event in one.get("Properties", {}).get("Events", {}).values())
    } | {"ConnectionsFunction"}
    known = {logical_id(name, "Function") for name in FUNCTIONS}
    assert {one["FunctionName"]["Ref"] for one in stack.of("AWS::Lambda::Alias").values()} == known == routed


@pytest.mark.parametrize("name", FUNCTIONS)
class TestEachVersion:
    def test_names_every_parameter_that_its_function_or_layer_depends_on_and_no_other(
        self, stack: Stack, name: str
    ) -> None:
        function = logical_id(name, "Function")
        _, version = version_of(stack, function)
        described = re.findall(r"\$\{(\w+)\}", description_of(version))
        layers = list(stack.of("AWS::Lambda::LayerVersion").values())
        # As written, too: the stack has all options, so it does not show which parameters turn them on.
        written = parsed()["Resources"][function]["Properties"]["Environment"]["Variables"]
        conditions = [parsed()["Conditions"][one] for one in OF_OPTIONS if f"'Fn::If': ['{one}'" in str(written)]
        needed = parameters([stack.of("AWS::Lambda::Function")[function], layers, conditions])
        assert sorted(described) == sorted(needed - local()), "outside AWS there are no versions"

    def test_never_describes_two_lists_of_values_alike(self, stack: Stack, name: str) -> None:
        _, version = version_of(stack, logical_id(name, "Function"))
        assert re.fullmatch(r"\$\{\w+\}( \$\{\w+\})*", description_of(version))
        for name_, short in shortened(name).items():
            condition, *texts = short["Fn::If"]
            values = parsed()["Parameters"][name_]["AllowedValues"]
            assert parsed()["Conditions"][condition]["Fn::Equals"] == [{"Ref": name_}, values[1]]
            assert len(values) == len(set(texts)) == 2

    def test_describes_the_longest_values_in_the_characters_that_lambda_takes(self, stack: Stack, name: str) -> None:
        _, version = version_of(stack, logical_id(name, "Function"))
        short = shortened(name)
        text = re.sub(
            r"\$\{(\w+)\}",
            lambda match: max(short[match[1]]["Fn::If"][1:], key=len) if match[1] in short else longest(match[1]),
            description_of(version),
        )
        assert len(text) <= LONGEST_DESCRIPTION

    def test_is_a_new_one_when_the_template_changes_the_function(self, stack: Stack, name: str) -> None:
        function = logical_id(name, "Function")
        before, _ = version_of(stack, function)
        for edit in (memory, variable):
            assert version_of(edited(edit, *FUNCTIONS), function)[0] != before

    def test_is_a_new_one_when_the_layer_changes(self, stack: Stack, name: str) -> None:
        function = logical_id(name, "Function")
        assert version_of(with_other_layer(), function)[0] != version_of(stack, function)[0]

    def test_stays_when_another_function_changes(self, stack: Stack, name: str) -> None:
        function = logical_id(name, "Function")
        assert version_of(edited(memory, "report"), function)[0] == version_of(stack, function)[0]

    def test_is_deleted_when_another_takes_its_place(self, stack: Stack, name: str) -> None:
        version, _ = version_of(stack, logical_id(name, "Function"))
        assert stack.resources[version]["DeletionPolicy"] == "Delete"
        assert "UpdateReplacePolicy" not in stack.resources[version]

    def test_has_a_snapshot_only_with_the_parameter(self, stack: Stack, name: str) -> None:
        function = stack.of("AWS::Lambda::Function")[logical_id(name, "Function")]
        assert function["SnapStart"] == {"ApplyOn": {"Fn::If": ["SnapStarts", "PublishedVersions", "None"]}}
        assert parsed()["Conditions"]["SnapStarts"] == {"Fn::Equals": [{"Ref": "SnapStart"}, "on"]}
        assert not function.keys() & {"EphemeralStorage", "FileSystemConfigs"}, "SnapStart takes none"


def description_of(version: Properties) -> str:
    """Return the description of a version, with the names of its parameters."""
    found = version["Description"]["Fn::Sub"]
    return str(found if isinstance(found, str) else found[0])


def shortened(name: str) -> Properties:
    """Return the parameters of two values that the description of a function holds as shorter texts."""
    found = parsed()["Resources"][logical_id(name, "Function")]["Properties"]["VersionDescription"]["Fn::Sub"]
    return {} if isinstance(found, str) else dict(found[1])


def parameters(value: Any) -> set[str]:
    """Return the parameters that a part of the template depends on, directly and through conditions."""
    return {name for name in named(value) if name in parsed()["Parameters"]}


def local() -> set[str]:
    """Return the parameters for local development."""
    groups = parsed()["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    return {name for one in groups if one["Label"]["default"] == "Local development" for name in one["Parameters"]}


def named(value: Any) -> Iterator[str]:
    """Yield the names that a part of the template refers to."""
    match value:
        case {"Ref": str(name)}:
            yield name
        case {"Condition": str(condition)}:
            yield from named(parsed()["Conditions"][condition])
        case {"Fn::If": [condition, *values]}:
            yield from named(parsed()["Conditions"][condition])
            yield from named(values)
        case {"Fn::Sub": text}:
            yield from re.findall(r"\$\{(\w+)", str(text))
            yield from named(text if isinstance(text, list) else [])
        case dict():
            yield from named(list(value.values()))
        case list():
            for one in value:
                yield from named(one)


def longest(parameter: str) -> str:
    """Return a text as long as the longest value of a parameter."""
    match parsed()["Parameters"][parameter]:
        case {"AllowedValues": values}:
            return str(max(map(str, values), key=len))
        case {"MaxValue": most}:
            return str(most)
        case rules:
            return str("x" * rules["MaxLength"])


def memory(function: Properties) -> None:
    """Give a function other memory."""
    function["MemorySize"] = 2048


def variable(function: Properties) -> None:
    """Give a function one more variable."""
    function["Environment"]["Variables"]["NEW"] = 1


@cache
def edited(edit: Edit, *functions: str) -> Stack:
    """Return the deployment of the template with these functions edited; translating it takes long."""
    document = deepcopy(parsed())
    for name in functions:
        edit(document["Resources"][logical_id(name, "Function")]["Properties"])
    return Stack(translated(document)["Resources"])


@cache
def with_other_layer() -> Stack:
    """Return the deployment of the template with another layer."""
    return Stack(translated(parsed(), layer="s3://code/other.zip")["Resources"])
