"""`quarterhour import`: checks a whole file of events, then sends it; it continues at the point of an interruption."""

import argparse
import csv
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Column, Table
from rich.text import Text

from quarterhour.ledger.event import ADJUSTMENT, SALE, VIEW, Event, Rejection, read_event
from quarterhour.model import exact_json, money
from quarterhour.model.errors import in_words
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import ZONE, Calendar, Period, time_zone
from quarterhour.model.totals import Totals
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_file import BadLine, Line, open_source, read_lines
from quarterhour_tools.loading.sender import IN_LEDGER, batches, send
from quarterhour_tools.operations.deployment import api, configure_target
from quarterhour_tools.operations.remote import Remote
from quarterhour_tools.output import printable

FORMAT: Final = 1
"""The version of the progress file."""

_FIGURES: Final = ("events", "gross", "refunds", "commission")
_KEY: Final = ("agency", "currency", "month")
_SHOWN: Final = 20
"""The most problems that are shown."""
_PRICED: Final = frozenset({SALE, ADJUSTMENT, VIEW})
"""The types of events whose figures follow from the event alone, if it names its commission."""

Place = tuple[Account, Period]


@dataclass(slots=True)
class Sums:
    """The totals of an account in a month; ``unknown`` names the figures that only the ledger can compute."""

    totals: Totals = field(default_factory=Totals)
    unknown: set[str] = field(default_factory=set)

    def add(self, event: Event) -> None:
        """Add an event."""
        commission = event.commission
        if commission is None and event.commission_rate is not None:
            commission = money.times(event.amount, event.commission_rate)
        if commission is None or event.type not in _PRICED:
            self.unknown.add("commission")
        if event.linked_to and event.type not in _PRICED and not event.amount:
            self.unknown.add("refunds")
        self.totals = self.totals.plus(event.amount, commission or money.ZERO)

    def as_row(self) -> dict[str, str]:
        """Return the figures as text; empty where only the ledger can compute them."""
        return {name: "" if name in self.unknown else str(value) for name, value in self.totals.as_dict().items()}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour import``."""
    parser.add_argument("file", metavar="FILE", help="NDJSON of CloudEvents, plain or .gz")
    parser.add_argument(
        "--expect",
        type=Path,
        metavar="CSV",
        help="compare with these totals first: columns agency, currency, month and any of events, gross, refunds, "
        "commission",
    )
    parser.add_argument(
        "--zone", default="UTC", metavar="NAME", help="the deployment's BusinessTimeZone, for the months (default UTC)"
    )
    configure_target(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    console = Console(highlight=False)
    file = Path(args.file)
    calendar = Calendar(_zone(args.zone))
    sums, lines = check(file, calendar)
    _show(console, sums)
    if args.expect:
        problems = list(differences(sums, expected_totals(args.expect)))
        for problem in problems[:_SHOWN]:
            console.print(printable(problem), markup=False, soft_wrap=True)
        if problems:
            console.print(f"{len(problems):,} differences: nothing was sent", style="bold red")
            return 1
    target = args.url or args.stack
    progress = ProgressFile.of(file, target)
    remote = api(args)
    _send(remote, file, progress, lines, console)
    if progress.missing:
        console.print(f"{len(progress.missing):,} events are not in the ledger: run it again to send them once more")
        return 1
    console.print(f"all {lines:,} events are in the ledger", style="green")
    return 0


def _zone(name: str) -> Any:  # noqa: ANN401 - a tzinfo
    try:
        return time_zone(name)
    except ValueError as error:
        raise ToolError(f"--zone is {name!r}: expected {ZONE}") from error


# ---------------------------------------------------------------- checking


def check(file: Path, calendar: Calendar) -> tuple[dict[Place, Sums], int]:
    """Return the totals of a file by account and month, and its number of events.

    Reports the lines that are no events, have no time, or repeat an identity, and then raises ``ToolError``.
    """
    sums: dict[Place, Sums] = {}
    seen = set()
    problems: list[str] = []
    number = 0
    with open_source(str(file)) as source:
        for line in read_lines(source.lines):
            number += 1
            found = _event(line)
            if isinstance(found, str):
                problems.append(f"line {line.number}: {found}")
            elif found.identity in seen:
                problems.append(f"line {line.number}: {found.identity} is in the file more than once")
            elif found.time:
                seen.add(found.identity)
                sums.setdefault((found.account, calendar.month_of(found.time)), Sums()).add(found)
    if not number:
        problems.append("it has no events")
    for problem in problems[:_SHOWN]:
        print(printable(problem), file=sys.stderr)
    if problems:
        raise ToolError(f"{file}: problems: {len(problems):,}; nothing was sent")
    return dict(sorted(sums.items())), number


def _event(line: Line | BadLine) -> Event | str:
    """Return the event of a line, or its problem."""
    if isinstance(line, BadLine):
        return line.problem
    try:
        found = read_event(exact_json.parse(line.text))
    except ValueError as error:
        return f"is not JSON: {error}"
    if isinstance(found, Rejection):
        return in_words(found.problems)
    if found.time is None:
        return "time is missing: expected when it happened, as it decides the month"
    return found


def expected_totals(file: Path) -> dict[Place, dict[str, str]]:
    """Return the expected figures of each account and month from a CSV file; a missing figure is not compared."""
    found: dict[Place, dict[str, str]] = {}
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.DictReader(text, strict=True)
            missing = [name for name in _KEY if name not in (reader.fieldnames or ())]
            if missing:
                raise ToolError(f"{file}: the column {missing[0]} is missing")
            for row in reader:
                place = Account(row["agency"], row["currency"]), Period.parse(row["month"])
                found[place] = {name: row[name] for name in _FIGURES if row.get(name)}
                for value in found[place].values():
                    Decimal(value)
    except (ValueError, InvalidOperation, csv.Error) as error:
        raise ToolError(f"{file}: line {len(found) + 2}: {error!r}") from error
    return found


def differences(sums: Mapping[Place, Sums], expected: Mapping[Place, Mapping[str, str]]) -> Iterator[str]:
    """Yield where a file's totals differ from the expected ones."""
    for place in sorted(sums.keys() | expected.keys()):
        name = f"{place[0]} {place[1]}"
        if place not in sums or place not in expected:
            yield f"{name}: {'not in the file' if place not in sums else 'not expected'}"
            continue
        row = sums[place].as_row()
        for figure, value in expected[place].items():
            if row[figure] and Decimal(row[figure]) != Decimal(value):
                yield f"{name}: {figure} is {row[figure]}, expected {value}"


# ---------------------------------------------------------------- sending


@dataclass(slots=True)
class ProgressFile:
    """How much of a file has been sent: kept next to the file, for the file's content and one target.

    ``done``: the number of the last line that was sent. ``missing``: the lines up to it that are not in the ledger.
    """

    path: Path
    sha256: str
    target: str
    done: int = 0
    missing: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, file: Path, target: str) -> "ProgressFile":
        """Return the progress of a file; raise ``ToolError`` if the stored one is of another file or version."""
        with file.open("rb") as content:
            digest = file_digest(content, "sha256").hexdigest()
        path = file.with_name(file.name + ".progress")
        new = cls(path, digest, target)
        if not path.exists():
            return new
        try:
            stored = json.loads(path.read_text("utf-8"))
            own = {name: stored[name] for name in ("format", "sha256", "target", "done", "missing")}
        except (ValueError, KeyError, TypeError) as error:
            raise ToolError(f"{path} is no progress file: delete it to send everything") from error
        for name, right in (("format", FORMAT), ("sha256", digest), ("target", target)):
            if own[name] != right:
                raise ToolError(f"{path} is of another {_NAMES[name]}: delete it to send everything")
        return cls(path, digest, target, own["done"], own["missing"])

    def save(self) -> None:
        """Store the progress."""
        values = {"sha256": self.sha256, "target": self.target, "done": self.done, "missing": self.missing}
        temporary = self.path.with_name(self.path.name + ".new")
        temporary.write_text(json.dumps({"format": FORMAT, **values}), "utf-8")
        temporary.replace(self.path)


def _send(remote: Remote, file: Path, progress: ProgressFile, total: int, console: Console) -> None:
    """Send what is not in the ledger yet, and store the progress after each batch."""
    again = set(progress.missing)
    with open_source(str(file)) as source, _bar(console) as bar:
        task = bar.add_task(file.name, total=total)
        unsent = (
            line
            for line in read_lines(source.lines)
            if isinstance(line, Line) and (line.number > progress.done or line.number in again)
        )
        for batch in batches(unsent):
            answers = send(remote, batch)
            for one in answers:
                if one.verdict not in IN_LEDGER:
                    text = f"line {one.number}: {one.verdict}: {one.reasons}".rstrip(": ")
                    bar.console.print(printable(text), markup=False, soft_wrap=True)
            sent = {one.number for one in answers}
            refused = [one.number for one in answers if one.verdict not in IN_LEDGER]
            progress.missing = sorted([*(number for number in progress.missing if number not in sent), *refused])
            progress.done = max(progress.done, *sent)
            progress.save()
            bar.advance(task, len(batch))


def _bar(console: Console) -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _show(console: Console, sums: Mapping[Place, Sums]) -> None:
    table = Table(*_KEY, *(Column(name, justify="right") for name in _FIGURES))
    for (account, period), one in sums.items():
        names = (Text(printable(name)) for name in (account.agency, account.currency))
        table.add_row(*names, str(period), *one.as_row().values())
    console.print(table)


_NAMES: Final = {"format": "version", "sha256": "file", "target": "deployment"}
