"""The list of a period's statements: one row of figures and file hashes each, in a CSV file and in the table."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NamedTuple, Self, TextIO

from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.lines import escape_formula, unescape_formula
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, statement_index, statement_key

STATEMENT_DOCUMENT: Final = "statement"
CREDIT_NOTE: Final = "credit_note"
_FILES: Final = (STATEMENT, PAGE, LINES)

FIGURES: Final = (
    *("opening", "brought_forward", "sales", "voids", "refunds", "adjustments", "net"),
    *("commission_exact", "commission", "tax", "payments", "closing"),
)
"""The figures of a statement in its list: decimals in the account's currency."""
_NAMES: Final = ("agency", "currency", "number", "document", "issued", *FIGURES, "lines", "prior_period_lines")
_HASHES: Final = tuple(
    f"{name.partition('.')[2].partition('.')[0]}_{what}" for name in _FILES for what in ("sha256", "size")
)
COLUMNS: Final = (*_NAMES, *_HASHES)
"""The columns of the list."""


class SealedObject(NamedTuple):
    """The SHA-256 and the size in bytes of a file."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A statement in the list of its period.

    ``issued``: false without a tax profile. ``figures``: by the names in ``FIGURES``. ``files``: by file name.
    """

    account: Account
    number: str
    document: str
    issued: bool
    figures: Mapping[str, Decimal]
    lines: int
    prior_period_lines: int
    files: Mapping[str, SealedObject]

    @property
    def closing(self) -> Decimal:
        """The closing balance."""
        return self.figures["closing"]

    def as_row(self) -> list[str]:
        """Return the cells of the statement's row."""
        return [
            escape_formula(self.account.agency),
            self.account.currency,
            escape_formula(self.number),
            self.document,
            "yes" if self.issued else "no",
            *(money.plain(self.figures[name]) for name in FIGURES),
            str(self.lines),
            str(self.prior_period_lines),
            *(str(value) for name in _FILES for value in self.files[name]),
        ]

    @classmethod
    def of_row(cls, row: Sequence[str]) -> Self:
        """Parse the cells of a row; raise ``ValueError`` or ``ArithmeticError`` for any others."""
        values = dict(zip(COLUMNS, row, strict=True))
        if values["issued"] not in {"yes", "no"} or values["document"] not in {STATEMENT_DOCUMENT, CREDIT_NOTE}:
            raise ValueError(f"{row} is not the row of a statement")
        hashes = iter(row[len(_NAMES) :])
        return cls(
            Account(unescape_formula(values["agency"]), values["currency"]),
            unescape_formula(values["number"]),
            values["document"],
            values["issued"] == "yes",
            {name: Decimal(values[name]) for name in FIGURES},
            int(values["lines"]),
            int(values["prior_period_lines"]),
            {name: SealedObject(next(hashes), int(next(hashes))) for name in _FILES},
        )

    def as_item(self, period: Period, bound: QuarterHour) -> dict[str, Any]:
        """Return the statement's item of the table; ``bound``: that of its period."""
        return {
            **statement_key(period, self.account),
            **statement_index(period, self.account),
            "period": str(period),
            "agency": self.account.agency,
            "currency": self.account.currency,
            "number": self.number,
            "document": self.document,
            "issued": self.issued,
            **{name: money.plain(value) for name, value in self.figures.items()},
            "lines": self.lines,
            "prior_period_lines": self.prior_period_lines,
            "files": {name: list(file) for name, file in self.files.items()},
            "bound": str(bound),
        }


class ListWriter:
    """Writes the list of a period's statements: a header, and one row for each, ordered by account."""

    def __init__(self, file: TextIO) -> None:
        """Write the header."""
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def write(self, listed: Listed) -> None:
        """Write a statement's row."""
        self._writer.writerow(listed.as_row())


def read_list(file: Iterable[str]) -> Iterator[Listed]:
    """Yield the statements of a list; raise ``ValueError`` or ``ArithmeticError`` if it is malformed."""
    try:
        reader = csv.reader(file, strict=True)
        if tuple(next(reader, [])) != COLUMNS:
            raise ValueError("its columns are not those of a list")
        for row in reader:
            yield Listed.of_row(row)
    except csv.Error as error:
        raise ValueError(str(error)) from error
