"""Reads the statements: sealed and open periods, a statement with links to its files, previews, and balances."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.aws.entity import Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import ATTEMPTS, pause
from quarterhour.counters.keys import (
    account_pk,
    day_key,
    latest_key,
    period_of,
    period_sk_bounds,
    quarter_hour_sk_bounds,
)
from quarterhour.counters.plan import Retention, of_quarter_hours
from quarterhour.counters.windows import AccountState
from quarterhour.ledger.postings.partitions import read_sealed_through
from quarterhour.model import clock, money
from quarterhour.model.clock import iso_millis, iso_seconds
from quarterhour.model.errors import GoneError, NotFoundError, UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.instants import ALWAYS
from quarterhour.model.periods import Calendar, Period, start_of
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.settings import calendar_of, rounding_of
from quarterhour.model.totals import PeriodTotals, Totals, total
from quarterhour.registry.agencies.agency import BY_AGENCY, Agency, TaxProfile
from quarterhour.reports.queries import LINKS_VALID, link_request
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import began
from quarterhour.statements.keys import (
    LINES,
    PROGRESS_KEY,
    draft_key,
    last_document_key,
    period_key,
    sealed_periods,
    statement_key,
    statement_prefix,
)
from quarterhour.statements.listing import FILES, Listed
from quarterhour.statements.plan import AT_ONCE, Progress, StatementPlan
from quarterhour.statements.previews.balance import (
    Balance,
    Billed,
    OpenPeriod,
    Preview,
    charged_by_draft,
    not_drafted,
    of_periods,
    previews,
    totals_of,
)
from quarterhour.statements.previews.unreleased import UnreleasedStatements
from quarterhour.statements.store import AgencyAt, PartyReader, plan_of_period
from quarterhour.web.access import Caller
from quarterhour.web.paging import Paging

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from quarterhour.reports.api import LinkedFile
    from quarterhour.statements import api
    from quarterhour.web.paging import Page

_PAGE: Final = 200
_COUNTERS: Final = 1000
_DAY: Final = timedelta(days=1)
_INSTANT: Final = timedelta(microseconds=1)


class PeriodState(StrEnum):
    """The state of a period."""

    OPEN = "open"
    """Events may still count in it."""
    CLOSED = "closed"
    """Its cut-off has passed, so no further event counts in it."""
    RUNNING = "running"
    """Its drafts are being made."""
    SEALED = "sealed"
    """Its drafts are made, and no line is added to them. 0.2.0 sealed its statements, too."""


def shown_statement(values: Mapping[str, Any]) -> "api.StatementFigures":
    """Return a statement as the API shows it: its name, number and figures."""
    return {
        "period": values["period"],
        "agency": values["agency"],
        "currency": values["currency"],
        "number": values["number"],
        "document": values["document"],
        "issued": values["issued"],
        "opening": values["opening"],
        "brought_forward": values["brought_forward"],
        "sales": values["sales"],
        "voids": values["voids"],
        "refunds": values["refunds"],
        "adjustments": values["adjustments"],
        "net": values["net"],
        "commission_exact": values["commission_exact"],
        "commission": values["commission"],
        "tax": values["tax"],
        "proceeds": values.get("proceeds", "0"),  # 0.2.0 has none
        "payments": values["payments"],
        "closing": values["closing"],
        "issued_on": values.get("issued_on"),
        "due_on": values.get("due_on"),
        "dispute_until": _dispute_until(values),
        "lines": int(values["lines"]),
        "prior_period_lines": int(values["prior_period_lines"]),
        "recorded_until": iso_seconds(QuarterHour.parse(values["bound"]).end),
    }


def _dispute_until(values: Mapping[str, Any]) -> str | None:
    """Return the last day for a dispute, as the statement shows it; ``None`` if silence never accepts it."""
    if "acceptance_days" not in values:
        return None
    days = timedelta(days=int(values["acceptance_days"]))
    return (date.fromisoformat(values["issued_on"]) + days).isoformat()


def shown_documents(values: Mapping[str, Any]) -> "list[api.ListedDocument]":
    """Return the documents of an account and a period from the item of its statement; 0.2.0 has one, without dates."""
    documents = values.get("documents") or [{**values, "amount": money.plain(Listed.of_item(values).amount)}]
    return [
        {
            "number": one["number"],
            "document": one["document"],
            "issued_on": one.get("issued_on"),
            "due_on": one.get("due_on"),
            "cancels": one.get("cancels") or None,
            "amount": one["amount"],
        }
        for one in documents
    ]


def shown_sealed(values: Mapping[str, Any], caller: Caller) -> "api.PeriodOfStatements":
    """Return a sealed period as a caller may see it: the marketplace sees its totals, too."""
    plan = StatementPlan.of(values)
    shown: api.PeriodOfStatements = {
        "period": str(plan.period),
        "state": PeriodState.SEALED,
        "from": iso_seconds(plan.starts),
        "to": iso_seconds(plan.ends),
        "cut_off": iso_seconds(plan.cut_off),
        "recorded_until": iso_seconds(plan.bound.end),
        "time_zone": plan.zone,
    }
    if caller.is_of_marketplace:
        shown["planned_at"] = values["planned_at"]
        shown["code_version"] = values["code_version"]
        shown["manifest_sha256"] = values["manifest_sha256"]
        if plan.schema == AT_ONCE:
            shown["statements"], shown["credit_notes"] = int(values["statements"]), int(values["credit_notes"])
        else:
            shown["drafts"] = int(values["drafts"])
        shown["lines"] = int(values["lines"])
        shown["currencies"] = values["currencies"]
    return shown


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

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the queries of a function."""
        env, entities = resources.env, resources.entities
        bucket, retention = env.text("REPORT_BUCKET"), Retention.of(env)
        began_at = partial(began, entities)
        return cls(entities, resources.s3, bucket, calendar_of(env), retention, began_at, rounding_of(env))

    @property
    def files(self) -> SealedFiles:
        """The sealed files."""
        return SealedFiles(self.s3, self.bucket)

    # ------------------------------------------------------------ periods

    def periods(self, paging: Paging, caller: Caller) -> "Page[api.PeriodOfStatements]":
        """Return a page of the periods, the newest first: those that are not sealed yet, then the sealed ones."""
        after = paging.start(Period.parse, None)
        return paging.cut(self._periods(after, caller), lambda one: one, lambda one: str(one["period"]))

    def _periods(self, after: Period | None, caller: Caller) -> "Iterator[api.PeriodOfStatements]":
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

    def _shown_open(self, period: Period, progress: Progress, now: datetime) -> "api.PeriodOfStatements":
        calendar = self.calendar
        return {
            "period": str(period),
            "state": self._state(period, progress, now),
            "from": iso_seconds(calendar.starts(period)),
            "to": iso_seconds(calendar.starts(period.next)),
            "cut_off": iso_seconds(calendar.cut_off(period)),
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

    def files_of(self, values: Mapping[str, Any]) -> "api.StatementFiles":
        """Return links to the files of a statement, and of each document of the account and the period."""
        return {
            "links_valid_seconds": int(LINKS_VALID.total_seconds()),
            "files": self._links(values, int(values.get("revision", 1)), values["files"]),
            "cancelled": values.get("cancelled"),
            "documents": [
                {
                    "number": one["number"],
                    "document": one["document"],
                    "release": int(one["release"]) if "release" in one else None,
                    "issued_on": one.get("issued_on"),
                    "cancels": one.get("cancels") or None,
                    "closing": one["closing"],
                    "files": self._links(values, int(one.get("revision", 1)), one["files"]),
                }
                for one in values.get("documents", [values])
            ],
        }

    def _links(
        self, values: Mapping[str, Any], revision: int, files: Mapping[str, tuple[str, int]]
    ) -> "list[LinkedFile]":
        """Return links to the files of a document. All documents of a draft share its lines, beside the first one."""
        period, account = Period.parse(values["period"]), Account(values["agency"], values["currency"])
        first, prefix = statement_prefix(period, account), statement_prefix(period, account, revision)
        keys = ((first if name == LINES else prefix) + name for name in FILES if name in files)
        return [
            {
                "key": key,
                "sha256": (file := files[key.rpartition("/")[2]])[0],
                "size": int(file[1]),
                "url": self.s3.generate_presigned_url(**link_request(self.bucket, key)),
            }
            for key in keys
        ]

    def preview(self, account: Account, period: Period) -> "api.StatementPreview":
        """Return what the statement of a period without one would be now; nothing of it is stored.

        Raises ``NotFoundError`` if the period has not begun, gets no statements, or has no draft of this account.
        """
        now, progress = clock.now(), self._progress()
        first = self._next_period(progress, now)
        if period > self.calendar.month_of(now):
            raise NotFoundError(f"{period} has not begun")
        billed = self._billed(account, progress, now)
        drafts = self._drafts_without_statement(account, progress, billed)
        if period < first and period not in drafts:
            if self._is_sealed(period):
                raise NotFoundError(f"the account has no statement of {period}")
            begins = progress.first_period or first
            raise NotFoundError(f"there are no statements of {period}: they begin with {begins}")
        found = self._open_previews(account, period, progress, billed, drafts)
        totals, amounts, taxes = found[-1]
        return {
            "period": str(period),
            "agency": account.agency,
            "currency": account.currency,
            "preview": True,
            "state": PeriodState.SEALED if period < first else self._state(period, progress, now),
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
        self, account: Account, last: Period, progress: Progress, billed: Billed, drafts: Mapping[Period, Values]
    ) -> list[Preview]:
        """Return the previews of an account from its last document to a period: of drafts, then of open periods."""
        now, closing = clock.now(), billed.closing
        found: list[Preview] = []
        for one in sorted(drafted for drafted in drafts if drafted <= last):
            is_reissued = int(drafts[one]["revision"]) > 0
            found.append(self._preview_of_draft(one, account, closing, now, is_reissued=is_reissued))
            closing = found[-1].amounts.closing
        first = self._next_period(progress, now)
        if last >= first:
            drafted = billed.charged + total(map(charged_by_draft, drafts.values()))
            found += self._previews(account, (first, last), progress, drafted, closing)
        return found

    def _drafts_without_statement(self, account: Account, progress: Progress, billed: Billed) -> dict[Period, Values]:
        """Return the drafts of an account that have no statement that is not cancelled, by period."""
        if not (progress.drafted_from and progress.sealed):
            return {}
        periods = [one for one in _months(progress.drafted_from, progress.sealed) if one not in billed.with_statement]
        items = self.entities.get_many([draft_key(one, account) for one in periods])
        return {Period.parse(values["period"]): values for values in items}

    def _preview_of_draft(
        self, period: Period, account: Account, closing: Decimal, now: datetime, *, is_reissued: bool
    ) -> Preview:
        """Return the preview of a period with a draft; ``closing``: the closing balance before it."""
        unreleased = UnreleasedStatements(self.entities, self.files, partial(plan_of_period, self.entities))
        _, statement = unreleased.read(period, account, now, is_reissued=is_reissued)
        amounts = replace(statement.amounts, opening=money.add(closing, statement.amounts.opening))
        return Preview(totals_of(statement.entry.sums), amounts, statement.taxes)

    def _previews(
        self, account: Account, months: tuple[Period, Period], progress: Progress, drafted: Totals, closing: Decimal
    ) -> Iterator[Preview]:
        """Yield the previews of the periods without drafts, from the first one to another.

        ``drafted``: what the drafts and the statements of the periods before charge. ``closing``: the closing balance
        before the first one.
        """
        first, last = months
        now = clock.now()
        today, agency_at = self.calendar.day_of(now), self._agency_at(account)
        counted = self._counted(account)
        if progress.sealed:
            before = {one: sums for one, sums in counted.items() if one < first}
            rest = not_drafted(of_periods(before, progress.first_period), drafted)
            if rest != Totals():
                counted = {**counted, first: counted.get(first, Totals()) + rest}
        periods = [
            OpenPeriod(
                min(one.last_day, today),
                counted.get(one, Totals()),
                _collects(agency_at(min(self.calendar.starts(one.next) - _INSTANT, now))),
            )
            for one in _months(first, last)
        ]
        return previews(periods, closing, account.currency, self._profile_on(agency_at), self.rounding)

    def _agency_at(self, account: Account) -> AgencyAt:
        return PartyReader(self.entities).agency(account.agency, ALWAYS[1])

    def _profile_on(self, agency_at: AgencyAt) -> Callable[[date], TaxProfile | None]:
        zone = self.calendar.zone

        def profile_on(day: date) -> TaxProfile | None:
            agency = agency_at(start_of(day, zone))
            return agency.tax if agency else None

        return profile_on

    def _is_sealed(self, period: Period) -> bool:
        return self.entities.get(period_key(period)) is not None

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
            day = self.calendar.day_of(as_of - _INSTANT)
            period = OpenPeriod(day, unbilled, _collects(agency_at(as_of)))
            profile_on = self._profile_on(agency_at)
            found = list(previews([period], billed.closing, account.currency, profile_on, self.rounding))
        else:
            progress = self._progress()
            billed = self._billed(account, progress, now)
            drafts = self._drafts_without_statement(account, progress, billed)
            found = self._open_previews(account, self.calendar.month_of(now), progress, billed, drafts)
        balance, last = Balance.of(billed.closing, found), billed.last
        return {
            "agency": account.agency,
            "currency": account.currency,
            "as_of": iso_millis(as_of),
            "balance": money.plain(balance.amount),
            "collects": _collects(agency_at(as_of)),
            "statement": None
            if last is None
            else {
                "period": str(last.period),
                "number": last.number,
                "closing": money.plain(last.closing),
                "recorded_until": iso_seconds(last.bound.end),
            },
            "unbilled": {
                "commission": money.plain(balance.commission),
                "tax": money.plain(balance.tax),
                "proceeds": money.plain(balance.proceeds),
                "payments": money.plain(balance.payments),
            },
        }

    def first_period(self) -> Period | None:
        """Return the first period with statements, ``None`` before it is known; what is earlier is on none."""
        return self._progress().first_period or self.calendar.first_period

    def statement_periods(self) -> list[Period]:
        """Return the periods that may have statements, up to the present one; none before the first run."""
        first = self._progress().first_period
        return list(_months(first, self.calendar.month_of(clock.now()))) if first else []

    def _consistently(self, account: Account, as_of: datetime, since: QuarterHour) -> tuple[Billed, Totals]:
        """Return what was billed and what was unbilled as of an instant, from counters of one moment.

        The counters of an account are several items. Each change moves the version of ``latest`` along with them.
        """
        for attempt in range(ATTEMPTS):
            if attempt:
                pause(attempt - 1)
            before = self._version(account)
            found = self._unbilled(account, as_of, since)
            if self._version(account) == before:
                return found
        raise UnavailableError("the counters of the account changed during each read: try again")

    def _version(self, account: Account) -> int | None:
        latest = self.entities.get(latest_key(account))
        return int(latest["version"]) if latest else None

    def _unbilled(self, account: Account, as_of: datetime, since: QuarterHour) -> tuple[Billed, Totals]:
        progress = self._progress()
        first = progress.first_period or self.calendar.first_period
        periods = self._counted(account)
        recorded = self._recorded_since(account, since, first, periods)
        billed = self._billed(account, progress, as_of)
        # What is counted and on no statement is unbilled, so each line is in one of both, whatever period it is of.
        return billed, of_periods(periods, first) - billed.charged - recorded

    def _billed(self, account: Account, progress: Progress, at: datetime) -> Billed:
        """Return what an account was billed by an instant, read with strong consistency."""
        if not (progress.first_period and progress.sealed):
            return Billed()
        periods = _months(progress.first_period, progress.sealed)
        keys = [last_document_key(account), *(statement_key(one, account) for one in periods)]
        items = self.entities.get_many(keys)
        last = [values for values in items if values["pk"] == keys[0]["pk"]]
        return Billed.of([one for one in items if one not in last], last[0] if last else None, at)

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


def _collects(agency: Agency | None) -> str:
    return agency.collects if agency else BY_AGENCY


def _months(first: Period, last: Period) -> Iterator[Period]:
    while first <= last:
        yield first
        first = first.next
