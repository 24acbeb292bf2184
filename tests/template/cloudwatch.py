"""CloudWatch as far as alarms and dashboards go: which metrics there are, and when an alarm goes off."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from quarterhour_tools.emulator.template import Template
from tests.template.stack import Properties, Stack, attribute

MINUTE: Final = 60
EXTRA_PERIODS: Final = 2
"""How much further back than its evaluation periods an alarm looks for data, as AWS's own example has it."""
STATISTICS: Final[Mapping[str, Callable[[list[float]], float]]] = {
    "Sum": sum,
    "Maximum": max,
    "Minimum": min,
    "SampleCount": len,
}
COMBINED: Final[Mapping[str, Callable[[list[float]], float]]] = {"SUM(FILL(METRICS(), 0))": sum, "MAX(METRICS())": max}
COMPARISONS: Final = {"GreaterThanOrEqualToThreshold": float.__ge__, "GreaterThanThreshold": float.__gt__}


class Metric(NamedTuple):
    """A metric: namespace, name and dimensions."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]]

    @property
    def names(self) -> frozenset[str]:
        """The names of its dimensions."""
        return frozenset(name for name, _ in self.dimensions)

    def __str__(self) -> str:
        dimensions = ", ".join(f"{name}={value}" for name, value in sorted(self.dimensions))
        return f"{self.namespace} {self.name} ({dimensions})"


Series = Mapping[Metric, Sequence[tuple[float, float]]]
"""What was measured: the values of each metric, each with its second."""

AWS_METRICS: Final[Mapping[str, tuple[frozenset[str], tuple[frozenset[str], ...]]]] = {
    "AWS/Lambda": (
        frozenset({"Duration", "Errors", "Invocations", "IteratorAge", "Throttles"}),
        (frozenset({"FunctionName"}), frozenset()),
    ),
    "AWS/States": (
        frozenset({"ExecutionsAborted", "ExecutionsFailed", "ExecutionsStarted", "ExecutionsTimedOut"}),
        (frozenset({"StateMachineArn"}),),
    ),
    "AWS/SQS": (
        frozenset({"ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"}),
        (frozenset({"QueueName"}),),
    ),
    "AWS/ApiGateway": (
        frozenset({"4xx", "5xx", "Count", "DataProcessed", "IntegrationLatency", "Latency"}),
        (
            frozenset({"ApiId"}),
            frozenset({"ApiId", "Stage"}),
            frozenset({"ApiId", "Stage", "Method", "Resource"}),
        ),
    ),
    "AWS/DynamoDB": (
        frozenset({"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits", "ReadThrottleEvents"})
        | {"WriteThrottleEvents"},
        (frozenset({"TableName"}),),
    ),
}
"""What AWS's services document of those used here: the metrics' names, and the sets of dimensions they come in."""
RESOURCES: Final = {
    "FunctionName": "AWS::Lambda::Function",
    "QueueName": "AWS::SQS::Queue",
    "StateMachineArn": "AWS::StepFunctions::StateMachine",
    "TableName": "AWS::DynamoDB::Table",
    "ApiId": "AWS::ApiGatewayV2::Api",
}


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm of the template, its parameters at their defaults."""

    id: str
    name: str
    metrics: tuple[Metric, ...]
    combine: Callable[[list[float]], float] | None
    """What it makes of its metrics: their sum, what is missing being nothing, or their maximum; else it has one."""
    statistic: str
    period: int
    periods: int
    to_alarm: int
    comparison: str
    threshold: float
    missing: str
    conditional: bool

    @classmethod
    def of(cls, id_: str, resource: Properties, template: Template) -> Self:
        """Read an alarm's resource."""
        own = {name: value for name, value in resource["Properties"].items() if not name.endswith("Actions")}
        values = template.resolve(own, attribute)
        stats = [one["MetricStat"] for one in values.get("Metrics", []) if "MetricStat" in one]
        expressions = [one["Expression"] for one in values.get("Metrics", []) if "Expression" in one]
        if not stats:
            stats = [{"Metric": values, "Stat": values["Statistic"], "Period": values["Period"]}]
        ((statistic, period),) = {(one["Stat"], one["Period"]) for one in stats}
        return cls(
            id=id_,
            name=values["AlarmName"].removeprefix("quarterhour-dev-"),
            metrics=tuple(_metric(one["Metric"]) for one in stats),
            combine=COMBINED[expressions[0]] if expressions else None,
            statistic=statistic,
            period=period,
            periods=values["EvaluationPeriods"],
            to_alarm=values["DatapointsToAlarm"],
            comparison=values["ComparisonOperator"],
            threshold=float(values["Threshold"]),
            missing=values["TreatMissingData"],
            conditional="Condition" in resource,
        )

    def goes_off(self, series: Series, seconds: int) -> bool:
        """Tell whether it goes off in so many seconds of data, looked at whenever a period is over.

        It takes the newest points of its range that there are, and only for want of them makes up missing ones.
        """
        assert self.missing in {"breaching", "notBreaching"}
        own = [self._by_period(series.get(metric, ())) for metric in self.metrics]
        points = [self._point(own, start) for start in range(0, seconds, self.period)]
        longest = self.periods + EXTRA_PERIODS
        ends = range(self.periods, len(points) + 1)
        return any(self._alarmed(points[max(0, end - longest) : end]) for end in ends)

    def _alarmed(self, points: Sequence[float | None]) -> bool:
        """Tell whether it goes off for the points of its range, the newest last."""
        real = [one for one in points if one is not None][-self.periods :]
        compare = COMPARISONS[self.comparison]
        breaching = sum(compare(float(one), float(self.threshold)) for one in real)
        made_up = self.periods - len(real) if self.missing == "breaching" else 0
        return breaching + made_up >= self.to_alarm

    def _point(self, series: Sequence[Mapping[int, list[float]]], start: int) -> float | None:
        found = [self._statistic(one.get(start)) for one in series]
        real = [one for one in found if one is not None]
        if self.combine is sum:
            return sum(real)
        return self.combine(real) if self.combine and real else found[0]

    def _by_period(self, values: Iterable[tuple[float, float]]) -> dict[int, list[float]]:
        """Return the values of each period by the second at which the period begins."""
        found: dict[int, list[float]] = {}
        for second, value in values:
            found.setdefault(int(second // self.period) * self.period, []).append(value)
        return found

    def _statistic(self, values: list[float] | None) -> float | None:
        return float(STATISTICS[self.statistic](values)) if values else None


def alarms(stack: Stack, template: Template) -> dict[str, Alarm]:
    """Return the template's alarms by logical id."""
    return {
        name: Alarm.of(name, resource, template)
        for name, resource in stack.resources.items()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
    }


def emitted(lines: Iterable[Properties]) -> Iterator[Metric]:
    """Yield the metrics that a function wrote in the embedded metric format."""
    for line in lines:
        for directive in line.get("_aws", {}).get("CloudWatchMetrics", []):
            for names in directive["Dimensions"]:
                dimensions = frozenset((name, str(line[name])) for name in names)
                for one in directive["Metrics"]:
                    assert isinstance(line[one["Name"]], list | int | float)
                    yield Metric(directive["Namespace"], one["Name"], dimensions)


def plotted(widget: Properties) -> Iterator[Metric]:
    """Yield the metrics that a widget of a dashboard names, what is abbreviated written out."""
    before: list[str] = []
    for parts in widget["properties"]["metrics"]:
        given = list(parts)
        if given[0] == "...":
            given = [*before[: len(before) - len(given) + 1], *given[1:]]
        before = [old if new == "." else new for old, new in zip(before, given, strict=True)] if "." in given else given
        pairs = before[2:]
        yield Metric(before[0], before[1], frozenset(zip(pairs[::2], pairs[1::2], strict=True)))


def dashboard(stack: Stack, template: Template) -> list[dict[str, Any]]:
    """Return the widgets of the only dashboard, with all substitutions."""
    ((properties),) = stack.of("AWS::CloudWatch::Dashboard").values()
    body: dict[str, Any] = json.loads(template.resolve(properties["DashboardBody"], attribute))
    widgets: list[dict[str, Any]] = body["widgets"]
    return widgets


def _metric(values: Properties) -> Metric:
    pairs = frozenset((one["Name"], one["Value"]) for one in values.get("Dimensions", []))
    return Metric(values["Namespace"], values["MetricName"], pairs)
