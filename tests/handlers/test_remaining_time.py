"""What each function passes on of an invocation: its remaining time less a reserve, its id, what it was sent."""

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from quarterhour.aws.parking import Parking, Unparked
from quarterhour.ledger.recording.service import Recorder
from quarterhour.maintenance.rebuild.service import RebuildResult, RebuildService
from quarterhour.orders.billing.service import Biller
from quarterhour.orders.service import OrderService
from quarterhour.registry.settings.settings import Settings
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.reports.service import Reporter
from quarterhour_tools.emulator.template import Template
from tests.support.repository import ROOT
from tests.template.calls import started
from tests.template.stack import attribute, parsed

FUNCTIONS = Template(parsed(), ROOT).functions(attribute)
REMAINING = 31_250
REQUEST = "the invocation's id"


class ReachedError(Exception):
    """Ends an invocation at the call that a test looks at."""


class Invocation:
    """One function, invoked with an event while a method of a service is replaced; keeps what the method was given."""

    def __init__(self, patch: pytest.MonkeyPatch, function: str, service: type, method: str) -> None:
        self.milliseconds = REMAINING
        self.given: tuple[Any, ...] = ()
        patch.setattr(SettingsReader, "settings", lambda _: Settings())
        patch.setattr(service, method, lambda _, *given: self._reached(*given))
        self._module, _ = started(FUNCTIONS[function], patch)

    def _reached(self, *given: Any) -> None:
        self.given = given
        raise ReachedError

    def run(self, event: Any) -> tuple[Any, ...]:
        context = SimpleNamespace(
            aws_request_id=REQUEST,
            function_name="function",
            memory_limit_in_mb=128,
            invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:function",
            get_remaining_time_in_millis=lambda: self.milliseconds,
        )
        with pytest.raises(ReachedError):
            self._module.handler(event, context)
        return self.given


def sample(name: str) -> Any:
    return json.loads((ROOT / "events" / f"{name}.json").read_text("utf-8"))


def test_events_are_recorded_within_the_remaining_time_less_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    items, request, seconds = Invocation(monkeypatch, "ingest", Recorder, "record").run(sample("ingest-one"))
    assert (len(items), request, seconds) == (1, REQUEST, 26.25)


def test_an_order_is_created_within_the_remaining_time_less_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    _, seconds = Invocation(monkeypatch, "write", OrderService, "create").run(sample("write-order"))
    assert seconds == 26.25


def test_a_batch_is_billed_within_the_remaining_time_less_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = sample("billing-batch")
    given = Invocation(monkeypatch, "billing", Biller, "apply").run(batch)
    assert given == (batch["Records"], REQUEST, 26.25)


def test_parked_orders_are_billed_within_the_remaining_time_less_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Invocation(monkeypatch, "billing", Biller, "unpark").run({}) == (REQUEST, 26.25)


def test_a_report_reads_the_remaining_time_whenever_it_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    invocation = Invocation(monkeypatch, "report", Reporter, "run")
    (seconds_left,) = invocation.run({})
    assert seconds_left() == 31.25
    invocation.milliseconds = 1500
    assert seconds_left() == 1.5


def test_a_rebuild_begins_no_day_in_the_last_450_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    invocation = Invocation(monkeypatch, "repair", RebuildService, "rebuild")
    _, in_time = invocation.run({"action": "rebuild"})
    for milliseconds, expected in ((450_001, True), (450_000, False), (1, False)):
        invocation.milliseconds = milliseconds
        assert in_time() is expected


def test_no_parked_record_is_applied_in_the_last_120_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RebuildService, "unparker", lambda _: lambda _record: True)
    invocation = Invocation(monkeypatch, "repair", Parking, "replay")
    _, in_time = invocation.run({"action": "unpark"})
    for milliseconds, expected in ((120_001, True), (120_000, False), (1, False)):
        invocation.milliseconds = milliseconds
        assert in_time() is expected


def test_the_repair_answers_with_the_function_that_each_result_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def replay(_: Parking, appliers: Mapping[str, object], _in_time: object) -> dict[str, Unparked]:
        return {by: Unparked(1, 0) if by == "snapshots" else Unparked(0, 2) for by in appliers}

    monkeypatch.setattr(Parking, "replay", replay)
    monkeypatch.setattr(RebuildService, "unparker", lambda _: lambda _record: True)
    monkeypatch.setattr(RebuildService, "rebuild", lambda *_: RebuildResult(days=3, repaired=2))
    module, _ = started(FUNCTIONS["repair"], monkeypatch)
    context = SimpleNamespace(
        aws_request_id=REQUEST,
        function_name="function",
        memory_limit_in_mb=128,
        invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:function",
    )
    unparked = {"snapshots": {"applied": 1, "kept": 0}, "counters": {"applied": 0, "kept": 2}}
    assert module.handler({"action": "unpark"}, context) == unparked
    assert module.handler({"action": "rebuild"}, context) == RebuildResult(days=3, repaired=2).as_dict()
