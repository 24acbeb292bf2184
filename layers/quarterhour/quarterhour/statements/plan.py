"""Planning of a statement run, pure: the period that is due, its bounds, and the lines that belong to it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, NamedTuple, Self

from quarterhour import __version__
from quarterhour.model import fields
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.errors import ConflictError
from quarterhour.model.fields import Fields
from quarterhour.model.identifiers import Account
from quarterhour.model.money import Rounding
from quarterhour.model.periods import PERIOD, Calendar, Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.schema import SCHEMA, check_schema
from quarterhour.registry.settings.settings import AUTOMATIC, Settings
from quarterhour.reports.plan import Checkpoint

SEALED: Final = "sealed"
"""The attribute of the control item with the last sealed period."""

LINES_OF_A_GROUP: Final = 25_000
"""About the most lines of a group of accounts, and so the most statements: one invocation writes them in time."""
MOST_GROUPS: Final = 1_000
_INSTANT: Final = timedelta(microseconds=1)
_ZONES: Final = timedelta(days=2)
"""No month begins earlier in one time zone than in another by more than this."""


@dataclass(frozen=True, slots=True)
class StatementSettings:
    """The settings for statements.

    ``base``: the base currency, empty for none. ``prefixes``: of the numbers of statements and of credit notes, with
    ``{year}`` for the year of issue. ``release``: how drafts are released. ``acceptance_days``: after which
    silence accepts a statement; 0 for never.
    """

    calendar: Calendar
    zone: str
    code_version: str
    base: str = ""
    prefixes: tuple[str, str] = ("S-", "C-")
    release: str = AUTOMATIC
    rounding: Rounding = Rounding.HALF_EVEN
    acceptance_days: int = 0

    @classmethod
    def of(cls, settings: Settings, now: datetime) -> Self:
        """Return the settings for what is planned at an instant."""
        calendar = settings.calendars.at(now)
        return cls(
            calendar,
            str(calendar.zone),
            __version__,
            settings.base_currency,
            (settings.statement_prefix, settings.credit_note_prefix),
            settings.release,
            settings.rounding,
            settings.acceptance_days,
        )


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """The bounds and the settings of the run of one period. They are stored before it begins; no crash changes them.

    ``since`` is the first day, UTC, whose lines may belong to the period, and ``bound`` the last quarter-hour that is
    read. ``after`` is the bound of the previous period; ``None`` for the first. ``previous`` is the previous period and
    the SHA-256 of its manifest; both are empty for the first. ``report`` is the last run of the reports up to the
    bound, and the SHA-256 of its manifest.
    """

    period: Period
    first_period: Period
    since: date
    bound: QuarterHour
    after: QuarterHour | None
    planned_at: str
    code_version: str
    zone: str
    cut_off: datetime
    starts: datetime
    ends: datetime
    previous: tuple[str, str]
    report: tuple[str, str]
    base: str = ""
    groups: int = 1
    rounding: Rounding = Rounding.HALF_EVEN
    is_automatic: bool = False

    @property
    def days(self) -> list[date]:
        """The days, UTC, on which lines of the period may have been recorded."""
        number = (self.bound.day - self.since).days + 1
        return [self.since + timedelta(days=one) for one in range(number)]

    @property
    def parties_at(self) -> datetime:
        """The instant whose parties the statements show: the last one of the period."""
        return self.ends - _INSTANT

    @property
    def previous_period(self) -> Period | None:
        """The previous period; ``None`` for the first."""
        return Period.parse(self.previous[0]) if self.previous[0] else None

    def is_prior(self, period: str, quarter_hour: str) -> bool | None:
        """Return whether a statement's line is of a prior period; ``None`` if the line is on no statement of this run.

        ``period`` (``2026-11``): that of the line. ``quarter_hour``: in which it is sealed, up to the bound. Each line
        is on the first statement, not before its period, whose bound is not before the line.
        """
        this = str(self.period)
        if period == this:
            return False
        if period > this or period < str(self.first_period):
            return None
        return True if self.after is None or quarter_hour > str(self.after) else None

    def group_of(self, account: Account) -> int:
        """Return the number of the group that writes an account's statement."""
        return int.from_bytes(sha256(str(account).encode()).digest()[:4]) % self.groups

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, to be stored."""
        return {
            "period": str(self.period),
            "first_period": str(self.first_period),
            "since": self.since.isoformat(),
            "bound": str(self.bound),
            "after": str(self.after) if self.after else None,
            "planned_at": self.planned_at,
            "code_version": self.code_version,
            "zone": self.zone,
            "cut_off": iso_millis(self.cut_off),
            "starts": iso_millis(self.starts),
            "ends": iso_millis(self.ends),
            "previous": list(self.previous),
            "report": list(self.report),
            "base": self.base,
            "groups": self.groups,
            "schema": SCHEMA,
            "rounding": self.rounding.value,
            "automatic": self.is_automatic,
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returned; an item has no ``None``. Raises ``UnknownSchemaError``."""
        check_schema(values["schema"])
        return cls(
            Period.parse(values["period"]),
            Period.parse(values["first_period"]),
            date.fromisoformat(values["since"]),
            QuarterHour.parse(values["bound"]),
            QuarterHour.parse(values["after"]) if values.get("after") else None,
            values["planned_at"],
            values["code_version"],
            values["zone"],
            parse_iso(values["cut_off"]),
            parse_iso(values["starts"]),
            parse_iso(values["ends"]),
            _pair(values["previous"]),
            _pair(values["report"]),
            values["base"],
            int(values["groups"]),
            Rounding(values["rounding"]),
            values["automatic"],
        )


def _pair(values: Sequence[str]) -> tuple[str, str]:
    first, second = values
    return first, second


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of the statements: the last sealed period, its bound and manifest, and the plan under way."""

    first_period: Period | None = None
    sealed: Period | None = None
    bound: QuarterHour | None = None
    manifest_sha256: str = ""
    plan: StatementPlan | None = None

    @property
    def drafted(self) -> list[Period]:
        """The periods that have drafts, in order."""
        return list(months(self.first_period, self.sealed)) if self.first_period and self.sealed else []

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse the progress from its control item."""
        plan = StatementPlan.of(values["plan"]) if values.get("plan") else None
        if SEALED not in values:
            return cls(plan.first_period if plan else None, plan=plan)
        return cls(
            Period.parse(values["first_period"]),
            Period.parse(values[SEALED]),
            QuarterHour.parse(values["bound"]),
            values["manifest_sha256"],
            plan,
        )

    def next_period(self, calendar: Calendar, began: datetime) -> Period:
        """Return the period that is sealed next; ``began``: when the first event was recorded, or before it.

        Without a configured first period, it is the earliest one that an event of that time can belong to. After a
        sealed period comes the next month, whatever is configured then.
        """
        if self.sealed:
            return self.sealed.next
        return calendar.first_period or calendar.earliest_open(began)


def months(first: Period, last: Period) -> Iterator[Period]:
    """Yield the periods from one to another."""
    while first <= last:
        yield first
        first = first.next


def due(period: Period, calendar: Calendar, sealed_through: QuarterHour) -> bool:
    """Return whether everything recorded up to the cut-off of a period is sealed."""
    return sealed_through.end >= calendar.cut_off(period)


def first_day_of(period: Period, progress: Progress) -> date:
    """Return the first day, UTC, whose lines may belong to the run of a period."""
    first_day = period.first_day - _ZONES
    return min(first_day, progress.bound.day) if progress.bound else first_day


def due_period(
    progress: Progress, checkpoint: Checkpoint, calendar: Calendar, began: Callable[[], datetime | None]
) -> Period | None:
    """Return the period whose run is under way, or that is to be sealed now; ``None`` if no period is due.

    ``began`` is called only for the first period, and only if none is configured.
    """
    if progress.plan:
        return progress.plan.period
    run, _ = checkpoint.previous
    if not run:  # nothing was ever recorded
        return None
    first = None if progress.sealed or calendar.first_period else began()
    period = progress.next_period(calendar, first or checkpoint.sealed_through.start)
    return period if due(period, calendar, checkpoint.sealed_through) else None


class Sealed(NamedTuple):
    """What the reports have sealed: their checkpoint, and the number of lines from ``first_day_of`` the period on."""

    checkpoint: Checkpoint
    lines: int


def next_plan(
    period: Period, progress: Progress, sealed: Sealed, now: datetime, settings: StatementSettings
) -> StatementPlan:
    """Plan the run of a period that is due."""
    calendar = settings.calendar
    return StatementPlan(
        period,
        progress.first_period or period,
        first_day_of(period, progress),
        sealed.checkpoint.sealed_through,
        progress.bound,
        iso_millis(now),
        settings.code_version,
        settings.zone,
        calendar.cut_off(period),
        calendar.starts(period),
        calendar.starts(period.next),
        (str(progress.sealed), progress.manifest_sha256) if progress.sealed else ("", ""),
        sealed.checkpoint.previous,
        settings.base,
        min(MOST_GROUPS, max(1, -(-sealed.lines // LINES_OF_A_GROUP))),
        rounding=settings.rounding,
        is_automatic=settings.release == AUTOMATIC,
    )


def read_period(event: Mapping[str, Any]) -> Period | None:
    """Return the period in an operator's request, ``None`` for all that are due.

    Raises ``InvalidError`` if the request names something else.
    """
    if "period" not in event:
        return None
    read = Fields(event)
    period: Period | None = read.value("period", PERIOD, _period)
    fields.refuse(read.problems, PERIOD)
    return period


def _period(value: object) -> Period | None:
    return Period.parse(value) if isinstance(value, str) else None


def check_request(period: Period, progress: Progress, calendar: Calendar, began: datetime, now: datetime) -> None:
    """Raise ``ConflictError``, which says why, if the period of an operator's request cannot be sealed next."""
    upcoming = progress.next_period(calendar, began)
    first = progress.first_period or calendar.first_period or upcoming
    if progress.plan and progress.plan.period == period:
        return
    if period < first:
        raise ConflictError(f"{period} is before {first}, the first period with statements: it has none")
    if progress.sealed and period <= progress.sealed:
        raise ConflictError(f"{period} is sealed already: its statements never change")
    if calendar.cut_off(period) > now:
        cut_off = calendar.cut_off(period).astimezone(UTC)
        raise ConflictError(f"{period} is open until its cut-off, {iso_millis(cut_off)}: ask for a preview, or wait")
    if period != upcoming:
        raise ConflictError(f"{period} is not next: seal {upcoming} first")
