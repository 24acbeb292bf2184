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
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, XML, statement_index, statement_key

STATEMENT_DOCUMENT: Final = "statement"
CREDIT_NOTE: Final = "credit_note"
_PREFIXES: Final = {STATEMENT: "json", PAGE: "html", LINES: "csv", XML: "xml"}
"""How the columns of a file's hash and size begin, by the file's name."""
FILES: Final = tuple(_PREFIXES)
"""The files of a statement. The last one may be missing: schema 1 has none, nor a statement that makes no XML."""

FIGURES: Final = (
    *("opening", "brought_forward", "sales", "voids", "refunds", "adjustments", "net"),
    *("commission_exact", "commission", "tax", "payments", "closing"),
)
"""The figures of a statement in its list: decimals in the account's currency."""
_NAMES: Final = ("agency", "currency", "number", "document", "issued", *FIGURES, "lines", "prior_period_lines")
_ALL: Final = (*_NAMES, *(f"{prefix}_{what}" for prefix in _PREFIXES.values() for what in ("sha256", "size")))
COLUMNS: Final[Mapping[int, tuple[str, ...]]] = {1: _ALL[:-2], 2: _ALL}
"""The columns of the list by schema. Those of a file that a statement lacks are empty."""


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
        """Return the cells of the statement's row, up to those of its last file."""
        return [
            escape_formula(self.account.agency),
            self.account.currency,
            escape_formula(self.number),
            self.document,
            "yes" if self.issued else "no",
            *(money.plain(self.figures[name]) for name in FIGURES),
            str(self.lines),
            str(self.prior_period_lines),
            *(str(value) for name in FILES if name in self.files for value in self.files[name]),
        ]

    @classmethod
    def of_row(cls, row: Sequence[str]) -> Self:
        """Parse the cells of a row; raise ``ValueError`` or ``ArithmeticError`` for any others."""
        values = dict(zip(_ALL, row, strict=False))
        if len(row) not in map(len, COLUMNS.values()):
            raise ValueError(f"{row} is not the row of a statement")
        if values["issued"] not in {"yes", "no"} or values["document"] not in {STATEMENT_DOCUMENT, CREDIT_NOTE}:
            raise ValueError(f"{row} is not the row of a statement")
        return cls(
            Account(unescape_formula(values["agency"]), values["currency"]),
            unescape_formula(values["number"]),
            values["document"],
            values["issued"] == "yes",
            {name: Decimal(values[name]) for name in FIGURES},
            int(values["lines"]),
            int(values["prior_period_lines"]),
            {name: sealed_of(values, name) for name in FILES if name != XML or values.get("xml_sha256")},
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


def sealed_of(cells: Mapping[str, str], name: str) -> SealedObject:
    """Return the hash and the size of a file, by name, from the cells of a row by column."""
    prefix = _PREFIXES[name]
    return SealedObject(cells[f"{prefix}_sha256"], int(cells[f"{prefix}_size"]))


class ListWriter:
    """Writes the list of a period's statements: a header, and one row for each, ordered by account."""

    def __init__(self, file: TextIO, schema: int) -> None:
        """Write the header."""
        self._writer = csv.writer(file, lineterminator="\n")
        self._columns = COLUMNS[schema]
        self._writer.writerow(self._columns)

    def write(self, listed: Listed) -> None:
        """Write a statement's row."""
        row = listed.as_row()
        self._writer.writerow(row + [""] * (len(self._columns) - len(row)))


def read_list(file: Iterable[str]) -> Iterator[Listed]:
    """Yield the statements of a list; raise ``ValueError`` or ``ArithmeticError`` if it is malformed."""
    try:
        reader = csv.reader(file, strict=True)
        columns = tuple(next(reader, []))
        if columns not in COLUMNS.values():
            raise ValueError("its columns are not those of a list")
        for row in reader:
            if len(row) != len(columns):
                raise ValueError(f"{row} is not the row of a statement")
            yield Listed.of_row(row)
    except csv.Error as error:
        raise ValueError(str(error)) from error
