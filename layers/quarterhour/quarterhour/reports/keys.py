"""Keys of the reports: objects in the S3 bucket, names of runs, control items; built and parsed only here."""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Self

from quarterhour.aws.entity import Key, Range
from quarterhour.model.quarter_hours import QuarterHour

LEDGER: Final = "ledger/"
TOTALS: Final = "totals/"
RATES: Final = "rates/"
REPORTS: Final = "reports/"
MANIFEST: Final = "manifest.json"
SUMMARY: Final = "summary.csv"
PRODUCTS: Final = "products.csv"
PAGE: Final = "report.html"
CONTENT_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "gz": "application/gzip",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
    "xml": "application/xml",
}
"""The content types of sealed files, by the ends of their keys: a browser shows a page only if it is named one."""
RUNS: Final = "RUN"
"""The partition of the runs' control items, ordered by time."""
ALL_RUNS: Final = Range(RUNS, "0", ":")
"""All runs' control items, the oldest first."""
PENDING: Final = "RUN#pending"
"""The index partition of the runs that have a pending proof."""

_AFTER_TIMES: Final = "U"
"""Sorts after every time of a day in a run's name."""

_RUN: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{4})-(\d{4})", re.ASCII)
_MANIFEST: Final = re.compile(rf"{REPORTS}(\d{{4}})/(\d\d)/(\d\d)/(\d{{4}})-(\d{{4}})/{MANIFEST}", re.ASCII)
_PART: Final = re.compile(r"(\d{12})(?:-(\d{2}))?", re.ASCII)
_LINES: Final = re.compile(r"ledger/dt=(\d{4})-(\d{2})-(\d{2})/quarter=(\d{4})/lines(-\d{2})?\.csv\.gz", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of some shards of a quarter-hour, sealed as one file; the only part has no number."""

    quarter_hour: QuarterHour
    number: int | None = None

    def __str__(self) -> str:
        """Return the part's name: ``202610230130``, or ``202610230130-03`` for one of several."""
        return f"{self.quarter_hour}{self._suffix}"

    @property
    def _suffix(self) -> str:
        return "" if self.number is None else f"-{self.number:02d}"

    @property
    def lines_key(self) -> str:
        """The object key of the part's lines: ``ledger/dt=2026-10-23/quarter=0130/lines-03.csv.gz``."""
        return f"{LEDGER}{self._folder}lines{self._suffix}.csv.gz"

    @property
    def totals_key(self) -> str:
        """The object key of the part's totals: ``totals/dt=2026-10-23/quarter=0130/totals-03.jsonl.gz``."""
        return f"{TOTALS}{self._folder}totals{self._suffix}.jsonl.gz"

    @property
    def _folder(self) -> str:
        return f"dt={self.quarter_hour.start:%Y-%m-%d}/quarter={self.quarter_hour.start:%H%M}/"

    @classmethod
    def parse(cls, name: str) -> Self:
        """Parse a part's name; raise ``ValueError`` if it is malformed."""
        match = _PART.fullmatch(name)
        if match is None:
            raise ValueError(f"{name!r} is no part")
        quarter_hour, number = match.groups()
        return cls(QuarterHour.parse(quarter_hour), None if number is None else int(number))


def totals_prefix(day: date) -> str:
    """Return the prefix of the totals of a day's parts: ``totals/dt=2026-10-23/``."""
    return f"{TOTALS}dt={day.isoformat()}/"


def part_of_lines(key: str) -> Part | None:
    """Parse the part from the object key of its lines; return ``None`` for any other key."""
    match = _LINES.fullmatch(key)
    return Part.parse("".join(group or "" for group in match.groups())) if match else None


def run_id(first: QuarterHour, last: QuarterHour) -> str:
    """Return the name of the run from one quarter-hour to another: ``2026-10-23T0130-0230``; midnight is ``2400``."""
    end = "2400" if last.end.date() > first.start.date() else f"{last.end:%H%M}"
    return f"{first.start:%Y-%m-%dT%H%M}-{end}"


def is_run_id(text: str) -> bool:
    """Return whether the text has the form of a run's name: it then holds no path."""
    return _RUN.fullmatch(text) is not None


def run_bounds(run: str) -> tuple[datetime, datetime]:
    """Parse the start and the end of a run from its name; raise ``ValueError`` if the name is malformed."""
    year, month, day, start, end = _parse_run(run)
    first = QuarterHour.parse(f"{year}{month}{day}{start}")
    midnight = QuarterHour.parse(f"{year}{month}{day}0000").start
    return first.start, midnight + timedelta(hours=int(end[:2]), minutes=int(end[2:]))


def run_key(run: str) -> Key:
    """Return the key of a run's control item."""
    return {"pk": RUNS, "sk": run}


def runs_between(first: date, last: date) -> tuple[str, str]:
    """Return the bounds of the names of the runs of some days, both included; no run crosses midnight."""
    return first.isoformat(), f"{last.isoformat()}{_AFTER_TIMES}"


def pins_key(quarter_hour: QuarterHour, base: str) -> Key:
    """Return the key of the exchange rates pinned for a quarter-hour: ``PINNED#202610230130``, ``EUR``."""
    return {"pk": f"PINNED#{quarter_hour}", "sk": base}


def run_prefix(run: str) -> str:
    """Return the prefix of a run's objects: ``reports/2026/10/23/0130-0230/``.

    Raises ``ValueError`` if the name is malformed.
    """
    year, month, day, start, end = _parse_run(run)
    return f"{REPORTS}{year}/{month}/{day}/{start}-{end}/"


def run_of_manifest(key: str) -> str | None:
    """Parse the run's name from the object key of its manifest; return ``None`` for any other key."""
    match = _MANIFEST.fullmatch(key)
    return "{}-{}-{}T{}-{}".format(*match.groups()) if match else None


def rates_key(run: str) -> str:
    """Return the object key of the exchange rates of a run: ``rates/dt=2026-10-23/0130-0230.csv``.

    Raises ``ValueError`` if the run's name is malformed.
    """
    year, month, day, start, end = _parse_run(run)
    return f"{RATES}dt={year}-{month}-{day}/{start}-{end}.csv"


def _parse_run(run: str) -> tuple[str, ...]:
    """Return year, month, day, start and end in a run's name."""
    match = _RUN.fullmatch(run)
    if match is None:
        raise ValueError(f"{run!r} is no run")
    return match.groups()


def last_closed(now: datetime, grace: timedelta) -> QuarterHour:
    """Return the newest quarter-hour whose end is at least the grace ago."""
    return QuarterHour.at(now - grace).previous
