"""The lists of statements: one row of figures and file hashes each, in a CSV file and in the table."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple, Self, TextIO

from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.reports.lines import escape_formula, unescape_formula
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, XML, statement_index, statement_key

STATEMENT_DOCUMENT: Final = "statement"
CREDIT_NOTE: Final = "credit_note"

FIGURES: Final = (
    *("opening", "brought_forward", "sales", "voids", "refunds", "adjustments", "net"),
    *("commission_exact", "commission", "tax", "proceeds", "payments", "closing"),
)
"""The figures of a statement in its list: decimals in the account's currency."""
FIGURES_OF_0_2: Final = tuple(name for name in FIGURES if name != "proceeds")


def _hashes(files: Iterable[str]) -> tuple[str, ...]:
    kinds = [name.partition(".")[2].partition(".")[0] for name in files]
    return tuple(f"{kind}_{what}" for kind in kinds for what in ("sha256", "size"))


_FILES_OF_0_2: Final = (STATEMENT, PAGE, LINES)
FILES: Final = (STATEMENT, PAGE, XML, LINES)
"""The names of the files of a statement, in the order of its list."""
_COUNTS: Final = ("lines", "prior_period_lines")
COLUMNS_OF_0_2: Final = (
    *("agency", "currency", "number", "document", "issued", *FIGURES_OF_0_2, *_COUNTS),
    *_hashes(_FILES_OF_0_2),
)
"""The columns of the list of a period of 0.2.0."""
COLUMNS: Final = ("agency", "currency", "number", "document", *FIGURES, *_COUNTS, *_hashes(FILES))
"""The columns of a statement in the list of a release."""


class SealedObject(NamedTuple):
    """The SHA-256 and the size in bytes of a file."""

    sha256: str
    size: int

    @classmethod
    def by_name(cls, files: Mapping[str, Sequence[Any]]) -> dict[str, Self]:
        """Parse the files of an item of the table, by their names."""
        return {name: cls(sha256, int(size)) for name, (sha256, size) in files.items()}


@dataclass(frozen=True, slots=True)
class Listed:
    """A statement in a list.

    ``issued``: false for a statement of 0.2.0 without a tax profile. ``figures``: by the names in ``FIGURES``.
    ``files``: by file name.
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

    @property
    def amount(self) -> Decimal:
        """What the statement adds to the balance: what it brings forward, commission and tax, less proceeds."""
        opening, brought_forward, payments = (self.figures[name] for name in ("opening", "brought_forward", "payments"))
        before = money.add(opening, money.negated(brought_forward))
        return money.add(money.add(self.closing, payments), money.negated(before))

    def as_row(self) -> list[str]:
        """Return the cells of the statement's row; those of a file that it does not have are empty."""
        return self._row([], FIGURES, FILES)

    def as_row_of_0_2(self) -> list[str]:
        """Return the cells of the row in a list of 0.2.0."""
        return self._row(["yes" if self.issued else "no"], FIGURES_OF_0_2, _FILES_OF_0_2)

    def _row(self, issued: Sequence[str], figures: Iterable[str], files: Iterable[str]) -> list[str]:
        hashes = (self.files.get(name, ("", "")) for name in files)
        return [
            escape_formula(self.account.agency),
            self.account.currency,
            escape_formula(self.number),
            self.document,
            *issued,
            *(money.plain(self.figures[name]) for name in figures),
            str(self.lines),
            str(self.prior_period_lines),
            *(str(value) for file in hashes for value in file),
        ]

    @classmethod
    def of_row(cls, row: Sequence[str]) -> Self:
        """Parse the cells of a row; raise ``ValueError`` or ``ArithmeticError`` for any others."""
        return cls._of(dict(zip(COLUMNS, row, strict=True)), row, FILES)

    @classmethod
    def of_row_of_0_2(cls, row: Sequence[str]) -> Self:
        """Parse the cells of a row of 0.2.0; raise ``ValueError`` or ``ArithmeticError`` for any others."""
        values = dict(zip(COLUMNS_OF_0_2, row, strict=True))
        if values["issued"] not in {"yes", "no"}:
            raise ValueError(f"{row} is not the row of a statement")
        return cls._of({**values, "proceeds": "0"}, row, _FILES_OF_0_2)

    @classmethod
    def _of(cls, values: Mapping[str, str], row: Sequence[str], files: Sequence[str]) -> Self:
        if values["document"] not in {STATEMENT_DOCUMENT, CREDIT_NOTE}:
            raise ValueError(f"{row} is not the row of a statement")
        hashes = row[-2 * len(files) :]
        pairs = zip(files, hashes[::2], hashes[1::2], strict=True)
        return cls(
            Account(unescape_formula(values["agency"]), values["currency"]),
            unescape_formula(values["number"]),
            values["document"],
            values.get("issued", "yes") == "yes",
            {name: Decimal(values[name]) for name in FIGURES},
            int(values["lines"]),
            int(values["prior_period_lines"]),
            {name: SealedObject(sha256, int(size)) for name, sha256, size in pairs if sha256},
        )

    def as_item(self, period: Period) -> dict[str, Any]:
        """Return the attributes of the statement's item of the table that its list holds, too."""
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
        }

    @classmethod
    def of_item(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_item`` returned; an item of 0.2.0 has no proceeds."""
        return cls(
            Account(values["agency"], values["currency"]),
            values["number"],
            values["document"],
            bool(values["issued"]),
            {name: Decimal(values.get(name, "0")) for name in FIGURES},
            int(values["lines"]),
            int(values["prior_period_lines"]),
            SealedObject.by_name(values["files"]),
        )

    @classmethod
    def of_document(cls, values: Mapping[str, Any], files: Mapping[str, SealedObject]) -> Self:
        """Return the entry of a released document. ``values``: the content of its ``statement.json``."""
        return cls(
            Account(values["agency"], values["currency"]),
            values["number"],
            values["document"],
            issued=True,
            figures={name: Decimal(values[name]) for name in FIGURES},
            lines=values["lines"],
            prior_period_lines=values["prior_period_lines"],
            files=files,
        )


class LastDocument(NamedTuple):
    """The last document of an account: its closing balance is the opening balance of the next one.

    ``issued_on``: ISO 8601; ``None`` for a statement of 0.2.0, which shows no date of issue.
    """

    period: Period
    listed: Listed
    issued_on: str | None = None

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Parse what ``as_list`` returned."""
        period, row, issued_on = values
        return cls(Period.parse(period), Listed.of_row(row), issued_on)

    @classmethod
    def of_item(cls, values: Mapping[str, Any]) -> Self:
        """Parse the item of a statement, or that of an account's last document."""
        return cls(Period.parse(values["period"]), Listed.of_item(values), values.get("issued_on"))

    def as_list(self) -> list[Any]:
        """Return the document as plain values."""
        return [str(self.period), self.listed.as_row(), self.issued_on]


@dataclass(slots=True)
class ListTotals:
    """The numbers of statements, credit notes and lines in a list, and the sums of its ``figures`` by currency."""

    figures: Sequence[str] = FIGURES
    statements: int = 0
    credit_notes: int = 0
    lines: int = 0
    currencies: dict[str, dict[str, Decimal]] = field(default_factory=dict)

    def add(self, listed: Listed) -> None:
        """Add a statement."""
        if listed.document == CREDIT_NOTE:
            self.credit_notes += 1
        else:
            self.statements += 1
        self.lines += listed.lines
        sums = self.currencies.setdefault(listed.account.currency, dict.fromkeys(self._added, money.ZERO))
        for name in self._added:
            sums[name] = money.add(sums[name], listed.figures[name])

    @property
    def _added(self) -> list[str]:
        return [name for name in self.figures if name != "commission_exact"]

    def as_dict(self) -> dict[str, Any]:
        """Return the totals as the manifest and the table hold them."""
        return {
            "statements": self.statements,
            "credit_notes": self.credit_notes,
            "lines": self.lines,
            "currencies": {
                currency: {name: money.plain(value) for name, value in sums.items()}
                for currency, sums in sorted(self.currencies.items())
            },
        }


class ListWriter:
    """Writes a list: a header, and a row for each statement."""

    def __init__(self, file: TextIO, columns: Sequence[str]) -> None:
        """Write the header."""
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(columns)

    def write(self, row: Sequence[str]) -> None:
        """Write a row."""
        self._writer.writerow(row)


def read_rows(file: Iterable[str], columns: Sequence[str]) -> Iterator[list[str]]:
    """Yield the rows of a list with these columns; raise ``ValueError`` if it is malformed."""
    try:
        reader = csv.reader(file, strict=True)
        if tuple(next(reader, [])) != tuple(columns):
            raise ValueError("its columns are not those of a list")
        yield from reader
    except csv.Error as error:
        raise ValueError(str(error)) from error


def read_list_of_0_2(file: Iterable[str]) -> Iterator[Listed]:
    """Yield the statements of a list of 0.2.0; raise ``ValueError`` or ``ArithmeticError`` if it is malformed."""
    return map(Listed.of_row_of_0_2, read_rows(file, COLUMNS_OF_0_2))
