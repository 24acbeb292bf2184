"""The options: each alone and all together fit the core, an option that is off is nothing, and none loses its data."""

import re
from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any, Final

import pytest

from quarterhour_tools.emulator.document import SUBSTITUTED, parse
from quarterhour_tools.emulator.template import Template
from tests.support.repository import ROOT
from tests.template.stack import Properties, parsed

ON: Final[dict[str, dict[str, str]]] = {
    "warehouse": {"Warehouse": "on"},
    "notifications": {"Notifications": "webhooks"},
    "intake": {"Intake": "queue"},
    "console": {"JwtIssuer": "https://sign-in.example", "JwtAudience": "quarterhour"},
}
"""The parameters that turn each option on."""
CHOICES: Final = list(chain.from_iterable(combinations(ON, size) for size in range(len(ON) + 1)))
HOLDS_DATA: Final = {"AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::S3::Bucket", "AWS::S3::BucketPolicy"}


def deployment(options: tuple[str, ...]) -> Template:
    """Return the template with these options on."""
    return Template(parsed(), ROOT, dict(chain.from_iterable(ON[name].items() for name in options)))


def own(option: str) -> Properties:
    """Return the resources of an option's own template."""
    found: Properties = parse((ROOT / "options" / option / "template.yaml").read_text("utf-8"))["Resources"]
    return found


def holds(template: Template, part: Properties) -> bool:
    """Return whether a resource or an output is there."""
    return "Condition" not in part or template.holds(part["Condition"])


def named(template: Template, value: Any) -> Iterator[str]:
    """Yield the names that a part of the template refers to, as its conditions hold."""
    match value:
        case {"Ref": str(name)}:
            yield name
        case {"Fn::GetAtt": [str(name), _]}:
            yield name
        case {"Fn::If": [condition, then, otherwise]}:
            yield from named(template, then if template.holds(condition) else otherwise)
        case {"Fn::Sub": str(text)}:
            yield from (name.partition(".")[0] for name in SUBSTITUTED.findall(text))
        case {"Fn::Sub": [str(text), dict(values)]}:
            yield from (name for name in SUBSTITUTED.findall(text) if name.partition(".")[0] not in values)
            yield from named(template, values)
        case dict():
            for one in value.values():
                yield from named(template, one)
        case list():
            for one in value:
                yield from named(template, one)


@pytest.mark.parametrize("options", CHOICES, ids=" ".join)
def test_whatever_is_on_refers_to_nothing_that_is_off(options: tuple[str, ...]) -> None:
    template = deployment(options)
    there = {name: one for name, one in parsed()["Resources"].items() if holds(template, one)}
    outputs = [one for one in parsed()["Outputs"].values() if holds(template, one)]
    parts = [*(one.get("Properties") for one in there.values()), *outputs]
    known = there.keys() | template.parameters.keys()
    names = {name.partition(".")[0] for name in chain.from_iterable(named(template, part) for part in parts)}
    assert {name for name in names if not name.startswith("AWS::")} - known == set()


@pytest.mark.parametrize("option", list(ON))
class TestEachOption:
    def test_adds_what_its_template_holds_and_nothing_else(self, option: str) -> None:
        off, on = deployment(()), deployment((option,))
        resources = parsed()["Resources"].items()
        added = {name for name, one in resources if holds(on, one) and not holds(off, one)}
        # The console's API is the core's: the bucket of sealed files lets its pages read files, before it has any.
        assert added - {"PeopleApi"} <= own(option).keys()
        assert {name for name, one in own(option).items() if "Condition" not in one} <= added

    def test_keeps_its_data_when_it_is_turned_off_and_finds_no_name_taken_when_it_is_turned_on_again(
        self, option: str
    ) -> None:
        for name, one in own(option).items():
            if one["Type"] in HOLDS_DATA:
                assert (one["DeletionPolicy"], one["UpdateReplacePolicy"]) == ("Retain", "Retain"), name
                assert not [key for key in one["Properties"] if re.fullmatch(r"(?:Bucket|Queue|Table)Name", key)], name

    def test_tells_its_alarms_where_to_go(self, option: str) -> None:
        alarms = [one["Properties"] for one in own(option).values() if one["Type"] == "AWS::CloudWatch::Alarm"]
        assert alarms
        topic = {"Fn::If": ["AlarmsAreSent", [{"Ref": "AlarmTopicArn"}], []]}
        assert all(one["AlarmActions"] == one["OKActions"] == topic for one in alarms)
