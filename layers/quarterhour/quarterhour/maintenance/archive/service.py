"""Archives the months that are due: checks the ledger against the sealed files, then replaces its items."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final, Self

from quarterhour.aws.resources import Resources
from quarterhour.ledger.postings.partitions import LedgerReader
from quarterhour.maintenance.archive.plan import (
    PartFile,
    checked,
    days_late,
    last_due,
    replacements,
    sealed_parts,
    unproven,
    unsealed,
)
from quarterhour.maintenance.archive.store import ArchiveStore
from quarterhour.model import clock
from quarterhour.model.errors import SealedFileError
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.keys import run_bounds
from quarterhour.reports.plan import Plan, Run
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.service import ReportStores
from quarterhour.reports.store import CheckpointStore, RunStore, began

RESERVE_SECONDS: Final = 60
"""With less time left than this, no further items are replaced."""
PORTION_SECONDS: Final = 300
"""The longest that an invocation archives, so that a run of the report stays short."""


@dataclass(slots=True)
class ArchiveResult:
    """What an invocation has archived.

    ``items``: the ledger items that were replaced. ``through``: the last quarter-hour that is archived. ``waits_for``:
    why the next month must wait. ``days_late``: for how many days it has been due. ``complete``: whether nothing that
    is due and may be archived is left.
    """

    items: int = 0
    through: str | None = None
    waits_for: str | None = None
    days_late: int = 0
    complete: bool = True

    as_dict = asdict


@dataclass(frozen=True, slots=True)
class Archiver:
    """Replaces the ledger items of the months before the last ``months`` whole months, in the order of time.

    ``waits_for`` returns why a month that is sealed must wait, ``None`` if it may be archived.
    """

    store: ArchiveStore
    ledger: LedgerReader
    checkpoints: CheckpointStore
    runs: RunStore
    waits_for: Callable[[Period], str | None]
    files: SealedFiles
    months: int

    @classmethod
    def of(cls, resources: Resources, stores: ReportStores, waits_for: Callable[[Period], str | None]) -> Self:
        """Return the archiver of a function, which shares the stores of the reports."""
        env, dynamodb = resources.env, resources.dynamodb
        store = ArchiveStore(dynamodb, env.text("LEDGER_TABLE"), resources.entities, resources.workers)
        months = env.integer("LEDGER_RETENTION_MONTHS")
        return cls(store, stores.ledger, stores.checkpoints, stores.runs, waits_for, stores.files, months)

    def run(self, remaining_seconds: Callable[[], float]) -> ArchiveResult:
        """Archive what is due, or as much as the time allows; the next invocation continues.

        It may run any number of times, at the same time too. Raises ``SealedFileError`` if a sealed file, its manifest
        and the ledger disagree; nothing that they disagree about is replaced.
        """
        result = ArchiveResult()
        start = began(self.store.entities)
        if start is None:
            return result
        until = remaining_seconds() - PORTION_SECONDS

        def in_time() -> bool:
            return remaining_seconds() > max(until, RESERVE_SECONDS)

        through = self.store.through() or QuarterHour.at(start).previous
        due = last_due(clock.now(), self.months)
        while through < due and not result.waits_for and result.complete:
            through = self._month(Period.of(through.next.day), through, in_time, result)
        result.through = str(through)
        result.days_late = days_late(through, clock.now(), self.months) if through < due else 0
        return result

    def _month(
        self, month: Period, through: QuarterHour, in_time: Callable[[], bool], result: ArchiveResult
    ) -> QuarterHour:
        """Archive a month from a quarter-hour on; return the last quarter-hour that is archived now."""
        result.waits_for = self._refusal(month)
        if result.waits_for:
            return through
        last = QuarterHour.last_of(month.last_day)
        for _, runs in self.runs.days(through.next.day, last):
            for run in runs:
                plan = Plan.of(run["plan"])
                if plan.last <= through:
                    continue
                _check_empty(through, plan.empty_since or plan.first.start)
                result.waits_for = unproven(run)
                result.complete = not result.waits_for and self._run(plan, run, in_time, result)
                if not result.complete:
                    return through
                through = plan.last
                self.store.move(through)
        if through < last:
            _check_empty(through, self._empty_since(last))
            through = last
            self.store.move(through)
        return through

    def _empty_since(self, last: QuarterHour) -> datetime:
        """Return the instant from which on everything up to a quarter-hour is sealed as empty."""
        at = self.checkpoints.checkpoint()
        if at is None:
            raise SealedFileError(f"no run has sealed {last}")
        for _, runs in self.runs.days(last.next.day, at.sealed_through):
            plan = Plan.of(runs[0]["plan"])
            return plan.empty_since or plan.first.start
        run, _ = at.previous
        return run_bounds(run)[1]

    def _refusal(self, month: Period) -> str | None:
        """Return why a month must wait; ``None`` if it may be archived."""
        checkpoint = self.checkpoints.checkpoint()
        return unsealed(month, checkpoint.sealed_through if checkpoint else None) or self.waits_for(month)

    def _run(self, plan: Plan, run: Run, in_time: Callable[[], bool], result: ArchiveResult) -> bool:
        """Archive the items of a run; return whether the time sufficed."""
        return all(
            self._part(plan, part, in_time, result) for part in sealed_parts(plan, run, self.files.manifest(run))
        )

    def _part(self, plan: Plan, one: PartFile, in_time: Callable[[], bool], result: ArchiveResult) -> bool:
        if not in_time():
            return False
        with self.files.lines(one.part, one.sealed) as lines:
            items = self.ledger.items(plan.partitions(one.part))
            for some in replacements(checked(one.part, items, lines)):
                if not in_time():
                    return False
                self.store.replace(some)
                result.items += len(some)
        return True


def _check_empty(through: QuarterHour, since: datetime) -> None:
    """Raise ``SealedFileError`` unless what follows a quarter-hour is sealed as empty ``since`` its end, or before."""
    if since > through.end:
        raise SealedFileError(f"no run has sealed {through.next}")
