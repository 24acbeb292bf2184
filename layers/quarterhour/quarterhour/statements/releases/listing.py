"""The list of a release: one row of figures and file hashes for each document, in a CSV file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

from quarterhour.model.periods import Period
from quarterhour.reports.lines import escape_formula, unescape_formula
from quarterhour.statements.keys import statement_prefix
from quarterhour.statements.listing import COLUMNS as OF_STATEMENT
from quarterhour.statements.listing import Listed, read_rows

COLUMNS: Final = ("period", "revision", "cancels", *OF_STATEMENT)
"""The columns of the list."""


@dataclass(frozen=True, slots=True)
class ReleasedDocument:
    """A document in the list of a release.

    ``revision``: its number among the documents of the account and the period. ``cancels``: the number of the statement
    that it cancels, empty for any other.
    """

    period: Period
    revision: int
    cancels: str
    listed: Listed

    @property
    def prefix(self) -> str:
        """The prefix of the keys of its files."""
        return statement_prefix(self.period, self.listed.account, self.revision)

    def as_row(self) -> list[str]:
        """Return the cells of the document's row."""
        return [str(self.period), str(self.revision), escape_formula(self.cancels), *self.listed.as_row()]

    @classmethod
    def of_row(cls, row: Sequence[str]) -> Self:
        """Parse the cells of a row; raise ``ValueError`` or ``ArithmeticError`` for any others."""
        period, revision, cancels, *of_statement = row
        return cls(Period.parse(period), int(revision), unescape_formula(cancels), Listed.of_row(of_statement))


def read_release(file: Iterable[str]) -> Iterator[ReleasedDocument]:
    """Yield the documents of a list; raise ``ValueError`` or ``ArithmeticError`` if it is malformed."""
    return map(ReleasedDocument.of_row, read_rows(file, COLUMNS))
