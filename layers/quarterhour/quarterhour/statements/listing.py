"""Documents of releases, and the lists that hold a row of figures and file hashes for each draft or document."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import IO, Any, Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.reports.digests import stream_digest
from quarterhour.reports.lines import escape_formula, unescape_formula
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, XML, statement_prefix
from quarterhour.statements.parties import NO_VERSIONS, PartyVersions
from quarterhour.statements.remainders import NOTHING, Remainders

STATEMENT_DOCUMENT: Final = "statement"
CREDIT_NOTE: Final = "credit_note"

FIGURES: Final = (
    *("opening", "brought_forward", "sales", "voids", "refunds", "adjustments", "net"),
    *("commission_exact", "commission", "tax", "proceeds", "payments", "closing"),
)
"""The figures of a document in its list: decimals in the account's currency."""
ADDED_UP: Final = tuple(name for name in FIGURES if name != "commission_exact")
"""The figures whose sums by currency are in the manifest."""
FILES: Final = (STATEMENT, PAGE, XML, LINES)
"""The names of the files of a document, in the order of its list."""


def _hashes(files: Iterable[str]) -> tuple[str, ...]:
    kinds = [name.partition(".")[2].partition(".")[0] for name in files]
    return tuple(f"{kind}_{what}" for kind in kinds for what in ("sha256", "size"))


COLUMNS: Final = (
    *("period", "revision", "cancels", "agency", "currency", "number", "document", *FIGURES),
    *("lines", "prior_period_lines", *_hashes(FILES)),
)
"""The columns of the list of a release."""
_DATES: Final = ("due_on", "dispute_until")
_REMAINDERS: Final = ("carried", "remainders")
_AMOUNTS: Final = ("of_period", "paid_since")


class SealedObject(NamedTuple):
    """The SHA-256 and the size in bytes of a file."""

    sha256: str
    size: int

    @classmethod
    def by_name(cls, files: Mapping[str, Sequence[Any]]) -> dict[str, Self]:
        """Parse the files of an item of the table, by their names."""
        return {name: cls(sha256, int(size)) for name, (sha256, size) in files.items()}


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a release: a statement or a credit note.

    ``revision``: its number among the documents of the account and the period. ``kind``: ``statement`` or
    ``credit_note``. ``cancels``: the number of the statement that it reverses whole, empty for any other. ``figures``:
    by the names in ``FIGURES``. ``files``: by file name.

    The list of a release, which names its files, holds none of what follows: ``release`` is its number, and
    ``planned_at`` its instant. ``carried``: what it takes up of roundings before; ``remainders``: what rounding leaves
    for the next document of the account. ``silence_at``: when silence accepts the document, the end of the day
    ``dispute_until``; ``None`` for never. ``parties``: the versions that it shows. ``of_period``: what of the exact
    commission is charged of the whole period, and so for no line. ``paid_since``: what of its closing balance was paid
    after its last line.
    """

    period: Period
    account: Account
    revision: int
    number: str
    kind: str
    cancels: str
    figures: Mapping[str, Decimal]
    lines: int
    prior_period_lines: int
    files: Mapping[str, SealedObject]
    release: int = 0
    planned_at: str = ""
    issued_on: date = date.min
    due_on: date | None = None
    dispute_until: date | None = None
    silence_at: str | None = None
    parties: PartyVersions = NO_VERSIONS
    carried: Remainders = NOTHING
    remainders: Remainders = NOTHING
    of_period: Decimal = money.ZERO
    paid_since: Decimal = money.ZERO

    @property
    def prefix(self) -> str:
        """The prefix of the keys of its files."""
        return statement_prefix(self.period, self.account, self.revision)

    def key_of(self, name: str) -> str:
        """Return the key of one of its files. All documents of a draft share its lines, beside the first one."""
        return (statement_prefix(self.period, self.account) if name == LINES else self.prefix) + name

    @property
    def place(self) -> tuple[int, Account, bool, Period]:
        """Its place among all documents: a release cancels statements of an account before it makes some."""
        return self.release, self.account, not self.cancels, self.period

    @property
    def closing(self) -> Decimal:
        """The closing balance."""
        return self.figures["closing"]

    @property
    def amount(self) -> Decimal:
        """What the document adds to the balance: what it brings forward, commission and tax, less proceeds."""
        opening, brought_forward, payments = (self.figures[name] for name in ("opening", "brought_forward", "payments"))
        before = money.add(opening, money.negated(brought_forward))
        return money.add(money.add(self.closing, payments), money.negated(before))

    @property
    def reference(self) -> dict[str, str]:
        """What later documents show of it."""
        return {"number": self.number, "document": self.kind, "issued_on": self.issued_on.isoformat()}

    @property
    def reversal(self) -> dict[str, Any]:
        """What the document that cancels it shows of it; ``carried`` makes it round the same way."""
        return {**self.reference, "carried": self.carried.as_dict()}

    def as_row(self) -> list[str]:
        """Return the cells of the document's row; those of a file that it does not have are empty."""
        hashes = (self.files.get(name, ("", "")) for name in FILES)
        return [
            str(self.period),
            str(self.revision),
            escape_formula(self.cancels),
            escape_formula(self.account.agency),
            self.account.currency,
            escape_formula(self.number),
            self.kind,
            *(money.plain(self.figures[name]) for name in FIGURES),
            str(self.lines),
            str(self.prior_period_lines),
            *(str(value) for file in hashes for value in file),
        ]

    @classmethod
    def of_row(cls, row: Sequence[str], release: int) -> Self:
        """Parse the cells of a row; raise ``ValueError`` or ``ArithmeticError`` for any others."""
        values = dict(zip(COLUMNS, row, strict=True))
        if values["document"] not in {STATEMENT_DOCUMENT, CREDIT_NOTE}:
            raise ValueError(f"{row} is not the row of a document")
        hashes = row[-2 * len(FILES) :]
        pairs = zip(FILES, hashes[::2], hashes[1::2], strict=True)
        return cls(
            Period.parse(values["period"]),
            Account(unescape_formula(values["agency"]), values["currency"]),
            int(values["revision"]),
            unescape_formula(values["number"]),
            values["document"],
            unescape_formula(values["cancels"]),
            {name: Decimal(values[name]) for name in FIGURES},
            int(values["lines"]),
            int(values["prior_period_lines"]),
            {name: SealedObject(sha256, int(size)) for name, sha256, size in pairs if sha256},
            release,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the document as plain values: as an item of the table, or a part of one."""
        dates = {name: at.isoformat() if (at := getattr(self, name)) else None for name in _DATES}
        return {
            "period": str(self.period),
            "agency": self.account.agency,
            "currency": self.account.currency,
            "revision": self.revision,
            "number": self.number,
            "document": self.kind,
            "cancels": self.cancels,
            **{name: money.plain(self.figures[name]) for name in FIGURES},
            "lines": self.lines,
            "prior_period_lines": self.prior_period_lines,
            "files": {name: list(file) for name, file in self.files.items()},
            "release": self.release,
            "planned_at": self.planned_at,
            "issued_on": self.issued_on.isoformat(),
            **dates,
            "silence_at": self.silence_at,
            "parties": list(self.parties),
            **{name: one.as_dict() for name in _REMAINDERS if (one := getattr(self, name)) != NOTHING},
            **{name: money.plain(one) for name in _AMOUNTS if (one := getattr(self, name))},
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returned; an item has no ``None``, and no remainders of 0."""
        due_on, dispute_until = (date.fromisoformat(values[name]) if values.get(name) else None for name in _DATES)
        return cls(
            Period.parse(values["period"]),
            Account(values["agency"], values["currency"]),
            int(values["revision"]),
            values["number"],
            values["document"],
            values["cancels"],
            {name: Decimal(values[name]) for name in FIGURES},
            int(values["lines"]),
            int(values["prior_period_lines"]),
            SealedObject.by_name(values["files"]),
            int(values["release"]),
            values["planned_at"],
            date.fromisoformat(values["issued_on"]),
            due_on,
            dispute_until,
            values.get("silence_at"),
            PartyVersions.of(values["parties"]),
            *_remainders(values),
            *(Decimal(values.get(name, "0")) for name in _AMOUNTS),
        )


def _remainders(values: Mapping[str, Any]) -> tuple[Remainders, Remainders]:
    carried, left = (Remainders.of(values[name]) if name in values else NOTHING for name in _REMAINDERS)
    return carried, left


def documents_of(statement: Mapping[str, Any]) -> list[Document]:
    """Return the documents of a draft from the item of its statement, in their order."""
    return list(map(Document.of, statement["documents"]))


def statement_of(statement: Mapping[str, Any]) -> Document:
    """Return the statement of an item: the last document that cancels no other."""
    return next(one for one in reversed(documents_of(statement)) if not one.cancels)


def read_release(file: Iterable[str], release: int) -> Iterator[Document]:
    """Yield the documents of a release's list; raise ``ValueError`` or ``ArithmeticError`` if it is malformed."""
    return (Document.of_row(row, release) for row in read_rows(file, COLUMNS))


@dataclass(slots=True)
class ListTotals:
    """The numbers of entries by kind and of lines in a list, and the sums of its ``figures`` by currency."""

    kinds: dict[str, int]
    figures: Sequence[str]
    lines: int = 0
    currencies: dict[str, dict[str, Decimal]] = field(default_factory=dict)

    @classmethod
    def of_release(cls) -> Self:
        """Return the totals of a release without documents."""
        return cls({"statements": 0, "credit_notes": 0}, ADDED_UP)

    def add(self, kind: str, currency: str, lines: int, figures: Mapping[str, Decimal]) -> None:
        """Add an entry."""
        self.kinds[kind] += 1
        self.lines += lines
        sums = self.currencies.setdefault(currency, dict.fromkeys(self.figures, money.ZERO))
        for name in self.figures:
            sums[name] = money.add(sums[name], figures[name])

    def counted(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Add documents; yield each of them."""
        for one in documents:
            kind = "credit_notes" if one.kind == CREDIT_NOTE else "statements"
            self.add(kind, one.account.currency, one.lines, one.figures)
            yield one

    @property
    def entries(self) -> int:
        """The number of entries."""
        return sum(self.kinds.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the totals as the manifest and the table hold them."""
        return {
            **self.kinds,
            "lines": self.lines,
            "currencies": {
                currency: {name: money.plain(value) for name, value in sums.items()}
                for currency, sums in sorted(self.currencies.items())
            },
        }


def write_list(file: IO[bytes], columns: Sequence[str], rows: Iterable[Sequence[str]]) -> SealedObject:
    """Write a list: a header, and its rows. Return its hash; ``file`` is then at its beginning."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    text.detach()
    size = file.tell()
    file.seek(0)
    listed = SealedObject(stream_digest(file), size)
    file.seek(0)
    return listed


def read_rows(file: Iterable[str], columns: Sequence[str]) -> Iterator[list[str]]:
    """Yield the rows of a list with these columns; raise ``ValueError`` if it is malformed."""
    try:
        reader = csv.reader(file, strict=True)
        if tuple(next(reader, [])) != tuple(columns):
            raise ValueError("its columns are not those of a list")
        yield from reader
    except csv.Error as error:
        raise ValueError(str(error)) from error
