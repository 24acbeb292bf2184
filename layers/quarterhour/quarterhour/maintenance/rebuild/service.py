"""Rebuilds counters from the sealed files: day by day, or for one parked record."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, Self

from quarterhour.aws import clients
from quarterhour.aws.executions import Executions
from quarterhour.aws.resources import Resources
from quarterhour.aws.streams import Record, new_image
from quarterhour.aws.workers import Workers
from quarterhour.counters.plan import Retention
from quarterhour.counters.store import CounterStore
from quarterhour.ledger.postings.posting import Posting
from quarterhour.ledger.postings.segments import postings_of
from quarterhour.maintenance.rebuild.plan import DAYS_OF_AN_INVOCATION, Execution
from quarterhour.maintenance.rebuild.repair import CounterRepair
from quarterhour.maintenance.rebuild.requests import RebuildRequest
from quarterhour.model.errors import AccountItemError, ExecutionFailedError, LedgerItemError
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals
from quarterhour.reports.keys import run_bounds
from quarterhour.reports.plan import Run
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import CheckpointStore, RunStore


@dataclass(slots=True)
class RebuildResult:
    """The days and accounts that a rebuild compared, and the counters that it repaired.

    ``next`` is the day from which another rebuild must continue, ``None`` at the end. Lifetimes are compared after the
    last day. ``execution`` is the ARN of the execution that rebuilds many days and their lifetimes, to be followed.
    """

    days: int = 0
    accounts: int = 0
    repaired: int = 0
    next: date | None = None
    execution: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        return {
            "days": self.days,
            "accounts": self.accounts,
            "repaired": self.repaired,
            "next": self.next.isoformat() if self.next else None,
            "execution": self.execution,
        }


@dataclass(frozen=True, slots=True)
class RebuildService:
    """Compares the counters with the sealed files, and repairs those that differ."""

    checkpoints: CheckpointStore
    runs: RunStore
    files: SealedFiles
    counters: CounterStore
    retention: Retention
    workers: Workers
    executions: Executions

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the service of a function."""
        env, dynamodb, table = resources.env, resources.dynamodb, resources.entity_table
        return cls(
            CheckpointStore(dynamodb, table),
            RunStore(dynamodb, table),
            SealedFiles.of(resources),
            CounterStore(dynamodb, table),
            Retention(),
            resources.workers,
            Executions(clients.stepfunctions(), env.text("REBUILDING_ARN")),
        )

    def rebuild(self, request: RebuildRequest, in_time: Callable[[], bool]) -> RebuildResult:
        """Repair the counters of one account or of all, day by day while there is time, then their lifetimes.

        More than ``DAYS_OF_AN_INVOCATION`` are left to an execution, which rebuilds them side by side. A request for a
        day ends with that day. Raises ``UnavailableError`` if an account keeps changing, ``SealedFileError`` if a file
        is not the sealed one. The repairs made so far stay, and the rebuild can be run again.
        """
        result = RebuildResult()
        at = self.checkpoints.checkpoint()
        if at is None:
            return result
        through = at.sealed_through
        if request.day:
            first, last = request.day, min(through, QuarterHour.last_of(request.day))
        else:
            first, last = request.first, through
        days = self._days(first, last)
        if len(days) > DAYS_OF_AN_INVOCATION:
            execution = Execution.of(request.account, [day for day, _ in days])
            result.execution = self.executions.start(execution.name, execution.content)
            return result
        repair = self._repair(through)
        for day, runs in days:
            if result.days and not in_time():
                result.next = day
                return result
            result.repaired += repair.repair_day(day, self._lines(runs, request.account), request.account)
            result.days += 1
        if request.day:
            return result
        if result.days and not in_time():
            result.next = through.day + timedelta(days=1)
            return result
        result.accounts, repaired = repair.repair_lifetimes(self._sums(through), request.account)
        result.repaired += repaired
        return result

    def _days(self, first: date, last: QuarterHour) -> list[tuple[date, list[Run]]]:
        """Return the days from the first run on, each with its runs: a day without events has none."""
        runs = dict(self.runs.days(first, last))
        began = runs if first == date.min else (day for day, _ in self.runs.days(date.min, last))
        day = max(first, next(iter(began), last.next.day))
        days = [day + timedelta(days=number) for number in range((last.day - day).days + 1)]
        return [(one, runs.get(one, [])) for one in days]

    def follow(self, execution: str) -> RebuildResult:
        """Return the result of an execution; one that is running is named in it.

        Raises ``ExecutionFailedError`` if the execution failed. The repairs made so far stay, and the same rebuild
        starts another.
        """
        output = self.executions.output(execution)
        if output is None:
            return RebuildResult(execution=execution)
        # AWS ends an execution at a day that failed; the emulator's interpreter goes on without the day's result.
        if None in output["repaired"]:
            raise ExecutionFailedError(execution, "INCOMPLETE", "RebuildDay", "a day has no result")
        rest = output["rest"]
        return RebuildResult(
            len(output["repaired"]) + rest["days"],
            rest["accounts"],
            sum(output["repaired"]) + rest["repaired"],
            date.fromisoformat(rest["next"]) if rest["next"] else None,
            rest["execution"],
        )

    def unparker(self) -> Callable[[Record], bool]:
        """Return a function that applies a parked ledger record and returns whether it could.

        It repairs the day of each posting's account, once for all postings of that day; each repair also moves the
        lifetime. A record stays parked while it cannot be read, while its quarter-hour is not sealed, or
        while its account's item cannot be used.
        """
        at = self.checkpoints.checkpoint()
        if at is None:
            return lambda _: False
        through = at.sealed_through
        repair = self._repair(through)

        @cache
        def repair_day(account: Account, day: date) -> None:
            for _, runs in self.runs.days(day, min(through, QuarterHour.last_of(day))):
                repair.repair_day(day, self._lines(runs, account), account)

        @cache
        def repair_lifetime(account: Account) -> None:
            repair.repair_lifetimes(self._sums(through), account)

        def unpark(record: Record) -> bool:
            postings = _postings_in(record)
            if postings is None or any(posting.partition.quarter_hour > through for posting in postings):
                return False
            try:
                for posting in postings:
                    quarter_hour = posting.partition.quarter_hour
                    repair_day(posting.account, quarter_hour.day)
                    # An expired counter is not repaired, so the lifetime has not moved.
                    if quarter_hour < repair.kept_from:
                        repair_lifetime(posting.account)
            except AccountItemError:
                return False
            return True

        return unpark

    def _repair(self, through: QuarterHour) -> CounterRepair:
        return CounterRepair(self.counters, self.retention, through, self.workers)

    def _lines(self, runs: Sequence[Run], only: Account | None) -> Iterator[dict[str, str]]:
        """Yield the lines of the runs that name the account, or (``None``) of all runs."""
        if only is not None:
            runs = [run for run, accounts in self.files.accounts(runs, self.workers) if only in accounts]
        return self.files.lines_of(runs)

    def _sums(self, through: QuarterHour) -> Iterator[tuple[datetime, Mapping[Account, PeriodTotals]]]:
        """Yield the end of each run and its accounts' totals by period."""
        for _, runs in self.runs.days(date.min, through):
            for run, accounts in self.files.accounts(runs, self.workers):
                yield run_bounds(run["sk"])[1], accounts


def _postings_in(record: Record) -> list[Posting] | None:
    """Return the postings in a record of the ledger's stream; ``None`` if it cannot be read."""
    try:
        return list(map(Posting.of, postings_of(new_image(record))))
    except (ValueError, LedgerItemError):
        return None
