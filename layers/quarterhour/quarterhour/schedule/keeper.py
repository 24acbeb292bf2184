"""The schedule, kept as it is wanted: shown, changed, put right where it stands otherwise."""

from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, Final

from quarterhour import aws, clock
from quarterhour.clock import iso_seconds
from quarterhour.errors import ConflictError, UnavailableError
from quarterhour.paging import Page, Paging
from quarterhour.reading import Values
from quarterhour.schedule.expression import ExpressionError, parse, upcoming
from quarterhour.schedule.keys import change_key, version_of
from quarterhour.schedule.plan import Asked, Delay, Setting, Wish, change, delay
from quarterhour.schedule.store import ScheduleStore, Standing, update_request

FIRINGS_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Tick:
    """What a look at the schedule has found, and done."""

    setting: Setting
    mended: bool
    delay: Delay

    def as_dict(self) -> dict[str, Any]:
        """Return it as the watch answers it."""
        return {
            **self.setting.as_dict(),
            "mended": self.mended,
            "delay_seconds": self.delay.seconds,
            "delay_rates": round(self.delay.rates, 3),
        }


class ScheduleKeeper:
    """Keeps the schedule as it is wanted: as was asked for at run time, and else as it was deployed."""

    def __init__(self, store: ScheduleStore, deployed: str) -> None:
        self._store = store
        self._deployed = deployed

    def show(self) -> dict[str, Any]:
        """Return the schedule as it stands, and what is wanted of it."""
        standing = self._store.standing()
        return {
            "expression": standing.expression,
            "state": "paused" if standing.paused else "enabled",
            "firings": firings(standing),
            "wanted": self._store.wish().setting(self._deployed).as_dict(),
            "deployed": self._deployed,
        }

    def changes(self, paging: Paging) -> Page:
        """Return a page of the changes, the newest first."""
        before = paging.start(_known_change, None)
        return paging.cut(self._store.changes(before, paging.limit + 1), shown_change, lambda values: values["sk"])

    def change(self, asked: Asked, by: str) -> None:
        """Keep what is asked for, with who asked and when, and have the schedule do it.

        Asking again changes nothing more, and mends what a crash has left half done. Raises ``ConflictError`` where
        another change came between.
        """
        self._keep(asked, by)
        self.settle()

    def _keep(self, asked: Asked, by: str) -> None:
        standing = self._store.wish()
        version = standing.version + 1
        for attempt in range(aws.ATTEMPTS):
            planned = change(standing, asked, self._deployed, by, clock.now())
            if planned is None:
                return
            if planned.wish.version != version:
                raise ConflictError("somebody else has changed the schedule at the same time: look, and ask again")
            if self._store.record(planned):
                return
            aws.pause(attempt)
            standing = self._store.wish()
        raise UnavailableError("the Entity table did not take the change in time")

    def settle(self) -> tuple[Wish, bool]:
        """Make the schedule do what is wanted; return that, and whether it did something else before."""
        mended, settled = False, None
        # Of two at once, the one that comes last may have had the older wish: so look until it is still the same.
        while (wish := self._store.wish()) != settled:
            request = update_request(self._store.standing(), wish.setting(self._deployed))
            if request:
                self._store.update(request)
                mended = True
            settled = wish
        return wish, mended

    def tick(self, grace: timedelta) -> Tick:
        """Put the schedule right where it does something else than wanted, and reckon how late the reports are."""
        wish, mended = self.settle()
        setting = wish.setting(self._deployed)
        late = delay(self._store.sealed_through(), grace, parse(setting.expression), wish, clock.now())
        return Tick(setting, mended, late)


def firings(standing: Standing) -> list[str]:
    """Return the next firings; none where it is paused, or somebody has set what Quarterhour would refuse."""
    if standing.paused:
        return []
    try:
        expression = parse(standing.expression)
    except ExpressionError:
        return []
    return [iso_seconds(one) for one in islice(upcoming(expression, clock.now(), standing.since), FIRINGS_SHOWN)]


def shown_change(values: Values) -> dict[str, Any]:
    """Return a change as it is shown: who, when, from what to what, and why."""
    return {
        "version": version_of(values["sk"]),
        **{name: values[name] for name in ("at", "by", "from", "to")},
        "reason": values.get("reason"),
    }


def _known_change(sk: str) -> str:
    return change_key(version_of(sk))["sk"]
