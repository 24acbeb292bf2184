"""Reads the statements: sealed and open periods, a statement with links to its files, previews, and balances."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from quarterhour.agencies.agency import BY_AGENCY, Agency, TaxProfile
from quarterhour.aws.entity import Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.retries import ATTEMPTS, pause
from quarterhour.counters.keys import (
    account_pk,
    day_key,
    latest_key,
    period_of,
    period_sk_bounds,
    quarter_hour_sk_bounds,
)
from quarterhour.counters.plan import Retention, by_quarter_hour, by_quarter_hour_and_period
from quarterhour.counters.windows import AccountState
from quarterhour.ledger.partitions import read_sealed_through
from quarterhour.model import clock, money
from quarterhour.model.clock import iso_millis, iso_seconds
from quarterhour.model.errors import GoneError, NotFoundError, UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.instants import ALWAYS
from quarterhour.model.periods import Calendar, Period, start_of
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, total
from quarterhour.reports.queries import LINKS_VALID, link_request
from quarterhour.statements.balance import Balance, OpenPeriod, StatementSummary, of_periods, previews
from quarterhour.statements.keys import (
    PROGRESS_KEY,
    period_key,
    sealed_periods,
    statement_key,
    statement_prefix,
    statements_of_agency,
)
from quarterhour.statements.listing import FIGURES, FILES
from quarterhour.statements.plan import Progress, StatementPlan
from quarterhour.statements.store import PartyReader
from quarterhour.web.access import Caller
from quarterhour.web.paging import Page, Paging

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_PAGE: Final = 200
_COUNTERS: Final = 1000
_DAY: Final = timedelta(days=1)
_INSTANT: Final = timedelta(microseconds=1)
_SHOWN: Final = ("number", "document", "issued")
_OF_PERIOD: Final = ("planned_at", "code_version", "manifest_sha256")
_COUNTS: Final = ("statements", "credit_notes", "lines")
_AMOUNTS: Final = (
    *("opening", "net", "commission_exact", "commission", "tax", "payable", "proceeds", "payments", "closing"),
)


class PeriodState(StrEnum):
    """The state of a period."""

    OPEN = "open"
    """Events may still count in it."""
    CLOSED = "closed"
    """Its cut-off has passed, so no further event counts in it."""
    RUNNING = "running"
    """Its statements are being written."""
    SEALED = "sealed"


def shown_statement(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a statement as the API shows it: its name, number and figures."""
    return {
        "period": values["period"],
        "agency": values["agency"],
        "currency": values["currency"],
        **{name: values[name] for name in (*_SHOWN, *FIGURES)},
        "lines": int(values["lines"]),
        "prior_period_lines": int(values["prior_period_lines"]),
        "recorded_until": iso_seconds(QuarterHour.parse(values["bound"]).end),
    }


def shown_sealed(values: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Return a sealed period as a caller may see it: the marketplace sees its totals, too."""
    plan = StatementPlan.of(values)
    dates = {"from": plan.starts, "to": plan.ends, "cut_off": plan.cut_off, "recorded_until": plan.bound.end}
    shown_to_all = {
        "period": str(plan.period),
        "state": PeriodState.SEALED,
        **{name: iso_seconds(at) for name, at in dates.items()},
        "time_zone": plan.zone,
    }
    if not caller.is_of_marketplace:
        return shown_to_all
    counts = {name: int(values[name]) for name in _COUNTS}
    return {
        **shown_to_all,
        **{name: values[name] for name in _OF_PERIOD},
        **counts,
        "currencies": values["currencies"],
    }


@dataclass(frozen=True, slots=True)
class StatementQueries:
    """Queries of periods, previews and balances.

    ``began`` returns when the first report begins, ``None`` before it. ``rounding``: that of previews.
    """

    entities: EntityReader
    s3: "S3Client"
    bucket: str
    calendar: Calendar
    retention: Retention
    began: Callable[[], datetime | None]
    rounding: money.Rounding = money.Rounding.HALF_EVEN

    # ------------------------------------------------------------ periods

    def periods(self, paging: Paging, caller: Caller) -> Page:
        """Return a page of the periods, the newest first: those that are not sealed yet, then the sealed ones."""
        after = paging.start(Period.parse, None)
        return paging.cut(self._periods(after, caller), lambda one: one, lambda one: str(one["period"]))

    def _periods(self, after: Period | None, caller: Caller) -> Iterator[dict[str, Any]]:
        progress, now = self._progress(), clock.now()
        first = self._next_period(progress, now)
        period = self.calendar.month_of(now)
        if after:
            period = min(period, after.previous)
        while period >= first:
            yield self._shown_open(period, progress, now)
            period = period.previous
        sealed = sealed_periods()
        behind = str(after) if after and after < first else None
        for values in self.entities.read(replace(sealed, after=behind), _PAGE):
            yield shown_sealed(values, caller)

    def _shown_open(self, period: Period, progress: Progress, now: datetime) -> dict[str, Any]:
        calendar = self.calendar
        dates = {
            "from": calendar.starts(period),
            "to": calendar.starts(period.next),
            "cut_off": calendar.cut_off(period),
        }
        return {
            "period": str(period),
            "state": self._state(period, progress, now),
            **{name: iso_seconds(at) for name, at in dates.items()},
            "time_zone": str(calendar.zone),
        }

    def _state(self, period: Period, progress: Progress, now: datetime) -> PeriodState:
        if progress.plan and progress.plan.period == period:
            return PeriodState.RUNNING
        return PeriodState.CLOSED if self.calendar.cut_off(period) <= now else PeriodState.OPEN

    def _progress(self) -> Progress:
        values = self.entities.get(PROGRESS_KEY)
        return Progress.of(values) if values else Progress()

    def _next_period(self, progress: Progress, now: datetime) -> Period:
        return progress.next_period(self.calendar, self.began() or self._first_recorded(now))

    def _first_recorded(self, now: datetime) -> datetime:
        """Return when the first event was recorded, or before it, if nothing is reported yet."""
        sealed_through = read_sealed_through(self.entities)
        return sealed_through.end if sealed_through else now

    # ------------------------------------------------------------ a statement

    def links(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return links to the files of a statement."""
        account = Account(values["agency"], values["currency"])
        prefix = statement_prefix(Period.parse(values["period"]), account)
        files = (
            (name, *values["files"][name]) for name in FILES if name in values["files"]
        )  # a stored map has no order
        return {
            "links_valid_seconds": int(LINKS_VALID.total_seconds()),
            "files": [
                {
                    "key": prefix + name,
                    "sha256": sha256,
                    "size": int(size),
                    "url": self.s3.generate_presigned_url(**link_request(self.bucket, prefix + name)),
                }
                for name, sha256, size in files
            ],
        }

    def preview(self, account: Account, period: Period) -> dict[str, Any]:
        """Return what the statement of an open period would be now; nothing of it is stored.

        Raises ``NotFoundError`` if the period has not begun, gets no statements, or is sealed without this account.
        """
        now, progress = clock.now(), self._progress()
        first = self._next_period(progress, now)
        if period < first:
            if self._is_sealed(period):
                raise NotFoundError(f"the account has no statement of {period}")
            begins = progress.first_period or first
            raise NotFoundError(f"there are no statements of {period}: they begin with {begins}")
        if period > self.calendar.month_of(now):
            raise NotFoundError(f"{period} has not begun")
        before = self.entities.get(statement_key(progress.sealed, account)) if progress.sealed else None
        closing = Decimal(before["closing"]) if before else money.ZERO
        counted = self._counted(account)
        today, zone = self.calendar.day_of(now), self.calendar.zone
        agency_at = PartyReader(self.entities).agency(account.agency, ALWAYS[1])

        def profile_on(day: date) -> TaxProfile | None:
            agency = agency_at(start_of(day, zone))
            return agency.tax if agency else None

        months = [
            OpenPeriod(
                min(one.next.first_day - _DAY, today),
                counted.get(one, Totals()),
                _collects(agency_at(min(self.calendar.starts(one.next) - _INSTANT, now))),
            )
            for one in _months(first, period)
        ]
        *_, found = previews(months, closing, account.currency, profile_on, self.rounding)
        return {
            "period": str(period),
            "agency": account.agency,
            "currency": account.currency,
            "preview": True,
            "state": self._state(period, progress, now),
            "as_of": iso_millis(now),
            "gross": money.plain(found.totals.gross),
            "refunds": money.plain(found.totals.refunds),
            **{name: money.plain(getattr(found.amounts, name)) for name in _AMOUNTS},
            "lines": found.totals.events,
            "taxes": [row.as_dict() for row in found.taxes],
        }

    def _is_sealed(self, period: Period) -> bool:
        return self.entities.get(period_key(period)) is not None

    # ------------------------------------------------------------ balances

    def balance(self, account: Account, at: datetime | None) -> dict[str, Any]:
        """Return an account's balance now, or as of the start of the quarter-hour of an instant.

        Raises ``GoneError`` if the counters that it needs are kept no longer.
        """
        now = clock.now()
        quarter_hour = QuarterHour.at(at) if at and at <= now else None
        as_of = quarter_hour.start if quarter_hour else now
        statements = [one for one in self._sealed(account) if one.bound.end <= as_of]
        collects = _collects(PartyReader(self.entities).agency(account.agency, ALWAYS[1])(as_of))
        found = replace(self._consistently(account, statements, quarter_hour), collects=collects)
        last = found.last
        return {
            "agency": account.agency,
            "currency": account.currency,
            "as_of": iso_millis(as_of),
            "balance": money.plain(found.amount),
            "collects": collects,
            "statement": None
            if last is None
            else {
                "period": str(last.period),
                "number": last.number,
                "closing": money.plain(last.closing),
                "recorded_until": iso_seconds(last.bound.end),
            },
            "unbilled": {
                "commission": money.plain(found.unbilled.commission),
                "proceeds": money.plain(found.proceeds),
                "payments": money.plain(found.unbilled.payments),
            },
        }

    def _consistently(self, account: Account, statements: list[StatementSummary], since: QuarterHour | None) -> Balance:
        """Return a balance from counters of one moment.

        The counters of an account are several items. Each change moves the version of ``latest`` along with them.
        """
        for attempt in range(ATTEMPTS):
            if attempt:
                pause(attempt - 1)
            before = self._version(account)
            found = self._balance(account, statements, since)
            if since is None or self._version(account) == before:
                return found
        raise UnavailableError("the counters of the account changed during each read: try again")

    def _version(self, account: Account) -> int | None:
        latest = self.entities.get(latest_key(account))
        return int(latest["version"]) if latest else None

    def _balance(self, account: Account, statements: list[StatementSummary], since: QuarterHour | None) -> Balance:
        first = self._progress().first_period or self.calendar.first_period
        periods = self._counted(account)
        recorded = self._recorded_since(account, since, first, periods) if since else Totals()
        return Balance.of(statements, of_periods(periods, first), recorded)

    def _sealed(self, account: Account) -> Iterator[StatementSummary]:
        """Yield the statements of an account."""
        entries = self.entities.read_index(statements_of_agency(account.agency), _PAGE)
        return (
            StatementSummary.of(values)
            for values in entries
            if values["currency"] == account.currency and "number" in values  # a change of a status has none
        )

    def _counted(self, account: Account) -> PeriodTotals:
        """Return the totals of each period of an account."""
        counters = self._counters(account, *period_sk_bounds())
        return {period_of(values["sk"]): Totals.of(values) for values in counters}

    def _counters(self, account: Account, low: str, high: str) -> Iterator[Values]:
        opened = AccountState.of(account, self.entities.get(latest_key(account)))
        own = self.entities.read(Range(account_pk(account), low, high, consistent=True), _COUNTERS)
        return opened.counters_for_readers(own, low, high)

    def _recorded_since(
        self, account: Account, since: QuarterHour, first: Period | None, periods: PeriodTotals
    ) -> Totals:
        """Return what was recorded from a quarter-hour on, of the periods that get statements.

        Days do not know periods. So of an account with sales of earlier periods, all is read by quarter-hours.
        """
        today = clock.now().date()
        last = QuarterHour.last_of(today + _DAY)
        if first and of_periods(periods, None) != of_periods(periods, first):
            self._check_kept(since, self.retention.quarter_hour)
            found = by_quarter_hour_and_period(self._counters(account, *quarter_hour_sk_bounds(since, last)))
            return total(of_periods(sums, first) for _, sums in found)
        day, rest = since.day, Totals()
        if since != QuarterHour.first_of(day):
            self._check_kept(since, self.retention.quarter_hour)
            found_ = by_quarter_hour(self._counters(account, *quarter_hour_sk_bounds(since, QuarterHour.last_of(day))))
            rest = total(totals for _, totals in found_)
            day += _DAY
        self._check_kept(QuarterHour.first_of(day), self.retention.day)
        days = self._counters(account, day_key(account, day)["sk"], day_key(account, today + _DAY)["sk"])
        return total(map(Totals.of, days)) + rest

    def _check_kept(self, oldest: QuarterHour, kept: timedelta) -> None:
        """Raise ``GoneError`` if a counter that is kept for so long has expired."""
        earliest = clock.now() - kept
        if oldest.end <= earliest:
            raise GoneError(
                f"the counters from {iso_seconds(oldest.start)} on are kept no longer: ask for a day's midnight (UTC), "
                f"or an instant after {iso_seconds(earliest)}"
            )


def _collects(agency: Agency | None) -> str:
    return agency.collects if agency else BY_AGENCY


def _months(first: Period, last: Period) -> Iterator[Period]:
    while first <= last:
        yield first
        first = first.next
