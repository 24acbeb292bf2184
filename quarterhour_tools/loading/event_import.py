"""`quarterhour import`: checks a whole file of events, then sends it; it continues at the point of an interruption."""

import argparse
import csv
import fcntl
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import file_digest
from io import StringIO
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Column, Table
from rich.text import Text

from quarterhour.ledger.events.event import ADJUSTMENT, PAYMENT, SALE, VIEW, Event, Rejection, read_event
from quarterhour.model import exact_json, fields, money
from quarterhour.model.errors import in_words
from quarterhour.model.fields import printable
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import PERIOD, ZONE, Calendar, Period, time_zone
from quarterhour.model.totals import Totals
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.delivery import GIVE_UP_AFTER, Delivery, StoppedError, batches
from quarterhour_tools.loading.event_file import BadLine, EventLine, open_source, read_lines
from quarterhour_tools.loading.ndjson import open_lines
from quarterhour_tools.output import counted, plain_console, print_table
from quarterhour_tools.target.deployment import api, configure_target
from quarterhour_tools.target.remote import IN_LEDGER, Remote, reasons

KEY: Final = ("agency", "currency", "month")
FIGURES: Final = ("events", "gross", "refunds", "commission", "payments")
_COLUMNS: Final = (*KEY, *FIGURES)

AccountPeriod = tuple[Account, Period]
"""An account and a month."""


def expected_totals(file: Path) -> dict[AccountPeriod, dict[str, Decimal]]:
    """Return the expected figures of each account and month; an empty cell is no expectation.

    Raises ``ToolError``, which names the line, if the file is not such a table.
    """
    found: dict[AccountPeriod, dict[str, Decimal]] = {}
    reader = csv.reader(StringIO(_text(file), newline=""), strict=True)
    try:
        columns = next(reader, [])
        _check_columns(columns)
        for cells in filter(None, reader):
            _add(found, *_row(columns, cells))
    except (ValueError, csv.Error) as error:
        raise ToolError(f"{file}: line {max(reader.line_num, 1)}: {error}") from error
    return found


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ToolError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ToolError(f"{file} is not UTF-8: {error}") from error


def _check_columns(columns: Sequence[str]) -> None:
    known = f"expected {', '.join(KEY)}, and any of {', '.join(FIGURES)}"
    for name in columns:
        if name not in _COLUMNS:
            raise ValueError(f"the column {fields.shown(name)} is not known: {known}")
        if columns.count(name) > 1:
            raise ValueError(f"the column {name} is there twice: {known}")
    for name in KEY:
        if name not in columns:
            raise ValueError(f"the column {name} is missing: {known}")


def _add(found: dict[AccountPeriod, dict[str, Decimal]], place: AccountPeriod, figures: dict[str, Decimal]) -> None:
    if place in found:
        raise ValueError(f"{place[0]} {place[1]} is in an earlier line already")
    found[place] = figures


def _row(columns: Sequence[str], cells: Sequence[str]) -> tuple[AccountPeriod, dict[str, Decimal]]:
    if len(cells) != len(columns):
        raise ValueError(f"it has {len(cells)} cells: expected {len(columns)}, as many as columns")
    row = dict(zip(columns, cells, strict=True))
    return _place(row), {name: _figure(name, row[name]) for name in FIGURES if row.get(name)}


def _place(row: Mapping[str, str]) -> AccountPeriod:
    agency, currency = row["agency"], row["currency"]
    if not fields.is_name(agency):
        raise _invalid("agency", agency, fields.NAME)
    if currency != money.NO_CURRENCY and not money.is_currency(currency):
        raise _invalid("currency", currency, fields.CURRENCY)
    try:
        return Account(agency, currency), Period.parse(row["month"])
    except ValueError as error:
        raise _invalid("month", row["month"], PERIOD) from error


def _figure(name: str, text: str) -> Decimal:
    value = money.parse_decimal(text)
    if value is None or (name == "events" and (value < 0 or value != int(value))):
        raise _invalid(name, text, "a whole number of 0 or more" if name == "events" else fields.AMOUNT)
    return value


def _invalid(name: str, text: str, expected: str) -> ValueError:
    return ValueError(f"{name} is {fields.shown(text)}: expected {expected}")


FORMAT: Final = 1
"""The version of the progress file."""
_NAMES: Final = {
    "format": "another version of quarterhour",
    "sha256": "another file, or another version of this one",
    "address": "another deployment",
}


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file's bytes; raise ``ToolError`` if it cannot be read."""
    try:
        with file.open("rb") as content:
            return file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise ToolError(f"{file}: {error.strerror}") from error


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keep other imports of a file on this machine out for the length of the block.

    Raises ``ToolError`` if another one is under way. The lock ends with the process.
    """
    try:
        content = file.open("rb")
    except OSError as error:
        raise ToolError(f"{file}: {error.strerror}") from error
    with content:
        try:
            fcntl.flock(content, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ToolError(f"{file} is imported by another process at this moment: wait for its end") from error
        yield


@dataclass(slots=True)
class ProgressFile:
    """How much of a file has been sent: kept next to the file, for the file's content and one deployment.

    ``address``: that of the deployment's API. ``done``: the number of the last line that was sent. ``missing``: the
    lines up to it that are not in the ledger.
    """

    path: Path
    sha256: str
    address: str
    done: int = 0
    missing: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, file: Path, sha256: str, address: str) -> "ProgressFile":
        """Return the progress of a file; raise ``ToolError`` if the stored one is of something else."""
        path = file.with_name(file.name + ".progress")
        if not path.exists():
            return cls(path, sha256, address)
        own = {"format": FORMAT, "sha256": sha256, "address": address}
        try:
            stored = json.loads(path.read_text("utf-8"))
            found = {name: stored[name] for name in own}
            done, missing = int(stored["done"]), [int(number) for number in stored["missing"]]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise ToolError(f"{path} is no progress file: delete it to send everything") from error
        for name, right in own.items():
            if found[name] != right:
                raise ToolError(f"{path} is of {_NAMES[name]}: delete it to send everything")
        return cls(path, sha256, address, done, missing)

    def save(self) -> None:
        """Store the progress."""
        values = {"sha256": self.sha256, "address": self.address, "done": self.done, "missing": self.missing}
        temporary = self.path.with_name(self.path.name + ".new")
        temporary.write_text(json.dumps({"format": FORMAT, **values}), "utf-8")
        temporary.replace(self.path)


NAME: Final = "import"
DESCRIPTION: Final = (
    "Check a file of events whole: its totals by account and month, compared with expected ones. Then record the "
    "events. An import that was interrupted continues where it stopped, and nothing is recorded twice. Exit code "
    "1 if the totals differ, or if an event is not in the ledger at the end."
)

_SHOWN: Final = 20
"""The most problems that are shown."""
_PRICED: Final = frozenset({SALE, ADJUSTMENT, PAYMENT, VIEW})
"""The types of events whose figures follow from the event alone, if it names its commission."""


@dataclass(slots=True)
class MonthSums:
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
        self.totals = self.totals.plus(event.amount, commission or money.ZERO, is_payment=event.type == PAYMENT)

    def as_row(self) -> dict[str, str]:
        """Return the figures as text; empty if only the ledger can compute them."""
        return {name: "" if name in self.unknown else str(value) for name, value in self.totals.as_dict().items()}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour import``."""
    parser.add_argument("file", metavar="FILE", help="NDJSON of CloudEvents, plain or .gz")
    parser.add_argument(
        "--expect",
        type=Path,
        metavar="CSV",
        help="compare with these totals first: columns agency, currency, month and any of events, gross, refunds, "
        "commission, payments",
    )
    parser.add_argument(
        "--zone", default="UTC", metavar="NAME", help="the settings' time_zone, for the months (default UTC)"
    )
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    file = Path(args.file)
    with locked(file):
        return _import(args, file)


def _import(args: argparse.Namespace, file: Path) -> int:
    console = plain_console()
    calendar = Calendar(_zone(args.zone))
    expected = expected_totals(args.expect) if args.expect else None
    sha256 = digest_of(file)
    sums, lines = check(file, calendar)
    _check_unchanged(file, sha256, "checked")
    _show(console, sums)
    problems = [] if expected is None else list(differences(sums, expected))
    for problem in problems[:_SHOWN]:
        _print(console, problem)
    if problems:
        console.print(f"{counted(len(problems), 'difference')}: nothing was sent", style="bold red")
        return 1
    remote = api(args)
    progress = ProgressFile.of(file, sha256, remote.url)
    _send(remote, file, progress, lines)
    _check_unchanged(file, sha256, "sent")
    if progress.missing:
        missing = counted(len(progress.missing), "event")
        console.print(f"{missing} not in the ledger: run it again to send what is missing")
        return 1
    console.print(f"all {lines:,} events are in the ledger", style="green")
    return 0


def _check_unchanged(file: Path, sha256: str, while_: str) -> None:
    if digest_of(file) != sha256:
        raise ToolError(f"{file} has changed while it was {while_}: run it again with the file that you mean")


def _zone(name: str) -> Any:  # noqa: ANN401 - a tzinfo
    try:
        return time_zone(name)
    except ValueError as error:
        raise ToolError(f"--zone is {name!r}: expected {ZONE}") from error


# ---------------------------------------------------------------- checking


def check(file: Path, calendar: Calendar) -> tuple[dict[AccountPeriod, MonthSums], int]:
    """Return the totals of a file by account and month, and its number of events.

    Reports the lines that are no events, have no time, or repeat an identity, and then raises ``ToolError``.
    """
    sums: dict[AccountPeriod, MonthSums] = {}
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
                sums.setdefault((found.account, calendar.month_of(found.time)), MonthSums()).add(found)
    if not number:
        problems.append("it has no events")
    for problem in problems[:_SHOWN]:
        print(printable(problem), file=sys.stderr)
    if problems:
        raise ToolError(f"{file}: problems: {len(problems):,}; nothing was sent")
    return dict(sorted(sums.items())), number


def _event(line: EventLine | BadLine) -> Event | str:
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


def differences(
    sums: Mapping[AccountPeriod, MonthSums], expected: Mapping[AccountPeriod, Mapping[str, Decimal]]
) -> Iterator[str]:
    """Yield where a file's totals differ from the expected ones."""
    for place in sorted(sums.keys() | expected.keys()):
        name = f"{place[0]} {place[1]}"
        if place not in sums or place not in expected:
            yield f"{name}: {'not in the file' if place not in sums else 'not expected'}"
            continue
        row = sums[place].as_row()
        for figure, value in expected[place].items():
            if row[figure] and Decimal(row[figure]) != value:
                yield f"{name}: {figure} is {row[figure]}, expected {money.plain(value)}"


# ---------------------------------------------------------------- sending


def _send(remote: Remote, file: Path, progress: ProgressFile, total: int) -> None:
    """Send what is not in the ledger yet, and store the progress after each batch."""
    again = set(progress.missing)
    with open_lines(str(file)) as lines, _bar() as bar:
        delivery = Delivery(remote.events.post_events, GIVE_UP_AFTER, lambda text: _print(bar.console, text))
        task = bar.add_task(file.name, total=total)
        unsent = (line for line in lines if line.number > progress.done or line.number in again)
        for batch in batches(unsent):
            try:
                outcomes = delivery.deliver(batch)
            except StoppedError as error:
                raise ToolError(f"{delivery.ended}; run it again to continue") from error
            refused = {number: one for number, one in outcomes.items() if one.verdict not in IN_LEDGER}
            for number, one in sorted(refused.items()):
                _print(bar.console, f"line {number}: {one.verdict.value}: {reasons(one)}".rstrip(": "))
            progress.missing = sorted({*progress.missing, *refused} - (outcomes.keys() - refused.keys()))
            progress.done = max(progress.done, *outcomes)
            progress.save()
            bar.advance(task, len(batch.lines))
    if lines.problem:
        raise ToolError(f"{file}: {lines.problem}")


def _print(console: Console, text: str) -> None:
    console.print(printable(text), markup=False, soft_wrap=True)


def _bar() -> Progress:
    console = Console(highlight=False)
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _show(console: Console, sums: Mapping[AccountPeriod, MonthSums]) -> None:
    table = Table(*KEY, *(Column(name, justify="right") for name in FIGURES))
    for (account, period), one in sums.items():
        names = (Text(printable(name)) for name in (account.agency, account.currency))
        table.add_row(*names, str(period), *one.as_row().values())
    print_table(console, table)
