"""The settings that finance decides: the schema of the document ``settings``, and its timeline, pure.

All but three apply as soon as a function reads them, within a minute. The time zone, the grace days and the first
period shape the periods of events, so they apply from an instant on, which is far enough ahead that every function
knows it before: an event recorded at an instant has the same period wherever it is computed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

from quarterhour.aws.entity import Values
from quarterhour.model import exact_json, fields, money
from quarterhour.model.clock import iso_seconds
from quarterhour.model.currencies import IN_USE
from quarterhour.model.errors import FieldProblem, InvalidError, in_words
from quarterhour.model.fields import Fields
from quarterhour.model.instants import ALWAYS, month
from quarterhour.model.periods import PERIOD, ZONE, Calendar, Calendars, Period, time_zone
from quarterhour.registry.documents.plan import DocumentKind, Valid, at_once, new_version, read_draft
from quarterhour.registry.documents.timeline import Start, Timeline, timeline_of, with_start

SETTINGS: Final = "settings"
"""The name of the document."""
LEAD: Final = timedelta(minutes=30)
"""The least time from writing what shapes periods to the instant from which it applies.

A function uses settings for 10 minutes after it has read them at most, and runs for 15 minutes at most.
"""
YEARS_BACK: Final = 2
"""How far back a first period may be set: each month from it on is run by itself, and none can be left out."""
AUTOMATIC: Final = "automatic"
MANUAL: Final = "manual"
RELEASES: Final = (AUTOMATIC, MANUAL)
"""How drafts are released: those without a failed check at once, or all by a person's decision."""
OPEN: Final = "open"
REGISTERED: Final = "registered"
POLICIES: Final = (OPEN, REGISTERED)
"""Whether events of agencies that are not registered are recorded, or held until the agency is registered."""
_APPROVALS: Final = (1, 2)
_DAYS: Final = 365
_GRACE_DAYS: Final = 90
_SOURCES: Final = 50
_PLACES: Final = 10
_PREFIX: Final = re.compile(r"(?:[A-Za-z0-9/_.-]|\{year\}){1,20}", re.ASCII)
_CENTURY: Final = range(2000, 2100)
_EXPECTED_PREFIX: Final = "1 to 20 letters, digits, / _ . - and {year}"


@dataclass(frozen=True, slots=True)
class Settings:
    """What finance decides; each field is one of the document, but for ``calendars``, of which it has three.

    ``commission_rate``: of an event that names none and that no rate card covers. ``held_days``: after which a held
    event sets off an alarm. ``base_currency``: empty for none. ``statement_prefix`` and ``credit_note_prefix``: of
    numbers, with ``{year}`` for the year of issue. ``approvals``: the people who must agree. ``acceptance_days``: after
    which silence accepts a statement; 0 for never. ``upload_sources``: from which people record events of all types.
    """

    commission_rate: Decimal = Decimal("0.10")
    agency_policy: str = OPEN
    held_days: int = 7
    base_currency: str = ""
    statement_prefix: str = "S-"
    credit_note_prefix: str = "C-"
    release: str = AUTOMATIC
    approvals: int = 1
    rounding: money.Rounding = money.Rounding.HALF_EVEN
    acceptance_days: int = 0
    upload_sources: frozenset[str] = frozenset()
    calendars: Calendars = field(default_factory=Calendars)

    @property
    def needs_two(self) -> bool:
        """Whether a second person must agree."""
        return self.approvals > 1


_CALENDAR: Final = ("time_zone", "grace_days", "first_period")
DEFAULTS: Final[Mapping[str, Any]] = {
    "commission_rate": str(Settings().commission_rate),
    "agency_policy": Settings().agency_policy,
    "held_days": Settings().held_days,
    "base_currency": None,
    "time_zone": "UTC",
    "grace_days": Calendar().grace_days,
    "first_period": None,
    "periods_from": None,
    "statement_prefix": Settings().statement_prefix,
    "credit_note_prefix": Settings().credit_note_prefix,
    "release": Settings().release,
    "approvals": Settings().approvals,
    "rounding": str(Settings().rounding),
    "acceptance_days": Settings().acceptance_days,
    "upload_sources": [],
}
"""The content of a document that changes nothing. A field that is missing or null has this value."""
FIELDS: Final = tuple(DEFAULTS)


class SettingsContent(NamedTuple):
    """The content of a document: settings without calendars, and from when its own calendar, the label, applies."""

    settings: Settings
    valid: Valid


def read_settings(content: object) -> SettingsContent | tuple[FieldProblem, ...]:
    """Return the settings in a document's content, or every problem in it.

    A content without ``periods_from`` is valid from the first instant on.
    """
    if not isinstance(content, Mapping):
        return (FieldProblem("content", "is not an object", f"an object with {', '.join(FIELDS)}"),)
    read = Fields(content, "content.")
    read.report_unknown(frozenset(FIELDS))
    rounding = _one_of(read, "rounding", tuple(money.Rounding))
    found = {
        "commission_rate": read.value(
            "commission_rate", f"{fields.SHARE} with at most {_PLACES} places", _rate, optional=True
        ),
        "agency_policy": _one_of(read, "agency_policy", POLICIES),
        "held_days": _number(read, "held_days", 1, _DAYS),
        "base_currency": read.value("base_currency", fields.CURRENCY, _base_currency, optional=True),
        "statement_prefix": read.value("statement_prefix", _EXPECTED_PREFIX, _prefix, optional=True),
        "credit_note_prefix": read.value("credit_note_prefix", _EXPECTED_PREFIX, _prefix, optional=True),
        "release": _one_of(read, "release", RELEASES),
        "approvals": _number(read, "approvals", *_APPROVALS),
        "rounding": rounding and money.Rounding(rounding),
        "acceptance_days": _number(read, "acceptance_days", 0, _DAYS),
        "upload_sources": read.value(
            "upload_sources", f"a list of at most {_SOURCES} sources, each {fields.NAME}", _sources, optional=True
        ),
    }
    zone = read.value("time_zone", ZONE, _zone, optional=True)
    grace_days = _number(read, "grace_days", 0, _GRACE_DAYS)
    first_period = read.value("first_period", PERIOD, _period, optional=True)
    since = read.value("periods_from", fields.INSTANT, fields.instant, optional=True)
    settings = Settings(**{name: value for name, value in found.items() if value is not None})
    if any(_in_year(settings.statement_prefix, one) == _in_year(settings.credit_note_prefix, one) for one in _CENTURY):
        prefix = fields.shown(settings.credit_note_prefix)
        read.problem("credit_note_prefix", f"is {prefix}, in some years that of statements", "another one")
    if read.problems:
        return fields.bounded(read.problems, "settings as described")
    days = Calendar().grace_days if grace_days is None else grace_days
    return SettingsContent(settings, Valid(since or ALWAYS[0], _label(zone or "UTC", days, first_period)))


def settings_of(latest: Values | None) -> Settings:
    """Return the settings in the latest version of the document; the defaults without one."""
    if latest is None:
        return Settings()
    read = read_settings(exact_json.parse(latest["content"]))
    if isinstance(read, SettingsContent):
        timeline = timeline_of(latest)
        others = (Calendar(), *(_calendar(one.label) for one in timeline))
        if timeline[0].valid_from == ALWAYS[0]:
            others = others[1:]
        starts = tuple((one.valid_from, replace(_calendar(one.label), others=others)) for one in timeline)
        return replace(read.settings, calendars=Calendars(starts))
    raise InvalidError(in_words(read), *read)


def first_version(content: object, by: str, now: datetime) -> list[Values]:
    """Return the items of settings that are written before anything is recorded: their calendar always applies.

    Raises ``InvalidError`` with every problem in them.
    """
    draft = read_draft(SETTINGS, {"seen": Decimal(0), "content": content}, [KIND._replace(timeline=at_once)])
    return new_version(replace(draft, valid=draft.valid and draft.valid._replace(valid_from=ALWAYS[0])), None, by, now)


def _valid(content: object) -> Valid | tuple[FieldProblem, ...]:
    read = read_settings(content)
    return read.valid if isinstance(read, SettingsContent) else read


def following(timeline: Timeline, new: Start, now: datetime) -> Timeline:
    """Return the timeline with a new version; raise ``InvalidError`` if it changes periods too early.

    A version that changes nothing of the calendar takes the place of the one before it. One that does replaces what was
    to apply later than a change may be written now.
    """
    last = timeline[-1] if timeline else Start(0, ALWAYS[0], _DEFAULT)
    if new.label == last.label and new.valid_from in {ALWAYS[0], last.valid_from}:
        return with_start(timeline, last._replace(version=new.version))
    earliest = now + LEAD
    if new.valid_from < earliest:
        given = "is missing" if new.valid_from == ALWAYS[0] else f"is {iso_seconds(new.valid_from)}"
        changed = " or ".join(_CALENDAR[:-1]) + f" or {_CALENDAR[-1]}"
        problem = FieldProblem(
            "content.periods_from",
            f"{given}, and {changed} changes",
            f"{iso_seconds(earliest)} or later, so that every function knows the change before it applies",
        )
        raise InvalidError(in_words([problem]), problem)
    first, oldest = _calendar(new.label).first_period, Period(now.year - YEARS_BACK, now.month)
    if first and first < oldest and first != _calendar(last.label).first_period:
        problem = FieldProblem("content.first_period", f"is {first}", f"{oldest} or later, as each month has a run")
        raise InvalidError(in_words([problem]), problem)
    return with_start([one for one in timeline if one.valid_from < earliest], new)


KIND: Final = DocumentKind(SETTINGS, lambda rest: not rest, SETTINGS, _valid, following, by_people=True)
"""The settings as a kind of document, of which there is one."""


def _label(zone: str, grace_days: int, first_period: Period | None) -> str:
    """Return the label of a calendar, which the timeline keeps: ``Europe/London 3 2026-11``."""
    return f"{zone} {grace_days} {first_period or ''}".rstrip()


def _calendar(label: str) -> Calendar:
    zone, grace_days, *first = label.split()
    return Calendar(time_zone(zone), int(grace_days), Period.parse(first[0]) if first else None)


_DEFAULT: Final = _label("UTC", Calendar().grace_days, None)


def _number(read: Fields, name: str, least: int, most: int) -> int | None:
    def number(value: object) -> int | None:
        found = fields.whole(value)
        return found if found is not None and least <= found <= most else None

    found: int | None = read.value(name, f"a whole number from {least} to {most}", number, optional=True)
    return found


def _one_of(read: Fields, name: str, names: Sequence[str]) -> str | None:
    found: str | None = read.value(
        name, " or ".join(names), lambda value: value if value in names else None, optional=True
    )
    return found


def _rate(value: object) -> Decimal | None:
    rate = fields.share(value)
    return rate if rate is not None and money.places(rate) <= _PLACES else None


def _prefix(value: object) -> str | None:
    return value if isinstance(value, str) and _PREFIX.fullmatch(value) else None


def _in_year(prefix: str, year: int) -> str:
    return prefix.replace("{year}", str(year))


def _zone(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        time_zone(value)
    except ValueError:
        return None
    return value


def _period(value: object) -> Period | None:
    try:
        return month(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _base_currency(value: object) -> str | None:
    """Return a currency in which sums can be shown: one that is not withdrawn."""
    return fields.currency(value) if value in IN_USE else None


def _sources(value: object) -> frozenset[str] | None:
    if not isinstance(value, list) or len(value) > _SOURCES or not all(map(fields.name, value)):
        return None
    return frozenset(filter(None, map(fields.name, value)))
