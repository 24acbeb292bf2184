"""The statements in an S3 bucket or a folder: their list, with the figures of each."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.statements.keys import list_key, period_of_manifest, statement_prefix
from quarterhour.statements.listing import FIGURES, Listed, read_list
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError


@dataclass(frozen=True, slots=True)
class ListedStatement:
    """A statement in the list of its period."""

    period: Period
    listed: Listed

    @property
    def prefix(self) -> str:
        """The prefix of the keys of its files."""
        return statement_prefix(self.period, self.listed.account)

    def as_dict(self) -> dict[str, Any]:
        """Return the statement as programs get it."""
        return {
            "agency": self.listed.account.agency,
            "currency": self.listed.account.currency,
            "period": str(self.period),
            "number": self.listed.number,
            "document": self.listed.document,
            "issued": self.listed.issued,
            **{name: money.plain(self.listed.figures[name]) for name in FIGURES},
            "lines": self.listed.lines,
            "prior_period_lines": self.listed.prior_period_lines,
        }


def sealed_periods(files: Objects) -> list[Period]:
    """Return the periods that are sealed, in order."""
    return sorted(filter(None, map(period_of_manifest, files.keys())))


def read_period(files: Objects, period: Period) -> Iterator[ListedStatement]:
    """Yield the statements of a sealed period, by account; raise ``ToolError`` if their list cannot be read."""
    try:
        with files.open(list_key(period)) as file:
            text = io.StringIO(file.read().decode(), newline="")
        for listed in read_list(text):
            yield ListedStatement(period, listed)
    except (OSError, ValueError, ArithmeticError) as error:
        raise ToolError(f"{list_key(period)} cannot be read: {error}") from error


def read_statements(files: Objects) -> Iterator[ListedStatement]:
    """Yield the statements of every sealed period, by period and account."""
    for period in sealed_periods(files):
        yield from read_period(files, period)
