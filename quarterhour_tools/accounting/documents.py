"""The sealed documents of periods, read from a folder or a stack, and the arguments that select them."""

import argparse
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from quarterhour.model import exact_json
from quarterhour.model.periods import Period
from quarterhour.statements.keys import STATEMENT
from quarterhour.statements.plan import months
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError
from quarterhour_tools.statements.files import read_statements, sealed_periods
from quarterhour_tools.target.deployment import configure_target, month

_SPAN: Final = re.compile(r"(\d{4})(?:-Q([1-4]))?", re.ASCII)
_SPANS: Final = "such as 2026-11, 2026-Q4, 2026 or 2026-10/2026-12"
_MALFORMED: Final = (KeyError, TypeError, ValueError, ArithmeticError)


def statement_documents(files: Objects, periods: Collection[Period]) -> Iterator[StatementDocument]:
    """Yield the documents of sealed periods, as they are listed: by period, account and revision.

    Raises ``ToolError`` if one is missing, differs from its hash in the list, or cannot be read.
    """
    for one in read_statements(files, periods):
        key = f"{one.prefix}{STATEMENT}"
        content = files.sealed(key, one.files[STATEMENT].sha256, "list")
        try:
            yield StatementDocument.parse(exact_json.parse_sealed(content), one.release, one.revision)
        except _MALFORMED as error:
            raise ToolError(f"{key} cannot be read: {error!r}") from error


def configure_files(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select the folder, the deployed stack or the emulator whose documents are read."""
    configure_target(parser).add_argument(
        "folder", nargs="?", type=Path, metavar="DIR", help="the folder of replay --out, or a copy of the S3 bucket"
    )


class Span(NamedTuple):
    """Months from a first to a last one."""

    first: Period
    last: Period

    def __str__(self) -> str:
        """Return the months: ``2026-11``, ``2026-10/2026-12``."""
        return str(self.first) if self.first == self.last else f"{self.first}/{self.last}"

    def holds(self, period: Period) -> bool:
        """Return whether a month is one of them."""
        return self.first <= period <= self.last


def span(text: str) -> Span:
    """Parse months of an argument: one, a calendar quarter, a year, or from one to another.

    Raises ``ArgumentTypeError`` for any other text.
    """
    found = _SPAN.fullmatch(text)
    try:
        if found is None:
            first, _, last = text.partition("/")
            months_ = Span(Period.parse(first), Period.parse(last or first))
        else:
            year, three = int(found[1]), int(found[2] or 0)
            months_ = Span(Period(year, 3 * three - 2 if three else 1), Period(year, 3 * three or 12))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected {_SPANS}") from error
    if months_.first > months_.last:
        raise argparse.ArgumentTypeError(f"{text} ends before it begins")
    return months_


def one_month(text: str) -> Span:
    """Parse a month of an argument; raise ``ArgumentTypeError`` for any other text."""
    return Span(month(text), month(text))


def configure_period(
    parser: argparse.ArgumentParser, parsed: Callable[[str], Span] = one_month, form: str = "MONTH"
) -> None:
    """Add the arguments that select documents by period and month of issue, for ``choose``."""
    example = _SPANS if parsed is span else "such as 2026-11"
    parser.add_argument("--period", type=parsed, metavar=form, help=f"the period, {example} (default: the last one)")
    parser.add_argument(
        "--issued",
        type=parsed,
        metavar=form,
        help="only the documents issued then; without --period, of all periods",
    )


class Choice(NamedTuple):
    """The documents of periods, of any period that are issued in some months, or both; ``None`` for any."""

    period: Span | None
    issued: Span | None

    def __str__(self) -> str:
        """Return the choice in words: ``of 2026-11 issued in 2026-12``."""
        period = f"of {self.period}" if self.period else ""
        return f"{period} {f'issued in {self.issued}' if self.issued else ''}".strip()

    def documents(self, files: Objects) -> Iterator[StatementDocument]:
        """Yield the documents; raises as ``statement_documents`` does."""
        periods = [one for one in sealed_periods(files) if self.period is None or self.period.holds(one)]
        for one in statement_documents(files, periods):
            if self.issued is None or self.issued.holds(Period.of(one.issued_on)):
                yield one


def choose(files: Objects, args: argparse.Namespace) -> Choice:
    """Return what the arguments select: the last period without any; raise ``ToolError`` if a period is not sealed."""
    periods = sealed_periods(files)
    if not periods:
        raise ToolError("no period is sealed yet")
    if args.period is not None:
        # What is before the first sealed period has no documents.
        desired = months(max(args.period.first, min(periods[0], args.period.last)), args.period.last)
        if lacking := [one for one in desired if one not in periods]:
            raise ToolError(f"{lacking[0]} is not sealed; the sealed periods are {', '.join(map(str, periods))}")
    return Choice(args.period or (None if args.issued else Span(periods[-1], periods[-1])), args.issued)
