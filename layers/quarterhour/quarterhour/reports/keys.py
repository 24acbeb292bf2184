"""The reports' names, built and parsed here alone: objects in the bucket, runs, control items."""

import re
from datetime import date, datetime, timedelta
from typing import Final

from quarterhour.aws.entity import Key
from quarterhour.model.quarter_hours import QuarterHour

LEDGER: Final = "ledger/"
REPORTS: Final = "reports/"
MANIFEST: Final = "manifest.json"
SUMMARY: Final = "summary.csv"
RUNS: Final = "RUN"
"""The partition of the runs' control items, in the order of time."""
PENDING: Final = "RUN#pending"
"""The index partition of the runs whose counters have not caught up yet."""

_BEHIND_TIMES: Final = "U"
"""What sorts behind every time of a day in a run's name."""

_RUN: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{4})-(\d{4})", re.ASCII)
_LINES: Final = re.compile(r"ledger/dt=(\d{4})-(\d{2})-(\d{2})/quarter=(\d{4})/lines\.csv\.gz", re.ASCII)


def lines_key(quarter_hour: QuarterHour) -> str:
    """Return the object of a quarter-hour's lines: ``ledger/dt=2026-10-23/quarter=0130/lines.csv.gz``."""
    return f"{LEDGER}dt={quarter_hour.start:%Y-%m-%d}/quarter={quarter_hour.start:%H%M}/lines.csv.gz"


def quarter_hour_of_lines(key: str) -> QuarterHour | None:
    """Read the quarter-hour from the key of its lines, ``None`` where it is another object."""
    match = _LINES.fullmatch(key)
    return QuarterHour.parse("".join(match.groups())) if match else None


def run_id(first: QuarterHour, last: QuarterHour) -> str:
    """Return the name of a run by what it covers: ``2026-10-23T0130-0230``; the end of a day is ``2400``."""
    end = "2400" if last.end.date() > first.start.date() else f"{last.end:%H%M}"
    return f"{first.start:%Y-%m-%dT%H%M}-{end}"


def is_run_id(text: str) -> bool:
    """Tell whether the text is formed as a run's name: digits at their places, so never a path."""
    return _RUN.fullmatch(text) is not None


def run_bounds(run: str) -> tuple[datetime, datetime]:
    """Read from when to when a run covers from its name; raise ``ValueError`` where it is none."""
    match = _RUN.fullmatch(run)
    if match is None:
        raise ValueError(f"{run!r} is no run")
    year, month, day, start, end = match.groups()
    first = QuarterHour.parse(f"{year}{month}{day}{start}")
    midnight = QuarterHour.parse(f"{year}{month}{day}0000").start
    return first.start, midnight + timedelta(hours=int(end[:2]), minutes=int(end[2:]))


def run_key(run: str) -> Key:
    """Return the key of a run's control item."""
    return {"pk": RUNS, "sk": run}


def runs_between(first: date, last: date) -> tuple[str, str]:
    """Return the bounds of the names of the runs from one day to another, both included; none crosses midnight."""
    return first.isoformat(), f"{last.isoformat()}{_BEHIND_TIMES}"


def pins_key(quarter_hour: QuarterHour, base: str) -> Key:
    """Return the key of the rates that a quarter-hour's summary is converted at: ``PINNED#202610230130``, ``EUR``."""
    return {"pk": f"PINNED#{quarter_hour}", "sk": base}


def run_prefix(run: str) -> str:
    """Return where a run's objects stand: ``reports/2026/10/23/0130-0230/``; the name must be a run's."""
    match = _RUN.fullmatch(run)
    if match is None:
        raise ValueError(f"{run!r} is no run")
    year, month, day, start, end = match.groups()
    return f"{REPORTS}{year}/{month}/{day}/{start}-{end}/"


def last_closed(now: datetime, grace: timedelta) -> QuarterHour:
    """Return the newest quarter-hour that is over, and past its grace."""
    return QuarterHour.at(now - grace).previous
