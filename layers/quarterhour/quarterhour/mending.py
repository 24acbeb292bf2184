"""Mending counters from the sealed ledger: what `rebuild` and `unpark` have in common, put together in one place."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from quarterhour import aws
from quarterhour.counters.plan import Retention
from quarterhour.counters.rebuild import Asked
from quarterhour.counters.rebuilder import Rebuilder
from quarterhour.counters.store import CounterStore
from quarterhour.ledger.keys import Account
from quarterhour.ledger.posting import Posting
from quarterhour.quarters import Quarter
from quarterhour.reports.keys import run_bounds
from quarterhour.reports.sealed import Run, SealedLedger
from quarterhour.settings import Environment
from quarterhour.streams import Record, new_image
from quarterhour.totals import Totals

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(slots=True)
class Rebuilt:
    """What a rebuild looked at and mended; ``next`` is the day that another must go on from, ``None`` at the end.

    Accounts are looked at as a whole behind the last day.
    """

    days: int = 0
    accounts: int = 0
    mended: int = 0
    next: date | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as the function answers it."""
        return {
            "days": self.days,
            "accounts": self.accounts,
            "mended": self.mended,
            "next": self.next.isoformat() if self.next else None,
        }


@dataclass(frozen=True, slots=True)
class Mending:
    """The sealed ledger, and the counters that are held to it."""

    sealed: SealedLedger
    counters: CounterStore
    retention: Retention
    workers: aws.Workers

    @classmethod
    def of(cls, env: Environment, dynamodb: "DynamoDBClient", workers: aws.Workers) -> Self:
        """Put it together from a function's environment."""
        table = env.text("ENTITY_TABLE")
        return cls(
            SealedLedger(dynamodb, aws.s3(), table, env.text("REPORT_BUCKET")),
            CounterStore(dynamodb, table),
            Retention(env.days("QUARTER_RETENTION_DAYS"), env.days("DAY_RETENTION_DAYS")),
            workers,
        )

    def rebuild(self, asked: Asked, in_time: Callable[[], bool]) -> Rebuilt:
        """Mend the counters of one account or of all, day by day while there is time, and their lifetimes in the end.

        Raises ``UnavailableError`` where an account keeps changing, ``SealedFileError`` where a file is not the one
        sealed: what was mended stays so, and it can run again.
        """
        result = Rebuilt()
        at = self.sealed.checkpoint()
        if at is None:
            return result
        through = at.sealed_through
        rebuilder = self._rebuilder(through)
        for day, runs in self.sealed.days(asked.first, through):
            if result.days and not in_time():
                result.next = day
                return result
            result.mended += rebuilder.mend_day(day, self._lines(runs, asked.account), asked.account)
            result.days += 1
        if result.days and not in_time():
            result.next = through.day + timedelta(days=1)
            return result
        result.accounts, mended = rebuilder.mend_lifetimes(self._sums(through), asked.account)
        result.mended += mended
        return result

    def mender(self) -> Callable[[Record], bool] | None:
        """Return what applies a parked ledger record; ``None`` where nothing is sealed.

        Its account's day is rebuilt, once for all records of it, which moves the lifetime by the same. It answers
        ``False`` for a record that is still no posting, or whose quarter-hour is not sealed yet.
        """
        at = self.sealed.checkpoint()
        if at is None:
            return None
        through = at.sealed_through
        rebuilder = self._rebuilder(through)

        @cache
        def mend_day(account: Account, day: date) -> None:
            for _, runs in self.sealed.days(day, min(through, Quarter.last_of(day))):
                rebuilder.mend_day(day, self._lines(runs, account), account)

        @cache
        def mend_lifetime(account: Account) -> None:
            rebuilder.mend_lifetimes(self._sums(through), account)

        def mend(record: Record) -> bool:
            try:
                posting = Posting.of(new_image(record))
            except ValueError:
                return False
            quarter = posting.partition.quarter
            if quarter > through:
                return False
            mend_day(posting.account, quarter.day)
            # A counter that has expired has no difference to move the lifetime by.
            if quarter < rebuilder.kept_from:
                mend_lifetime(posting.account)
            return True

        return mend

    def _rebuilder(self, through: Quarter) -> Rebuilder:
        return Rebuilder(self.counters, self.retention, through, self.workers)

    def _lines(self, runs: Sequence[Run], only: Account | None) -> Iterator[dict[str, str]]:
        """Yield the lines of runs; none of those that do not name the account."""
        if only is not None:
            runs = [run for run, accounts in self.sealed.accounts(runs, self.workers) if only in accounts]
        return self.sealed.lines_of(runs)

    def _sums(self, through: Quarter) -> Iterator[tuple[datetime, Mapping[Account, Totals]]]:
        """Yield the end of each run, and what it says of its accounts."""
        for _, runs in self.sealed.days(date.min, through):
            for run, accounts in self.sealed.accounts(runs, self.workers):
                yield run_bounds(run["sk"])[1], accounts
