"""A schedule that is changed, paused, reset, crashed: the last request holds, no event is lost or reported twice."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from quarterhour.reports.schedule.expression import upcoming
from quarterhour_tools.emulator.faults import FaultKind
from quarterhour_tools.emulator.http_api import Request
from tests.invariants.crashing import Crashes
from tests.invariants.trial import Trial, on_trial
from tests.support.events import sale

DEPLOYED = "rate(1 hour)"
EXPRESSIONS = [
    "rate(15 minutes)",
    "rate(40 minutes)",
    "rate(1 day)",
    "cron(0,30 * * * ? *)",
    "cron(7 1-3 * * ? *)",
    None,
]
SPANS = [timedelta(minutes=minutes) for minutes in (1, 16, 59, 200)]


class Schedule:
    """The reports' schedule in a world: an operator's requests, deployments, and the firings that come of it."""

    def __init__(self, place: Trial) -> None:
        self.place = place
        self._scheduler: Any = place.stack.engine.scheduler()
        self._name = place.stack.functions["watch"].environment["SCHEDULE_NAME"]

    def put(self, **body: Any) -> int:
        """Request a change; return the status of the response, 0 where the function died."""
        answer = self.place.request("write", "PUT", "/schedule", body)
        return answer.status if answer else 0

    def shown(self) -> dict[str, Any]:
        """Return the response about the schedule."""
        answer: dict[str, Any] = self.place.stack.request(Request("GET", "/schedule", "limit=1000")).json()
        return answer

    def is_as_desired(self) -> bool:
        """Return whether the actual schedule is the desired one."""
        shown = self.shown()
        return (shown["expression"], shown["state"] == "paused") == (
            shown["desired"]["expression"],
            shown["desired"]["paused"],
        )

    def reset(self) -> None:
        """Deploy: the schedule is that of the template, whatever was requested."""
        read = self._scheduler.get_schedule(Name=self._name)
        self._scheduler.update_schedule(
            Name=self._name,
            ScheduleExpression=DEPLOYED,
            ScheduleExpressionTimezone="UTC",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target=read["Target"],
            State="ENABLED",
        )

    def fires(self, until: datetime) -> Iterator[tuple[datetime, str]]:
        """Yield the firings up to an instant with their functions, by the schedules at that time."""
        while True:
            due = [
                (next(upcoming(one.expression, self.place.clock.now())), one.function)
                for one in self.place.stack.schedules()
                if one.enabled
            ]
            if not due or min(due)[0] > until:
                return
            now = min(due)[0]
            self.place.clock.advance_to(now)
            yield from sorted((instant, function) for instant, function in due if instant == now)

    def check(self) -> None:
        """Assert that the listed changes have no gap: each begins where the one before has ended."""
        changes = self.shown()["items"][::-1]
        assert [one["version"] for one in changes] == list(range(1, len(changes) + 1))
        expected = {"expression": DEPLOYED, "paused": False, "overridden": False}
        for one in changes:
            assert one["from"] == expected
            assert one["to"] != expected
            expected = one["to"]
        assert self.shown()["desired"] == expected


# ---------------------------------------------------------------- a crash at every call


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial() as made:
        yield made


@pytest.mark.parametrize("recovery", ["requested again", "watched"])
def test_a_change_may_die_at_any_call(place: Trial, recovery: str, crashes: Crashes) -> None:
    schedule, number = Schedule(place), count()
    requested: dict[str, Any] = {}

    def prepare(place: Trial) -> None:
        turn = next(number)
        requested.update(expression=EXPRESSIONS[turn % 2], paused=bool(turn % 2))
        place.send([sale(f"s{turn}", "1.00")])
        place.stack.cold_start("write")

    def recover(place: Trial) -> None:
        place.faults.disarm()
        before = schedule.shown()
        if recovery == "requested again":
            assert schedule.put(**requested) == 200
            assert schedule.shown()["desired"] == {**requested, "overridden": True}
        else:
            place.invoke("watch", {})
            assert schedule.shown()["desired"] == before["desired"], "what was not kept is not made up"
        assert schedule.is_as_desired()
        schedule.check()

    def ask(_: Trial) -> None:
        schedule.put(**requested)

    crashes.at_each_call(f"change of the schedule, {recovery}", place, prepare, ask, recover)


def test_the_watch_may_die_at_any_call(place: Trial, crashes: Crashes) -> None:
    schedule = Schedule(place)
    schedule.put(expression="rate(15 minutes)", paused=True)

    def prepare(place: Trial) -> None:
        schedule.reset()
        place.stack.cold_start("watch")

    def recover(place: Trial) -> None:
        place.faults.disarm()
        assert place.invoke("watch", {})
        assert schedule.is_as_desired()
        schedule.check()

    crashes.at_each_call("watch", place, prepare, lambda place: place.invoke("watch", {}), recover)


# ---------------------------------------------------------------- any order of things

faults = st.one_of(st.none(), st.tuples(st.sampled_from(list(FaultKind)), st.integers(0, 12)))


class Scheduled(RuleBasedStateMachine):
    """A deployment that reports when its schedule says so, while that is changed in every way there is."""

    def __init__(self) -> None:
        super().__init__()
        self._open = ExitStack()
        self._numbers = count()

    @initialize()
    def deploy(self) -> None:
        self.place = self._open.enter_context(on_trial())
        self.schedule = Schedule(self.place)

    @rule(fault=faults)
    def a_client_sends(self, fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.place.send([sale(f"e{next(self._numbers)}", "10.00") for _ in range(2)])

    @rule(expression=st.sampled_from(EXPRESSIONS), paused=st.booleans(), fault=faults)
    def an_operator_asks_for_another_schedule(
        self, expression: str | None, *, paused: bool, fault: tuple[FaultKind, int] | None
    ) -> None:
        with self._struck_by(fault):
            status = self.schedule.put(expression=expression, paused=paused)
        if status == 200:
            shown = self.schedule.shown()
            assert (shown["expression"], shown["state"] == "paused") == (expression or DEPLOYED, paused)

    @rule(paused=st.booleans(), fault=faults)
    def an_operator_pauses_or_resumes(self, *, paused: bool, fault: tuple[FaultKind, int] | None) -> None:
        before = self.schedule.shown()["desired"]
        with self._struck_by(fault):
            status = self.schedule.put(paused=paused)
        if status == 200:
            assert self.schedule.shown()["desired"] == {**before, "paused": paused}

    @rule(first=st.sampled_from(EXPRESSIONS), second=st.sampled_from(EXPRESSIONS), after=st.integers(0, 8))
    def two_operators_ask_at_once(self, first: str | None, second: str | None, after: int) -> None:
        self._meanwhile(after, second)
        assert self.schedule.put(expression=first) in {200, 409}
        self.place.faults.disarm()
        assert self.schedule.is_as_desired()

    @rule()
    def a_deployment_resets_it(self) -> None:
        self.schedule.reset()

    @rule(by=st.sampled_from(SPANS), fault=faults)
    def time_passes(self, by: timedelta, fault: tuple[FaultKind, int] | None) -> None:
        until = self.place.clock.now() + by
        with self._struck_by(fault):
            for _, function in self.schedule.fires(until):
                if function == "report":
                    self.place.report()
                else:
                    self.place.invoke(function, {})
        self.place.clock.advance_to(until)

    @rule(after=st.integers(0, 20), expression=st.sampled_from(EXPRESSIONS))
    def it_is_changed_while_a_report_runs(self, after: int, expression: str | None) -> None:
        self._meanwhile(after, expression)
        self.place.report()
        self.place.faults.disarm()

    @invariant()
    def the_changes_are_listed_without_a_gap(self) -> None:
        if hasattr(self, "schedule"):
            self.schedule.check()

    def teardown(self) -> None:
        with self._open:
            if hasattr(self, "place"):
                self.place.faults.disarm()
                self.place.invoke("watch", {})
                assert self.schedule.is_as_desired()
                self.place.drain()
                self.place.check()

    def _meanwhile(self, after: int, expression: str | None) -> None:
        """Let somebody ask for an expression so many calls from now."""

        def ask() -> None:
            self.schedule.put(expression=expression)

        self.place.faults.meanwhile(after, ask)

    def _struck_by(self, fault: tuple[FaultKind, int] | None) -> ExitStack:
        armed = ExitStack()
        if fault:
            self.place.faults.arm(*fault)
            armed.callback(self.place.faults.disarm)
        return armed


TestScheduled = Scheduled.TestCase
TestScheduled.settings = settings.get_profile("long" if settings.get_current_profile_name() == "long" else "bounded")
