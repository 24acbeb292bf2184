"""The schedule reconciler: shows and changes the desired schedule, and makes the actual schedule match it."""

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.aws import clients
from quarterhour.aws.entity import Values
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import optimistically
from quarterhour.model import clock
from quarterhour.model.clock import iso_seconds
from quarterhour.model.quarter_hours import GRACE
from quarterhour.reports.schedule.expression import EXPECTED, ExpressionError, checked, parse, upcoming
from quarterhour.reports.schedule.keys import change_key, version_of
from quarterhour.reports.schedule.plan import Delay, DesiredSchedule, ScheduleRequest, Setting, change, delay
from quarterhour.reports.schedule.store import ActualSchedule, ScheduleStore, update_request
from quarterhour.web.paging import Paging

if TYPE_CHECKING:
    from quarterhour.reports.schedule import api
    from quarterhour.web.paging import Page

FIRINGS_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class ScheduleCheck:
    """The result of one run of the watch: the setting, whether the actual schedule was corrected, the delay."""

    setting: Setting
    reconciled: bool
    delay: Delay

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of the watch function's result."""
        return {
            **self.setting.as_dict(),
            "reconciled": self.reconciled,
            "delay_seconds": self.delay.seconds,
            "delay_rates": round(self.delay.firings, 3),
        }


class ScheduleReconciler:
    """Makes the actual schedule match the desired one: the one set at run time, or else the deployed one."""

    def __init__(self, store: ScheduleStore, deployed: str) -> None:
        self._store = store
        self._deployed = deployed

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the reconciler of a function."""
        store = ScheduleStore(clients.scheduler(), resources.env.text("SCHEDULE_NAME"), resources.entities)
        return cls(store, resources.env.parsed("REPORT_RATE", EXPECTED, checked))

    def show(self) -> "api.Schedule":
        """Return the actual and the desired schedule, as the API shows them."""
        actual, desired = self._store.actual(), self._store.desired()
        return {
            "expression": actual.expression,
            "state": "paused" if actual.paused else "enabled",
            "firings": firings(actual),
            "desired": desired.setting(self._deployed).as_dict(),
            "version": desired.version,
            "deployed": self._deployed,
        }

    def changes(self, paging: Paging) -> "Page[api.ScheduleChange]":
        """Return a page of the changes, newest first."""
        before = paging.start(_known_change, None)
        return paging.cut(self._store.changes(before, paging.limit + 1), shown_change, lambda values: values["sk"])

    def change(self, request: ScheduleRequest, by: str) -> None:
        """Record a requested change, with its sender and the instant, and reconcile the actual schedule.

        Requests are idempotent: a retry after a crash completes the change. Raises ``ConflictError`` if another change
        was recorded since the version that the sender has seen or, without one, since the request began.
        """
        self._record(request, by)
        self.reconcile()

    def _record(self, request: ScheduleRequest, by: str) -> None:
        seen = request.seen

        def attempt() -> None:
            nonlocal seen
            current = self._store.desired()
            seen = current.version if seen is None else seen
            planned = change(current, replace(request, seen=seen), self._deployed, by, clock.now())
            if planned:
                self._store.record(planned)

        optimistically(attempt, "the schedule")

    def reconcile(self) -> tuple[DesiredSchedule, bool]:
        """Make the actual schedule match the desired one; return the latter, and whether the actual one differed."""
        corrected, reconciled = False, None
        # A concurrent change may replace the desired schedule after it was read: repeat until it is unchanged.
        while (desired := self._store.desired()) != reconciled:
            request = update_request(self._store.actual(), desired.setting(self._deployed))
            if request:
                self._store.update(request)
                corrected = True
            reconciled = desired
        return desired, corrected

    def tick(self) -> ScheduleCheck:
        """Reconcile the schedule; return the result with the delay of the reports."""
        desired, corrected = self.reconcile()
        setting = desired.setting(self._deployed)
        report_delay = delay(self._store.sealed_through(), GRACE, parse(setting.expression), desired, clock.now())
        return ScheduleCheck(setting, corrected, report_delay)


def firings(actual: ActualSchedule) -> list[str]:
    """Return the next firings.

    There are none if the schedule is paused, or if somebody has set an expression in AWS that Quarterhour refuses.
    """
    if actual.paused:
        return []
    try:
        expression = parse(actual.expression)
    except ExpressionError:
        return []
    return [iso_seconds(one) for one in islice(upcoming(expression, clock.now(), actual.since), FIRINGS_SHOWN)]


def shown_change(values: Values) -> "api.ScheduleChange":
    """Return the JSON object of a change: its version, instant, sender, both settings and the reason."""
    return {
        "version": version_of(values["sk"]),
        "at": values["at"],
        "by": values["by"],
        "from": Setting.of(values["from"]).as_dict(),
        "to": Setting.of(values["to"]).as_dict(),
        "reason": values.get("reason"),
    }


def _known_change(sk: str) -> str:
    return change_key(version_of(sk))["sk"]
