"""The template as written, and as a deployment would see it."""

import shlex
import tomllib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from samtranslator.translator.transform import transform

from quarterhour_tools.emulator.document import read_document
from tests.support.repository import ROOT

FILE = ROOT / "template.yaml"
FILES = [FILE, *sorted((ROOT / "options").glob("*/template.yaml"))]
"""The core's template, and those of the options."""
CONFIGURATIONS = ROOT / "samconfig.toml"

Properties = dict[str, Any]
OF_OPTIONS = {
    *("TakesIn", "HasBus", "HasSenders", "Notifies", "NotifiesBus"),
    *("Archives", "KeepsWarehouse", "ShowsDashboard"),
}
"""The conditions of what only a deployment with options has."""
OPTIONS = {
    "Intake": "queue-and-bus",
    "Warehouse": "on",
    "Dashboard": "on",
    "IntakeSenders": "210987654321",
    "Notifications": "webhooks-and-bus",
    "LedgerRetentionMonths": "1",
    "JwtIssuer": "https://sign-in.example",
    "JwtAudience": "quarterhour",
}
"""The parameters with which all of them hold."""
NO_VALUE = {"Ref": "AWS::NoValue"}


@dataclass(frozen=True, slots=True)
class Stack:
    """The resources that CloudFormation makes of the template."""

    resources: dict[str, dict[str, Any]]

    def of(self, kind: str) -> dict[str, Properties]:
        """Return the properties of the resources of one type by their logical ids."""
        return {name: one.get("Properties", {}) for name, one in self.resources.items() if one["Type"] == kind}

    def statements(self, function: str) -> list[Properties]:
        """Return what a function's role allows."""
        role = self.of("AWS::IAM::Role")[arn_of(self.of("AWS::Lambda::Function")[function]["Role"])]
        managed = [self.of("AWS::IAM::ManagedPolicy")[one["Ref"]] for one in role.get("ManagedPolicyArns", [])]
        return [one for policy in [*role["Policies"], *managed] for one in policy["PolicyDocument"]["Statement"]]


def arn_of(value: Properties) -> str:
    """Return the logical id of the resource whose ARN stands there."""
    name, attribute = value["Fn::GetAtt"]
    assert attribute in ("Arn", "StreamArn")
    return str(name)


def listed(value: object) -> list[Any]:
    """Return a policy's one or many as a list."""
    return value if isinstance(value, list) else [value]


def aliased(value: Properties) -> str:
    """Return the logical id of the function that a template as written, or as translated, names there.

    It is named by its alias, or by its ARN.
    """
    if "Fn::GetAtt" in value:
        return arn_of(value)
    name, written, _ = str(value["Ref"]).partition(".Alias")
    return name if written else name.removesuffix("Aliaslive")


@cache
def parsed() -> Properties:
    """Return the template as written, with what is nested in it; not to be changed."""
    return read_document(FILE)


@cache
def function_names() -> list[str]:
    """Return the functions' names, which are those of their code's folders."""
    resources = parsed()["Resources"].values()
    return [Path(one["Properties"]["CodeUri"]).name for one in resources if one["Type"] == "AWS::Serverless::Function"]


def function_of(sample: str) -> str:
    """Return the name of the function that a sample in events/ is for."""
    (function,) = (name for name in function_names() if sample.startswith(f"{name.replace('_', '-')}-"))
    return function


def logical_id(function: str, kind: str) -> str:
    """Return the logical id of a function's resource: of ``exchange_rates`` and ``Role``, ``ExchangeRatesRole``."""
    return "".join(part.capitalize() for part in function.split("_")) + kind


class NoManagedPolicies:
    """Stands for the loader of AWS's managed policies, which are too wide for any function here."""

    def load(self) -> NoReturn:
        raise AssertionError("the template attaches a managed policy")


def configured(config: str) -> Properties:
    """Return what one of the configurations in samconfig.toml says for all commands."""
    settings: Properties = tomllib.loads(CONFIGURATIONS.read_text("utf-8"))[config]["global"]["parameters"]
    return settings


def overrides(config: str) -> dict[str, str]:
    """Return the parameters that a configuration sets."""
    return dict(shlex.split(one)[0].split("=", 1) for one in configured(config)["parameter_overrides"])


def deployed() -> Stack:
    """Translate the template as a deployment does. The environment must name a region."""
    return Stack(translated(parsed())["Resources"])


def translated(document: Properties, layer: str = "s3://code/built.zip") -> Properties:
    """Return the plain CloudFormation of a template as it is with the intake and with notifications."""
    return plain(with_options(document), layer)


def plain(document: Properties, layer: str = "s3://code/built.zip") -> Properties:
    """Return the plain CloudFormation of a template as written, with its code and its layer in an S3 bucket."""
    packaged = deepcopy(document)
    for resource in packaged["Resources"].values():
        for place, content in {"CodeUri": "s3://code/built.zip", "ContentUri": layer}.items():
            if place in resource.get("Properties", {}):
                resource["Properties"][place] = content
    result: Properties = transform(packaged, {}, NoManagedPolicies())
    return result


def with_options(value: Any) -> Any:
    """Return a copy of a part of the template as it is with all options."""
    match value:
        case {"Fn::If": [name, then, _]} if name in OF_OPTIONS:
            return with_options(then)
        case dict():
            return {key: with_options(one) for key, one in value.items()}
        case list():
            return [with_options(one) for one in value]
        case _:
            return deepcopy(value)


def chosen(value: Any, holds: Callable[[str], bool]) -> Any:
    """Return a part of a template as it is where conditions hold."""
    match value:
        case {"Fn::If": [condition, then, otherwise]}:
            return chosen(then if holds(condition) else otherwise, holds)
        case dict():
            return {key: new for key, one in value.items() if (new := chosen(one, holds)) != NO_VALUE}
        case list():
            return [new for one in value if (new := chosen(one, holds)) != NO_VALUE]
        case _:
            return value


def attribute(resource: str, name: str) -> str:
    """Stand for an attribute of a deployed resource."""
    return f"{resource}.{name}"
