"""Makes the drafts of a period: store the plan, collect its lines, add up the accounts, write, publish."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any, Final

from quarterhour.model import clock
from quarterhour.model.periods import Period
from quarterhour.statements.drafts.collect import collect
from quarterhour.statements.drafts.publish import publish
from quarterhour.statements.drafts.roster import add_up
from quarterhour.statements.drafts.sealing import FirstDraftSealer
from quarterhour.statements.drafts.write import is_written, write
from quarterhour.statements.plan import (
    Sealed,
    StatementPlan,
    StatementSettings,
    check_request,
    due_period,
    first_day_of,
    next_plan,
)
from quarterhour.statements.store import StatementStores

RESERVE_SECONDS: Final = 300.0
"""With less time left than this, no further step begins: a day or a group of accounts takes less."""
GROUPS_OF_AN_INVOCATION: Final = 8
"""The most groups that one invocation writes; more are written side by side."""


@dataclass(slots=True)
class DraftResult:
    """The result of an invocation.

    ``parts``: the steps of a large period, which a state machine must run. ``complete`` is false if the time ran
    short, or if there are such parts: then another invocation must continue.
    """

    periods: list[str] = field(default_factory=list)
    drafts: int = 0
    complete: bool = True
    parts: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        next_ = "done" if self.complete else "parts" if self.parts else "run"
        return {"periods": self.periods, "drafts": self.drafts, "next": next_, "parts": self.parts}

    def add(self, period: Period, drafts: int) -> None:
        """Add a published period with the number of its drafts."""
        self.periods.append(str(period))
        self.drafts += drafts


class DraftRunner:
    """Makes the drafts of every period that is due, exactly once, whatever interrupts it."""

    def __init__(self, stores: StatementStores, settings: StatementSettings) -> None:
        self._stores = stores
        self._settings = settings
        self._sealer = FirstDraftSealer(stores.files, stores.workers)

    def run(self, remaining_seconds: Callable[[], float], requested: Period | None = None) -> DraftResult:
        """Make the drafts of every period that is due, or of as many as the time allows.

        ``requested``: the period to begin with. The steps of a large period are left to the state machine. Raises
        ``ConflictError`` if the requested period cannot be sealed now, ``SealedFileError`` if a file exists with other
        bytes or is gone, ``OvertakenError`` if another run has taken over, ``UnavailableError`` if AWS keeps failing.
        The next invocation continues where this one stopped.
        """
        result = DraftResult()
        if requested:
            self._check(requested)
        while plan := self._plan():
            if plan.groups > GROUPS_OF_AN_INVOCATION:
                result.complete = False
                result.parts = {
                    "period": str(plan.period),
                    "days": [day.isoformat() for day in plan.days],
                    "groups": list(range(plan.groups)),
                }
                return result
            if not in_time(self._steps(plan), remaining_seconds):
                result.complete = False
                return result
            result.add(plan.period, publish(self._stores, plan, self._sealer))
        return result

    def collect(self, period: str, day: str) -> None:
        """Collect the lines of one day for the run under way; do nothing if that run is not under way any more."""
        if plan := self._under_way(period):
            collect(self._stores, plan, date.fromisoformat(day))

    def add_up(self, period: str) -> None:
        """Add up the accounts of the run under way, whose days are collected."""
        if plan := self._under_way(period):
            add_up(self._stores, plan)

    def write(self, period: str, group: int) -> None:
        """Write the drafts of one group of accounts of the run under way, whose accounts are added up."""
        if plan := self._under_way(period):
            self._write(plan, group)

    def publish(self, period: str) -> DraftResult:
        """Publish and finish the run whose groups are written, if it is under way."""
        result = DraftResult()
        if plan := self._under_way(period):
            result.add(plan.period, publish(self._stores, plan, self._sealer))
        return result

    def _check(self, period: Period) -> None:
        now = clock.now()
        began = self._stores.began() or now
        check_request(period, self._stores.progress.progress(), self._settings.calendar, began, now)

    def _under_way(self, period: str) -> StatementPlan | None:
        plan = self._stores.progress.progress().plan
        return plan if plan and str(plan.period) == period else None

    def _plan(self) -> StatementPlan | None:
        """Return the plan under way, or a new one; ``None`` if no period is due."""
        stores, calendar = self._stores, self._settings.calendar
        while True:
            progress = stores.progress.progress()
            if progress.plan:
                return progress.plan
            at = stores.checkpoints.checkpoint()
            period = due_period(progress, at, calendar, stores.began) if at else None
            if at is None or period is None:
                return None
            runs = stores.runs.days(first_day_of(period, progress), at.sealed_through)
            lines = sum(int(run["lines"]) for _, some in runs for run in some)
            plan = next_plan(period, progress, Sealed(at, lines), clock.now(), self._settings)
            stores.progress.save_plan(progress, plan)  # another run may have stored its plan first

    def _steps(self, plan: StatementPlan) -> Iterator[Callable[[], bool]]:
        """Yield the steps before publishing, in their order; each returns whether it had anything to do."""
        for day in plan.days:
            yield partial(collect, self._stores, plan, day)
        yield partial(add_up, self._stores, plan)
        for group in range(plan.groups):
            yield partial(self._write, plan, group)

    def _write(self, plan: StatementPlan, group: int) -> bool:
        """Write the drafts of a group, unless that is done already; return whether it was not."""
        if is_written(self._stores, plan, group):
            return False
        write(self._stores, plan, group, self._sealer)
        return True


def in_time(steps: Iterator[Callable[[], bool]], remaining_seconds: Callable[[], float]) -> bool:
    """Run steps until one would begin in the reserve; return whether all of them were run.

    The reserve counts from the first step that had anything to do, so every invocation gets ahead.
    """
    began = False
    for step in steps:
        if began and remaining_seconds() < RESERVE_SECONDS:
            return False
        began |= step()
    return True
