"""The reconciler of the schedule: shows it, changes the desired schedule, makes the actual one follow."""

from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, Final

from quarterhour.aws.entity import Values
from quarterhour.aws.retries import optimistically
from quarterhour.model import clock
from quarterhour.model.clock import iso_seconds
from quarterhour.model.errors import ConflictError
from quarterhour.schedule.expression import ExpressionError, parse, upcoming
from quarterhour.schedule.keys import change_key, version_of
from quarterhour.schedule.plan import Delay, DesiredSchedule, ScheduleRequest, Setting, change, delay
from quarterhour.schedule.store import ActualSchedule, ScheduleStore, update_request
from quarterhour.web.paging import Page, Paging

FIRINGS_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Tick:
    """The result of one tick of the watch: the setting, whether the actual schedule was corrected, the delay."""

    setting: Setting
    reconciled: bool
    delay: Delay

    def as_dict(self) -> dict[str, Any]:
        """Return it as the watch function answers it."""
        return {
            **self.setting.as_dict(),
            "reconciled": self.reconciled,
            "delay_seconds": self.delay.seconds,
            "delay_rates": round(self.delay.rates, 3),
        }


class ScheduleReconciler:
    """Keeps the actual schedule as desired: as set at run time, and else as deployed."""

    def __init__(self, store: ScheduleStore, deployed: str) -> None:
        self._store = store
        self._deployed = deployed

    def show(self) -> dict[str, Any]:
        """Return the actual and the desired schedule, as the API shows them."""
        actual = self._store.actual()
        return {
            "expression": actual.expression,
            "state": "paused" if actual.paused else "enabled",
            "firings": firings(actual),
            "desired": self._store.desired().setting(self._deployed).as_dict(),
            "deployed": self._deployed,
        }

    def changes(self, paging: Paging) -> Page:
        """Return a page of the changes, the newest first."""
        before = paging.start(_known_change, None)
        return paging.cut(self._store.changes(before, paging.limit + 1), shown_change, lambda values: values["sk"])

    def change(self, request: ScheduleRequest, by: str) -> None:
        """Record what a request desires, with its sender and the instant, and make the actual schedule follow.

        A repeated request changes nothing more, and completes what a crash left half done. Raises ``ConflictError``
        where another change came first.
        """
        self._record(request, by)
        self.reconcile()

    def _record(self, request: ScheduleRequest, by: str) -> None:
        first: DesiredSchedule | None = None

        def attempt() -> None:
            nonlocal first
            current = self._store.desired()
            first = first or current
            planned = change(current, request, self._deployed, by, clock.now())
            if planned is None:
                return
            if current.version != first.version:
                raise ConflictError("somebody else has changed the schedule at the same time: look, and send it again")
            self._store.record(planned)

        optimistically(attempt, "the schedule")

    def reconcile(self) -> tuple[DesiredSchedule, bool]:
        """Make the actual schedule do what is desired; return the desired one, and whether the actual one differed."""
        corrected, reconciled = False, None
        # Of two reconcilers at once, the later one may have read the older desire: look until it is still the same.
        while (desired := self._store.desired()) != reconciled:
            request = update_request(self._store.actual(), desired.setting(self._deployed))
            if request:
                self._store.update(request)
                corrected = True
            reconciled = desired
        return desired, corrected

    def tick(self, grace: timedelta) -> Tick:
        """Reconcile the schedule, and return how late the reports are."""
        desired, corrected = self.reconcile()
        setting = desired.setting(self._deployed)
        late = delay(self._store.sealed_through(), grace, parse(setting.expression), desired, clock.now())
        return Tick(setting, corrected, late)


def firings(actual: ActualSchedule) -> list[str]:
    """Return the next firings; none where the schedule is paused, or set by hand to what Quarterhour refuses."""
    if actual.paused:
        return []
    try:
        expression = parse(actual.expression)
    except ExpressionError:
        return []
    return [iso_seconds(one) for one in islice(upcoming(expression, clock.now(), actual.since), FIRINGS_SHOWN)]


def shown_change(values: Values) -> dict[str, Any]:
    """Return a change as the API shows it: who, when, from what to what, and why."""
    return {
        "version": version_of(values["sk"]),
        **{name: values[name] for name in ("at", "by", "from", "to")},
        "reason": values.get("reason"),
    }


def _known_change(sk: str) -> str:
    return change_key(version_of(sk))["sk"]
