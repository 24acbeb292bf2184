"""The deployment that template.yaml describes: its tables, functions, mappings, schedules and routes."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from quarterhour_tools.emulator.document import SUBSTITUTED, Properties, read_document
from quarterhour_tools.emulator.filters import Filters, parse_filters
from quarterhour_tools.errors import ToolError

Attributes = Callable[[str, str], str]
"""Returns a resource's attribute by logical id and name; the name ``Ref`` is for the value of ``!Ref``."""

TEMPLATE: Final = Path(__file__).parents[2] / "template.yaml"
REF: Final = "Ref"
_NOTHING: Final = "AWS::NoValue"
"""What a property or an item of a list is resolved to that is left out."""
_PSEUDO: Final = {
    "AWS::AccountId": "123456789012",
    "AWS::NoValue": _NOTHING,
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::StackName": "quarterhour",
    "AWS::URLSuffix": "amazonaws.com",
}


@dataclass(frozen=True, slots=True)
class Route:
    """A route of the HTTP API: ``GET /accounts/{agency}/{currency}``."""

    method: str
    path: str


@dataclass(frozen=True, slots=True)
class StreamMapping:
    """An event source mapping: a function's stream, its batches, and the handling of failures.

    ``retries`` and ``record_age`` are ``None`` without a limit; ``dead_letters`` is the ARN of a queue.
    """

    stream: str
    batch_size: int
    window: timedelta
    filters: Filters
    bisect: bool
    retries: int | None
    record_age: timedelta | None
    reports_failures: bool
    dead_letters: str | None


@dataclass(frozen=True, slots=True)
class QueueMapping:
    """An event source mapping of a queue, by its ARN: the most messages of an invocation, and the window."""

    queue: str
    batch_size: int
    window: timedelta
    reports_failures: bool


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """What a queue does with messages that are not deleted: when they come again, how often, and where they end.

    ``dead_letters`` is the ARN of a queue; ``None`` if messages come again for as long as they are kept.
    """

    hidden: timedelta
    receives: int | None
    dead_letters: str | None


@dataclass(frozen=True, slots=True)
class Timer:
    """A schedule that starts a function: its name (empty if the template has none) and its expression."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Function:
    """A deployed function: the folder of its code, its environment and limits, and the events that start it."""

    name: str
    code: Path
    handler: str
    timeout: timedelta
    memory: int
    environment: Mapping[str, str]
    routes: tuple[Route, ...]
    mappings: tuple[StreamMapping, ...]
    queues: tuple[QueueMapping, ...]
    schedules: tuple[Timer, ...]


@dataclass(frozen=True, slots=True)
class StateMachine:
    """A state machine: its name, and its definition as JSON."""

    name: str
    definition: str


class Template:
    """A SAM template with values for its parameters."""

    def __init__(self, document: Properties, folder: Path, parameters: Mapping[str, str | int] | None = None) -> None:
        """Take what ``read_document`` returns; ``parameters`` replace defaults, and must meet the constraints.

        Paths in the template are relative to ``folder``. Raises ``ToolError`` for a bad parameter.
        """
        self._document = document
        self._folder = folder
        given = dict(parameters or {})
        declared: Mapping[str, Properties] = document.get("Parameters", {})
        for name in given.keys() - declared.keys():
            raise ToolError(f"the template has no parameter {name}")
        self.parameters: Mapping[str, str] = {
            name: _parameter(name, rules, given.get(name, rules.get("Default"))) for name, rules in declared.items()
        }

    @classmethod
    def load(cls, path: Path, parameters: Mapping[str, str | int] | None = None) -> "Template":
        """Read a template and the applications nested in it."""
        try:
            return cls(read_document(path), path.parent, parameters)
        except FileNotFoundError as error:
            raise ToolError(f"{path} does not exist: run from a clone of the repository") from error

    def resources(self, kind: str) -> dict[str, Properties]:
        """Return the unresolved properties of the resources of one type, by logical id."""
        return {
            name: resource.get("Properties", {})
            for name, resource in self._document["Resources"].items()
            if resource["Type"] == kind
        }

    def deployed(self, kind: str) -> dict[str, Properties]:
        """Return those resources of one type whose condition holds for the parameters."""
        conditions = {name: resource.get("Condition") for name, resource in self._document["Resources"].items()}
        found = self.resources(kind).items()
        return {name: one for name, one in found if conditions[name] is None or self.holds(conditions[name])}

    def queue_limits(self, logical: str, attributes: Attributes) -> QueueLimits:
        """Return what a queue does with messages that are not deleted."""
        properties = self.resolve(self.resources("AWS::SQS::Queue")[logical], attributes)
        redrive = properties.get("RedrivePolicy", {})
        return QueueLimits(
            timedelta(seconds=properties.get("VisibilityTimeout", 30)),
            redrive.get("maxReceiveCount"),
            redrive.get("deadLetterTargetArn"),
        )

    def layers(self) -> list[Path]:
        """Return the folders of the functions' layers."""
        return [self._folder / one["ContentUri"] for one in self.resources("AWS::Serverless::LayerVersion").values()]

    def functions(self, attributes: Attributes) -> dict[str, Function]:
        """Return the functions by name; a function's name is that of its code's folder.

        The console's, whose routes of the people's API need no token, is there without sign-in, too: on one machine it
        needs none.
        """
        kind, names = "AWS::Serverless::Function", self.function_names()
        deployed, opened = self.deployed(kind), set(self._routes("NONE", self._is_of_people).values())
        present = {logical: one for logical, one in self.resources(kind).items() if names[logical] in opened} | deployed
        return {names[logical]: self._function(one, attributes) for logical, one in present.items()}

    def function_names(self) -> dict[str, str]:
        """Return the functions' names by logical id."""
        functions = self.resources("AWS::Serverless::Function").items()
        return {logical: Path(properties["CodeUri"]).name for logical, properties in functions}

    def state_machines(self, attributes: Attributes) -> list[StateMachine]:
        """Return the state machines."""
        machines = self.resolve([*self.resources("AWS::StepFunctions::StateMachine").values()], attributes)
        return [StateMachine(one["StateMachineName"], one["DefinitionString"]) for one in machines]

    def people_routes(self) -> dict[Route, str]:
        """Return the routes of the people's API that need a token, each with the name of its function."""
        return self._routes("JWT", self._is_of_people)

    def open_routes(self) -> dict[Route, str]:
        """Return the routes that need neither token nor signature of AWS, each with the name of its function."""
        return self._routes("NONE", lambda _: True)

    @staticmethod
    def _is_of_people(route: Properties) -> bool:
        return bool(route["ApiId"] == {"Ref": "PeopleApi"})

    def _routes(self, authorization: str, is_one: Callable[[Properties], bool]) -> dict[Route, str]:
        folders = self.function_names()
        integrations = self.resources("AWS::ApiGatewayV2::Integration")
        routes = {}
        for route in self.resources("AWS::ApiGatewayV2::Route").values():
            if route["AuthorizationType"] != authorization or not is_one(route):
                continue
            method, _, path = route["RouteKey"].partition(" ")
            target = SUBSTITUTED.findall(route["Target"]["Fn::Sub"])[0]
            routes[Route(method, path)] = folders[_invoked(integrations[target]["IntegrationUri"])]
        return routes

    def resolve(self, value: Any, attributes: Attributes) -> Any:  # noqa: ANN401, PLR0911 - a template holds any value
        """Return a value of the template with its intrinsic functions resolved."""
        match value:
            case {"Ref": name, **others} if not others:
                return self._ref(name, attributes)
            case {"Fn::GetAtt": [name, attribute], **others} if not others:
                return attributes(name, attribute)
            case {"Fn::Sub": str(text), **others} if not others:
                return SUBSTITUTED.sub(lambda match: str(self._named(match[1], attributes)), text)
            case {"Fn::Sub": [str(text), dict(own)], **others} if not others:
                values = self.resolve(own, attributes)
                return SUBSTITUTED.sub(
                    lambda match: str(values[match[1]] if match[1] in values else self._named(match[1], attributes)),
                    text,
                )
            case {"Fn::If": [name, then, otherwise], **others} if not others:
                return self.resolve(then if self.holds(name) else otherwise, attributes)
            case dict():
                unknown = next((key for key in value if key.startswith("Fn::")), None)
                if unknown:
                    raise ToolError(f"the emulator does not support {unknown}")
                resolved = {key: self.resolve(one, attributes) for key, one in value.items()}
                return {key: one for key, one in resolved.items() if one != _NOTHING}
            case list():
                return [one for one in (self.resolve(each, attributes) for each in value) if one != _NOTHING]
            case _:
                return value

    def holds(self, condition: Any) -> bool:  # noqa: ANN401 - the name of a condition, or its definition
        """Return whether a condition holds for the parameters."""
        match condition:
            case str(name) | {"Condition": str(name)}:
                return self.holds(self._document["Conditions"][name])
            case {"Fn::Equals": [one, other]}:
                return self._compared(one) == self._compared(other)
            case {"Fn::Not": [one]}:
                return not self.holds(one)
            case {"Fn::And": list(all_)}:
                return all(map(self.holds, all_))
            case {"Fn::Or": list(some)}:
                return any(map(self.holds, some))
            case _:
                raise ToolError(f"the emulator does not support the condition {condition}")

    def _compared(self, value: Any) -> str:  # noqa: ANN401 - a parameter, or any value
        return str(self.parameters[value["Ref"]] if isinstance(value, dict) else value)

    def _named(self, name: str, attributes: Attributes) -> str:
        resource, dot, attribute = name.partition(".")
        return attributes(resource, attribute) if dot else self._ref(name, attributes)

    def _ref(self, name: str, attributes: Attributes) -> str:
        if name in self.parameters:
            return self.parameters[name]
        return _PSEUDO[name] if name in _PSEUDO else attributes(name, REF)

    def _function(self, properties: Properties, attributes: Attributes) -> Function:
        def resolved(value: Any) -> Any:  # noqa: ANN401 - a template holds any value
            return self.resolve(value, attributes)

        code = self._folder / properties["CodeUri"]
        environment = resolved(properties.get("Environment", {}).get("Variables", {}))
        events = list(properties.get("Events", {}).values())
        return Function(
            name=code.name,
            code=code,
            handler=properties["Handler"],
            timeout=timedelta(seconds=properties["Timeout"]),
            memory=int(resolved(properties.get("MemorySize", 128))),
            environment={name: str(value) for name, value in environment.items()},
            routes=tuple(Route(one["Method"].upper(), one["Path"]) for one in _events(events, "HttpApi")),
            mappings=tuple(_mapping(resolved(one)) for one in _events(events, "DynamoDB")),
            queues=tuple(_queue_mapping(resolved(one)) for one in _events(events, "SQS")),
            schedules=tuple(_timer(resolved(one)) for one in _events(events, "ScheduleV2")),
        )


def table_request(name: str, properties: Properties) -> Properties:
    """Build the CreateTable for a table of the template, without the properties that matter only in AWS."""
    used = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "LocalSecondaryIndexes", "BillingMode")
    request = {"TableName": name, **{key: properties[key] for key in used if key in properties}}
    if "StreamSpecification" in properties:
        request["StreamSpecification"] = {"StreamEnabled": True, **properties["StreamSpecification"]}
    return request


def notifications_request(notifications: Properties) -> Properties:
    """Build the configuration of a bucket's notifications to queues, in the words of S3's API."""
    return {
        "QueueConfigurations": [
            {
                "QueueArn": one["Queue"],
                "Events": [one["Event"]],
                "Filter": {"Key": {"FilterRules": one["Filter"]["S3Key"]["Rules"]}},
            }
            for one in notifications["QueueConfigurations"]
        ]
    }


def _invoked(address: Properties) -> str:
    """Return the logical id of the function that an integration invokes, by its alias or itself."""
    return str(address["Fn::GetAtt"][0] if "Fn::GetAtt" in address else address["Ref"].removesuffix(".Alias"))


def _events(events: list[Properties], kind: str) -> Iterator[Properties]:
    return (event["Properties"] for event in events if event["Type"] == kind)


def _timer(properties: Properties) -> Timer:
    return Timer(properties.get("Name", ""), properties["ScheduleExpression"])


def _mapping(properties: Properties) -> StreamMapping:
    destination = properties.get("DestinationConfig", {}).get("OnFailure", {})
    retries = properties.get("MaximumRetryAttempts", -1)
    record_age = properties.get("MaximumRecordAgeInSeconds", -1)
    return StreamMapping(
        stream=properties["Stream"],
        batch_size=properties.get("BatchSize", 100),
        window=timedelta(seconds=int(properties.get("MaximumBatchingWindowInSeconds", 0))),
        filters=parse_filters(properties.get("FilterCriteria", {}).get("Filters", [])),
        bisect=properties.get("BisectBatchOnFunctionError", False),
        retries=None if retries < 0 else retries,
        record_age=None if record_age < 0 else timedelta(seconds=record_age),
        reports_failures="ReportBatchItemFailures" in properties.get("FunctionResponseTypes", []),
        dead_letters=destination.get("Destination"),
    )


def _queue_mapping(properties: Properties) -> QueueMapping:
    return QueueMapping(
        queue=properties["Queue"],
        batch_size=properties.get("BatchSize", 10),
        window=timedelta(seconds=properties.get("MaximumBatchingWindowInSeconds", 0)),
        reports_failures="ReportBatchItemFailures" in properties.get("FunctionResponseTypes", []),
    )


def _parameter(name: str, rules: Properties, value: str | int | None) -> str:
    """Return a parameter's value; raise ``ToolError`` for a value that a deployment would refuse, with its reason."""
    if value is None:
        raise ToolError(f"the parameter {name} has no value")
    text = str(value)
    allowed = [str(one) for one in rules.get("AllowedValues", [text])]
    pattern = rules.get("AllowedPattern", ".*")
    fits = (
        text in allowed and re.fullmatch(pattern, text) is not None and len(text) <= rules.get("MaxLength", len(text))
    )
    if rules["Type"] == "Number":
        fits = fits and _within(text, rules.get("MinValue"), rules.get("MaxValue"))
    if not fits:
        reason = rules.get("ConstraintDescription") or rules.get("Description") or f"one of {', '.join(allowed)}"
        raise ToolError(f"{name} cannot be {text!r}: {' '.join(reason.split())}")
    return text


def _within(text: str, least: int | None, most: int | None) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    return (least is None or number >= least) and (most is None or number <= most)
