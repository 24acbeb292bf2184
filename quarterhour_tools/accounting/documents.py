"""The sealed documents of periods, read from a folder or a stack, and the arguments that select them."""

import argparse
from collections.abc import Collection, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from quarterhour.model import exact_json
from quarterhour.model.periods import Period
from quarterhour.statements.keys import STATEMENT
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError
from quarterhour_tools.statements.files import read_statements, sealed_periods
from quarterhour_tools.target.deployment import configure_target, month

_MALFORMED: Final = (KeyError, TypeError, ValueError, ArithmeticError)


def statement_documents(files: Objects, periods: Collection[Period]) -> Iterator[StatementDocument]:
    """Yield the documents of sealed periods, as they are listed: by period, account and revision.

    Raises ``ToolError`` if one is missing, differs from its hash in the list, or cannot be read.
    """
    for one in read_statements(files, periods):
        key = f"{one.prefix}{STATEMENT}"
        try:
            with files.open(key) as file:
                content = file.read()
        except FileNotFoundError as error:
            raise ToolError(f"{key} is listed and is missing") from error
        if sha256(content).hexdigest() != one.files[STATEMENT].sha256:
            raise ToolError(f"{key} is not the file that was sealed: its SHA-256 differs from the list's")
        try:
            yield StatementDocument.parse(exact_json.parse_sealed(content), one.release, one.revision)
        except _MALFORMED as error:
            raise ToolError(f"{key} cannot be read: {error!r}") from error


def configure_files(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select the folder, the deployed stack or the emulator whose documents are read."""
    configure_target(parser).add_argument(
        "folder", nargs="?", type=Path, metavar="DIR", help="the folder of replay --out, or a copy of the S3 bucket"
    )


def configure_period(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select documents by period and month of issue, for ``choose``."""
    parser.add_argument(
        "--period", type=month, metavar="MONTH", help="the period, such as 2026-11 (default: the last one)"
    )
    parser.add_argument(
        "--issued",
        type=month,
        metavar="MONTH",
        help="only the documents issued in this month; without --period, of all periods",
    )


class Choice(NamedTuple):
    """The documents of a period, of any period that are issued in a month, or both; ``None`` for any."""

    period: Period | None
    issued: Period | None

    def __str__(self) -> str:
        """Return the choice in words: ``of 2026-11 issued in 2026-12``."""
        period = f"of {self.period}" if self.period else ""
        return f"{period} {f'issued in {self.issued}' if self.issued else ''}".strip()

    def documents(self, files: Objects) -> Iterator[StatementDocument]:
        """Yield the documents; raises as ``statement_documents`` does."""
        periods = [self.period] if self.period else sealed_periods(files)
        for one in statement_documents(files, periods):
            if self.issued in {None, Period.of(one.issued_on)}:
                yield one


def choose(files: Objects, args: argparse.Namespace) -> Choice:
    """Return what the arguments select: the last period without any; raise ``ToolError`` if a period is not sealed."""
    periods = sealed_periods(files)
    if not periods:
        raise ToolError("no period is sealed yet")
    if args.period is not None and args.period not in periods:
        raise ToolError(f"{args.period} is not sealed; the sealed periods are {', '.join(map(str, periods))}")
    return Choice(args.period or (None if args.issued else periods[-1]), args.issued)
