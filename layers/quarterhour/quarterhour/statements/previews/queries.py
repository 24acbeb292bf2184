"""Reads what an account owes now, and what its next statements would be: of drafts, and of open periods."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import ATTEMPTS, pause
from quarterhour.counters.keys import day_key, quarter_hour_sk_bounds
from quarterhour.counters.plan import Retention, of_quarter_hours
from quarterhour.counters.queries import CounterQueries
from quarterhour.model import clock, money
from quarterhour.model.clock import iso_millis, iso_seconds
from quarterhour.model.errors import GoneError, NotFoundError, UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.instants import ALWAYS
from quarterhour.model.periods import Calendar, Period, start_of
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, total
from quarterhour.registry.agencies.agency import TaxProfile, collector_of
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.keys import draft_key
from quarterhour.statements.plan import Progress, months
from quarterhour.statements.previews.balance import (
    Balance,
    Billed,
    Carried,
    OpenPeriod,
    Preview,
    charged_by_draft,
    not_drafted,
    of_periods,
    previews,
    totals_of,
)
from quarterhour.statements.previews.collected import CollectedReader
from quarterhour.statements.previews.unbilled import COUNTERS_OF_A_PAGE, billed, counted
from quarterhour.statements.previews.unreleased import UnreleasedStatements
from quarterhour.statements.queries import PeriodState, StatementQueries
from quarterhour.statements.store import AgencyAt, PartyReader, plan_of_period

if TYPE_CHECKING:
    from quarterhour.statements import api

_DAY: Final = timedelta(days=1)
_INSTANT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PreviewQueries:
    """Queries of previews and balances."""

    statements: StatementQueries
    counters: CounterQueries
    retention: Retention
    collected: CollectedReader

    @classmethod
    def of(cls, resources: Resources, remaining_seconds: Callable[[], float]) -> Self:
        """Return the queries of a function. ``remaining_seconds``: those of the current request."""
        statements, counters = StatementQueries.of(resources), CounterQueries(resources.entities)
        return cls(statements, counters, Retention(), CollectedReader.of(resources, remaining_seconds))

    @property
    def _entities(self) -> EntityReader:
        return self.statements.entities

    @property
    def _rounding(self) -> money.Rounding:
        return self.statements.settings().rounding

    @property
    def _calendar(self) -> Calendar:
        return self.statements.calendar

    # ------------------------------------------------------------ previews

    def preview(self, account: Account, period: Period) -> "api.StatementPreview":
        """Return what the statement of a period without one would be now; nothing of it is stored.

        Raises ``NotFoundError`` if the period has not begun, gets no statements, or has no draft of this account.
        """
        statements, now = self.statements, clock.now()
        progress = statements.progress()
        first = statements.next_period(progress, now)
        if period > self._calendar.month_of(now):
            raise NotFoundError(f"{period} has not begun")
        billed = self._billed(account, progress, now)
        drafts = self._drafts_without_statement(account, progress, billed)
        if period < first and period not in drafts:
            if statements.is_sealed(period):
                raise NotFoundError(f"the account has no statement of {period}")
            begins = progress.first_period or first
            raise NotFoundError(f"there are no statements of {period}: they begin with {begins}")
        found = self._open_previews(account, period, progress, billed, drafts)
        totals, amounts, taxes, _ = found[-1]
        return {
            "period": str(period),
            "agency": account.agency,
            "currency": account.currency,
            "preview": True,
            "state": PeriodState.SEALED if period < first else statements.state(period, progress, now),
            "as_of": iso_millis(now),
            "gross": money.plain(totals.gross),
            "refunds": money.plain(totals.refunds),
            "opening": money.plain(amounts.opening),
            "net": money.plain(amounts.net),
            "commission_exact": money.plain(amounts.commission_exact),
            "commission": money.plain(amounts.commission),
            "tax": money.plain(amounts.tax),
            "payable": money.plain(amounts.payable),
            "proceeds": money.plain(amounts.proceeds),
            "payments": money.plain(amounts.payments),
            "closing": money.plain(amounts.closing),
            "lines": totals.events,
            "taxes": [row.as_dict() for row in taxes],
        }

    def _open_previews(
        self, account: Account, last: Period, progress: Progress, billed: Billed, drafts: Mapping[Period, DraftItem]
    ) -> list[Preview]:
        """Return the previews of an account from its last document to a period: of drafts, then of open periods."""
        now, carried = clock.now(), billed.ends
        found: list[Preview] = []
        for one in sorted(drafted for drafted in drafts if drafted <= last):
            found.append(self._preview_of_draft(drafts[one], carried, now))
            carried = found[-1].ends
        first = self.statements.next_period(progress, now)
        if last >= first:
            drafted = billed.charged + total(map(charged_by_draft, drafts.values()))
            found += self._previews(account, (first, last), progress, drafted, carried)
        return found

    def _drafts_without_statement(
        self, account: Account, progress: Progress, billed: Billed
    ) -> dict[Period, DraftItem]:
        """Return the drafts of an account that have no statement that is not cancelled, by period."""
        periods = [one for one in progress.drafted if one not in billed.with_statement]
        items = self._entities.get_many([draft_key(one, account) for one in periods])
        return {one.period: one for one in map(DraftItem.of, items)}

    def _preview_of_draft(self, item: DraftItem, carried: Carried, now: datetime) -> Preview:
        """Return the preview of a period with a draft; ``carried``: from what is before it."""
        plan_of = partial(plan_of_period, self._entities)
        unreleased = UnreleasedStatements(self._entities, self.statements.files, plan_of)
        _, found = unreleased.read(item.period, item.account, now, is_reissued=item.revision > 0)
        statement = replace(found, before=carried.remainders)
        amounts = replace(statement.amounts, opening=money.add(carried.closing, statement.amounts.opening))
        return Preview(totals_of(statement.sums), amounts, statement.taxes, statement.remainders)

    def _previews(
        self, account: Account, bounds: tuple[Period, Period], progress: Progress, drafted: Totals, carried: Carried
    ) -> Iterator[Preview]:
        """Yield the previews of the periods without drafts, from the first one to another.

        ``drafted``: what the drafts and the statements of the periods before charge. ``carried``: from what is before
        the first one.
        """
        first, last = bounds
        now = clock.now()
        today, agency_at = self._calendar.day_of(now), self._agency_at(account)
        counted = self._counted(account)
        if progress.sealed:
            before = {one: sums for one, sums in counted.items() if one < first}
            rest = not_drafted(of_periods(before, progress.first_period), drafted)
            if rest != Totals():
                counted = {**counted, first: counted.get(first, Totals()) + rest}
        nets = self.collected.read(account, agency_at, self._calendar, first, None)
        of_periods_ = {one: counted.get(one, Totals()) for one in months(first, last)}
        periods = [
            OpenPeriod(min(one.last_day, today), totals, nets.of_period(one, totals.net))
            for one, totals in of_periods_.items()
        ]
        return previews(periods, carried, account.currency, self._profile_on(agency_at), self._rounding)

    def _agency_at(self, account: Account) -> AgencyAt:
        return PartyReader(self._entities).agency(account.agency, ALWAYS[1])

    def _profile_on(self, agency_at: AgencyAt) -> Callable[[date], TaxProfile | None]:
        zone = self._calendar.zone

        def profile_on(day: date) -> TaxProfile | None:
            agency = agency_at(start_of(day, zone))
            return agency.tax if agency else None

        return profile_on

    # ------------------------------------------------------------ balances

    def balance(self, account: Account, at: datetime | None) -> "api.AccountBalance":
        """Return an account's balance now, or as of the start of the quarter-hour of an instant.

        Now it is the closing balance of the preview of the current period. Of a past instant, everything that was
        unbilled is rounded and taxed together, by the profile of that day. Raises ``GoneError`` if the counters that it
        needs are kept no longer.
        """
        now = clock.now()
        quarter_hour = QuarterHour.at(at) if at and at <= now else None
        as_of = quarter_hour.start if quarter_hour else now
        agency_at = self._agency_at(account)
        if quarter_hour:
            billed, unbilled = self._consistently(account, as_of, quarter_hour)
            # At midnight, what is unbilled is of the day that has ended.
            day = self._calendar.day_of(as_of - _INSTANT)
            first = billed.last.period.next if billed.last else self.statements.first_period(self.statements.progress())
            nets = self.collected.read(account, agency_at, self._calendar, first, as_of)
            period = OpenPeriod(day, unbilled, nets.of_all(unbilled.net))
            profile_on = self._profile_on(agency_at)
            found = list(previews([period], billed.ends, account.currency, profile_on, self._rounding))
        else:
            progress = self.statements.progress()
            billed = self._billed(account, progress, now)
            drafts = self._drafts_without_statement(account, progress, billed)
            found = self._open_previews(account, self._calendar.month_of(now), progress, billed, drafts)
        balance, last = Balance.of(billed.closing, found), billed.last
        return {
            "agency": account.agency,
            "currency": account.currency,
            "as_of": iso_millis(as_of),
            "balance": money.plain(balance.amount),
            "collects": collector_of(agency_at(as_of)),
            "statement": None
            if last is None or billed.bound is None
            else {
                "period": str(last.period),
                "number": last.number,
                "closing": money.plain(last.closing),
                "recorded_until": iso_seconds(billed.bound.end),
            },
            "unbilled": {
                "commission": money.plain(balance.commission),
                "tax": money.plain(balance.tax),
                "proceeds": money.plain(balance.proceeds),
                "payments": money.plain(balance.payments),
            },
        }

    def _consistently(self, account: Account, as_of: datetime, since: QuarterHour) -> tuple[Billed, Totals]:
        """Return what was billed and what was unbilled as of an instant, from counters of one moment.

        The counters of an account are several items. Each change moves the version of ``latest`` along with them.
        """
        for attempt in range(ATTEMPTS):
            if attempt:
                pause(attempt - 1)
            before = self.counters.state_of(account)
            found = self._unbilled(account, as_of, since)
            if self.counters.state_of(account).version == before.version:
                return found
        raise UnavailableError("the counters of the account changed during each read: try again")

    def _unbilled(self, account: Account, as_of: datetime, since: QuarterHour) -> tuple[Billed, Totals]:
        progress = self.statements.progress()
        first = self.statements.first_period(progress)
        periods = self._counted(account)
        recorded = self._recorded_since(account, since, first, periods)
        billed = self._billed(account, progress, as_of)
        # What is counted and on no statement is unbilled, so each line is in one of both, whatever period it is of.
        return billed, of_periods(periods, first) - billed.charged - recorded

    def _billed(self, account: Account, progress: Progress, at: datetime) -> Billed:
        return billed(self._entities, account, progress, at)

    def _counted(self, account: Account) -> PeriodTotals:
        """Return the totals of each period of an account."""
        return counted(self.counters, account)

    def _counters(self, account: Account, low: str, high: str) -> Iterator[Values]:
        return self.counters.counted(self.counters.state_of(account), low, high, COUNTERS_OF_A_PAGE)

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
            found = of_quarter_hours(self._counters(account, *quarter_hour_sk_bounds(since, last)))
            return total(of_periods(sums, first) for sums in found.values())
        day, rest = since.day, Totals()
        if since != QuarterHour.first_of(day):
            self._check_kept(since, self.retention.quarter_hour)
            counters = self._counters(account, *quarter_hour_sk_bounds(since, QuarterHour.last_of(day)))
            rest = total(map(Totals.of, counters))
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
