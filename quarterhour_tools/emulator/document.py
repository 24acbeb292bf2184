"""Reads a template and the applications nested in it as one document, as CloudFormation deploys them together."""

import os
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from samtranslator.yaml_helper import intrinsics_multi_constructor

from quarterhour_tools.errors import ToolError

Properties = dict[str, Any]

APPLICATION: Final = "AWS::Serverless::Application"
FUNCTION: Final = "AWS::Serverless::Function"
_OUTPUT: Final = re.compile(r"\$\{(\w+)\.Outputs\.(\w+)\}")
_PATHS: Final = ("CodeUri", "ContentUri")
SUBSTITUTED: Final = re.compile(r"\$\{([^!}][^}]*)\}")
"""A name in the text of ``!Sub``."""


class _Loader(yaml.CSafeLoader):
    """Reads CloudFormation's tags as SAM does, but by the library in C: every start of the stack waits for it."""


_Loader.add_multi_constructor("!", intrinsics_multi_constructor)


def parse(text: str) -> Properties:
    """Return what a template's text says."""
    document: Properties = yaml.load(text, _Loader)  # noqa: S506 - a safe one  # nosec B506
    return document


@cache
def read_document(path: Path) -> Properties:
    """Read a template: each nested application's resources are in its place, and no ``Globals`` are left.

    Paths are relative to the template's folder. It is read once in a process, and nothing changes it.
    """
    document = _own(path, path.parent)
    conditions = dict(document.get("Conditions", {}))
    resources: dict[str, Properties] = {}
    outputs: dict[str, Properties] = {}
    dependencies: dict[str, list[str]] = {}
    for name, resource in document["Resources"].items():
        inside = {name: resource}
        if resource["Type"] == APPLICATION:
            child = _nested(path, name, resource)
            inside, outputs[name], dependencies[name] = child["Resources"], child["Outputs"], [*child["Resources"]]
            for condition, holds in child["Conditions"].items():
                if condition not in conditions:
                    conditions[condition] = _both(resource.get("Condition"), holds)
                elif conditions[condition] != holds:
                    raise ToolError(f"{name} has another condition {condition} than the template around it")
        for one in inside.keys() & resources.keys():
            raise ToolError(f"the resource {one} is in two templates")
        resources.update(inside)
    for resource in resources.values():
        if "DependsOn" in resource:
            depends = resource["DependsOn"]
            names = [depends] if isinstance(depends, str) else depends
            resource["DependsOn"] = [one for name in names for one in dependencies.get(name, [name])]
    joined = {**document, "Conditions": conditions, "Resources": resources}
    return {key: _with_outputs(value, outputs) for key, value in joined.items()}


def _own(path: Path, root: Path) -> Properties:
    """Read one template without its nested applications; its paths become relative to ``root``."""
    document = parse(path.read_text(encoding="utf-8"))
    shared = document.get("Globals", {}).get("Function", {})
    resources = {name: _resource(one, shared, path.parent, root) for name, one in document["Resources"].items()}
    return {**{key: value for key, value in document.items() if key != "Globals"}, "Resources": resources}


def _resource(resource: Properties, shared: Properties, folder: Path, root: Path) -> Properties:
    """Return a resource by itself: with what ``Globals`` say, paths from ``root``, and a state machine's definition."""
    own = dict(resource.get("Properties", {}))
    if resource["Type"] == FUNCTION:
        own = _merged(shared, own)
    for name in _PATHS:
        if name in own:
            own[name] = os.path.relpath(folder / own[name], root)
    kind = resource["Type"]
    if kind == "AWS::Serverless::StateMachine":
        kind = "AWS::StepFunctions::StateMachine"
        definition, values = (folder / own["DefinitionUri"]).read_text("utf-8"), own["DefinitionSubstitutions"]
        own = {
            "StateMachineName": own["Name"],
            "StateMachineType": own["Type"],
            "RoleArn": own["Role"],
            "DefinitionString": {"Fn::Sub": _substituted(definition, values)},
        }
    return {**resource, "Type": kind, "Properties": own}


def _merged(shared: Properties, own: Properties) -> Properties:
    """Merge a function's properties into those of ``Globals``, as SAM does: dicts are merged, other values replaced."""
    merged = {**shared, **own}
    for name in shared.keys() & own.keys():
        if isinstance(shared[name], dict) and isinstance(own[name], dict):
            merged[name] = _merged(shared[name], own[name])
    return merged


def _nested(path: Path, name: str, application: Properties) -> Properties:
    """Read a nested application; its parameters become what it is given."""
    location = application["Properties"]["Location"]
    child = _own(path.parent / location, path.parent)
    given = dict(application["Properties"].get("Parameters", {}))
    declared = child.get("Parameters", {})
    for unknown in given.keys() - declared.keys():
        raise ToolError(f"{location} has no parameter {unknown}, which {name} gives it")
    for missing in declared.keys() - given.keys():
        given[missing] = declared[missing]["Default"]
    condition = application.get("Condition")
    resources = _given(child["Resources"], given)
    return {
        "Conditions": _given(child.get("Conditions", {}), given),
        "Resources": {
            one: {"Condition": condition, **resource} if condition else resource for one, resource in resources.items()
        },
        "Outputs": {one: output["Value"] for one, output in _given(child.get("Outputs", {}), given).items()},
    }


def _both(condition: str | None, holds: Properties) -> Properties:
    """Return what holds if both an application's condition and one inside it do."""
    return {"Fn::And": [{"Condition": condition}, holds]} if condition else holds


def _given(value: Any, given: Properties) -> Any:  # noqa: ANN401 - a template holds any value
    """Return a part of a nested template with what its parameters are given."""
    match value:
        case {"Ref": str(name), **others} if not others and name in given:
            return given[name]
        case {"Fn::Sub": str(text), **others} if not others:
            return {"Fn::Sub": _substituted(text, given)}
        case dict():
            return {key: _given(one, given) for key, one in value.items()}
        case list():
            return [_given(one, given) for one in value]
        case _:
            return value


def _substituted(text: str, given: Properties) -> str:
    """Return the text of ``!Sub`` with what some of its names are given."""
    return SUBSTITUTED.sub(lambda match: _as_text(match[1], given), text)


def _as_text(name: str, given: Properties) -> str:
    """Return what the text of ``!Sub`` says for a name, by what it is given."""
    match given.get(name, {"Ref": name}):
        case {"Ref": str(other)}:
            return f"${{{other}}}"
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"${{{resource}.{attribute}}}"
        case {"Fn::Sub": str(text)} | (str() | int() as text):
            return str(text)
        case value:
            raise ToolError(f"{name} is given {value}, which no !Sub can hold")


def _with_outputs(value: Any, outputs: Properties) -> Any:  # noqa: ANN401 - a template holds any value
    """Return a part of a template with the values of the outputs of its nested applications."""
    match value:
        case {"Fn::GetAtt": [str(name), str(attribute)], **others} if not others and name in outputs:
            return outputs[name][attribute.removeprefix("Outputs.")]
        case {"Fn::Sub": str(text), **others} if not others:
            named = {f"{match[1]}.Outputs.{match[2]}": outputs[match[1]][match[2]] for match in _OUTPUT.finditer(text)}
            return {"Fn::Sub": _substituted(text, named)}
        case dict():
            return {key: _with_outputs(one, outputs) for key, one in value.items()}
        case list():
            return [_with_outputs(one, outputs) for one in value]
        case _:
            return value
