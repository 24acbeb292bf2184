"""The lines of sealed files: columns, escaping of cells, reading, totals."""

import csv
import io
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import islice
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Final, Self, TextIO, cast

from quarterhour.ledger.events.event import PARTS, PAYMENT, SALE
from quarterhour.ledger.postings.posting import LACKS, charges_of
from quarterhour.ledger.postings.posting import UNREGISTERED as IS_UNREGISTERED
from quarterhour.ledger.postings.segments import LedgerKey, PostingValues
from quarterhour.ledger.recording.pricing import BY_DEFAULT
from quarterhour.model.charge_totals import NO_CHARGE_TOTALS
from quarterhour.model.identifiers import Account, item_position
from quarterhour.model.money import NO_CURRENCY
from quarterhour.model.periods import Period
from quarterhour.model.totals import RunningTotals, Totals, add_up
from quarterhour.reports.packing import unpacked
from quarterhour.reports.plan import PartTotals
from quarterhour.reports.product_figures import (
    MOST_PRODUCTS,
    ProductFigures,
    RunningFigures,
    add_products,
    others_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from quarterhour.model.charge_totals import ChargeTotals
    from quarterhour.reports.plan import SummaryTotals
    from quarterhour.reports.product_figures import (
        Product,
        ProductTotals,
    )

_AT: Final = ("quarter_hour", "position", "recorded_at")
_WHAT: Final = ("source", "id", "type", "agency", "currency")
_MONEY: Final = ("amount", "commission_rate", "commission")
_SENT: Final = (
    *("time", "product", "quantity", "unit_price", "customer", "order_id", "line", "location", "refers_to", "extra"),
)
FLAG: Final = "flag"
POSTING: Final = (*_AT, *_WHAT, *_MONEY)
"""The columns in which every line has a value."""
PERIOD: Final = "period"
_TERMS: Final = ("category", "terms", "arithmetic")
_CORRECTION: Final = ("refers_to_source", "reason")
_MONTH: Final = (PERIOD, "prior_period", "kind", "rerating", "attributes", "tax_point", "statement")
CHARGES: Final = "charges"
COLUMNS: Final = (*POSTING, *_SENT, FLAG, *_TERMS, *_CORRECTION, *_MONTH, *PARTS, CHARGES)
"""The columns of the lines; sealed files never change, so a later schema may only add columns."""

UNLINKED: Final = "unlinked refund"
"""The flag of a refund that names no sale, so that no sale limits its amount."""

UNREGISTERED: Final = "unregistered agency"
"""The flag of an event whose rate cards were looked up for an agency that was not registered."""

LACKING: Final = {"tax": "without tax", "shipping": "without shipping"}
"""The flags of an event that does not say a part of its amount which a charge is without, by the part."""

# Senders choose the text of these columns. Numbers, and the text that we generate, never begin a formula.
_TEXT: Final = frozenset(
    {"source", "id", "agency", *_SENT, "category", "refers_to_source", "reason", "statement"}
    - {"time", "quantity", "unit_price"}
)
# With the full-width forms that Japanese input methods write.
_FULL_WIDTH: Final = frozenset("\uff1d\uff0b\uff0d\uff20")
_FORMULA_STARTS: Final = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
_ESCAPE: Final = "'"
_ESCAPED: Final = _FORMULA_STARTS + _ESCAPE

_PENDING: Final = 50_000
"""Characters of rows that are written to the file together."""
_MAX_LINE: Final = 1_000_000
"""Characters of a line: more than twice those of a posting, as an item has 400 KB and quotes are doubled."""


def _is_special(row: str) -> bool:
    """Return whether a row, joined by commas, may need quotes or an escape; a quick answer, as most rows need none."""
    return (
        '"' in row
        or ",-" in row
        or "'" in row
        or "=" in row
        or "+" in row
        or "@" in row
        or "\n" in row
        or "\r" in row
        or "\t" in row
        or (not row.isascii() and not _FULL_WIDTH.isdisjoint(row))
    )


Line = Mapping[str, str]
"""A line's values as text, by column."""


def escape_formula(text: str) -> str:
    """Return a text as a cell that no spreadsheet runs as a formula; ``unescape_formula`` reverses it."""
    return _ESCAPE + text if text and text[0] in _ESCAPED else text


def unescape_formula(cell: str) -> str:
    """Return the text of a cell that ``escape_formula`` returned."""
    return cell.removeprefix(_ESCAPE)


class CsvWriter:
    """Writes lines as the ``csv`` module does, and faster if no cell needs quotes; ``flush`` it at the end."""

    def __init__(self, file: TextIO, columns: Sequence[str]) -> None:
        """Write the header line."""
        self._file = file
        self._quoted = io.StringIO()
        self._writer = csv.writer(self._quoted, lineterminator="\n")
        self._width = len(columns)
        self._texts = _TEXT.intersection(columns)
        self._rows = [self._as_csv(columns)]
        self._pending = 0

    def write(self, lines: Iterable[Line]) -> None:
        """Write lines: their first values are those of the columns, in their order; further ones are left out."""
        width = self._width
        commas = width - 1
        for line in lines:
            cells: Collection[str] = line.values()
            if len(cells) > width:
                cells = list(cells)[:width]
            row = ",".join(cells)
            if row.count(",") != commas or _is_special(row):
                row = self._as_csv(self._escaped(line))
            else:
                row += "\n"
            self._rows.append(row)
            self._pending += len(row)
            if self._pending > _PENDING:
                self.flush()

    def _escaped(self, line: Line) -> list[str]:
        """Return the cells of a line, in which no text begins a formula."""
        cells = islice(line.items(), self._width)
        return [escape_formula(cell) if name in self._texts else cell for name, cell in cells]

    def flush(self) -> None:
        """Write the rows that wait for others to be written with them."""
        self._file.write("".join(self._rows))
        self._rows.clear()
        self._pending = 0

    def _as_csv(self, cells: Iterable[str]) -> str:
        self._quoted.seek(0)
        self._quoted.truncate()
        self._writer.writerow(cells)
        return self._quoted.getvalue()


def read_lines(file: IO[bytes]) -> Iterator[dict[str, str]]:
    """Yield the values of each line of a sealed file; raise ``ValueError`` if the file is malformed."""
    try:
        yield from _read_rows(file)
    except csv.Error as error:
        raise ValueError(str(error)) from error


def _read_rows(file: IO[bytes]) -> Iterator[dict[str, str]]:
    with (
        unpacked(file) as content,
        io.TextIOWrapper(cast("IO[bytes]", content), encoding="utf-8", newline="") as text,
    ):
        bounded = _BoundedLines(text)
        reader = csv.reader(bounded, strict=True)
        columns = tuple(next(reader, []))
        if columns != COLUMNS:
            raise ValueError(f"the columns are {columns}")
        for row in reader:
            bounded.remaining = _MAX_LINE
            if len(row) != len(columns):
                raise ValueError(f"line {reader.line_num} has {len(row)} cells, not {len(columns)}")
            yield {
                name: unescape_formula(cell) if name in _TEXT else cell for name, cell in zip(columns, row, strict=True)
            }


def read_raw(file: IO[bytes]) -> Iterator[tuple[str, list[str]]]:
    """Yield the text of each row of a sealed file with its cells, still escaped; the first row holds the columns.

    It is for files whose hash was checked: faster than ``read_lines``, and without its checks of a malformed file.
    """
    with (
        unpacked(file) as content,
        io.TextIOWrapper(cast("IO[bytes]", content), encoding="utf-8", newline="") as text,
    ):
        for row in text:
            if '"' not in row:
                yield row, row[:-1].split(",")
                continue
            whole = row
            while whole.count('"') % 2:  # a cell has line breaks: the row goes on
                more = text.readline()
                if not more:
                    raise ValueError("the file ends within a cell")
                whole += more
            yield whole, next(csv.reader([whole], strict=True))


def flags_of(values: Line) -> str:
    """Return the flags of a posting with the columns of a line, joined."""
    flags = [values[FLAG]] if values[FLAG] else []
    flags += [UNREGISTERED] if "unregistered" in values else []
    lacks = values.get(LACKS, "").split(" ")
    return "; ".join([*flags, *(flag for part, flag in LACKING.items() if part in lacks)])


def posting_of(line: Line) -> PostingValues:
    """Return the posting that a line was written of: the values that ``read_lines`` yields, without empty ones."""
    posting = {name: value for name, value in line.items() if value}
    flags = posting.pop(FLAG, "")
    if UNREGISTERED in flags:
        posting["unregistered"] = IS_UNREGISTERED
    if lacks := " ".join(part for part, flag in LACKING.items() if flag in flags):
        posting[LACKS] = lacks
    return posting


def postings_in(file: IO[bytes], items: Container[LedgerKey]) -> Iterator[PostingValues]:
    """Yield the postings of a sealed file that are in the ledger items with these keys, in the order of the lines.

    It reads as ``read_raw`` does.
    """
    rows = read_raw(file)
    _, columns = next(rows)
    for _, cells in rows:
        if (cells[0], item_position(cells[1])) in items:
            named = zip(columns, cells, strict=True)
            yield posting_of({name: unescape_formula(cell) if name in _TEXT else cell for name, cell in named})


class _BoundedLines:
    """Yields the lines of a text; raises ``ValueError`` once they have more than ``remaining`` characters."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self.remaining = _MAX_LINE

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self.remaining + 1)
        self.remaining -= len(line)
        if self.remaining < 0:
            raise ValueError(f"a line has more than {_MAX_LINE:,} characters")
        if not line:
            raise StopIteration
        return line


_key: Final = itemgetter("agency", "currency", PERIOD, "type", "terms", "category", "product")
"""Gets what decides to which sums a line is added, except for those of locations."""


class Tallier:
    """Adds up lines as the counters do, by location and by product.

    Lines with the same key are one sum, and all others follow from these sums: so a line costs one addition.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[str, ...], RunningFigures] = {}
        self._products: set[Product] = set()
        self._locations: defaultdict[tuple[str, str], RunningTotals] = defaultdict(RunningTotals)
        self._periods: dict[str, Period] = {}
        self._charges: dict[tuple[Account, Period], ChargeTotals] = {}
        self.lines = 0

    def add(self, line: Line) -> None:
        """Add a line; raise ``ValueError`` or ``ArithmeticError`` if its figures cannot be added, or for no period."""
        try:
            amount, commission = Decimal(line["amount"]), Decimal(line["commission"])
        except InvalidOperation as error:
            raise _no_numbers(line) from error
        if not (amount.is_finite() and commission.is_finite()):
            raise _no_numbers(line)
        key = _key(line)
        sums = self._sums.get(key) or self._first(key)
        sums.add(amount, commission, line["position"])
        if (location := line["location"]) and key[1] != NO_CURRENCY:
            self._locations[location, key[1]].add(amount, commission)
        if line.get("charges"):
            charged = Account(key[0], key[1]), self._periods[key[2]]
            self._charges[charged] = self._charges.get(charged, NO_CHARGE_TOTALS) + charges_of(line)
        self.lines += 1

    def _first(self, key: tuple[str, ...]) -> RunningFigures:
        """Return the sum of lines of a key that has none yet: a new one, or that of all other products."""
        period = key[2]
        if period not in self._periods:
            self._periods[period] = Period.parse(period)
        agency, currency, *_, category, product = key
        named = agency, currency, category, product
        if named not in self._products and len(self._products) == MOST_PRODUCTS:
            key = (*key[:-2], *others_of(named)[2:])
        else:
            self._products.add(named)
        return self._sums.setdefault(key, RunningFigures())

    def totals(self) -> PartTotals:
        """Return the totals of the lines added so far."""
        periods: SummaryTotals = {}
        products: ProductTotals = {}
        default_rate_events = 0
        for (agency, currency, period, kind, terms, category, product), one in self._sums.items():
            totals = one.totals(is_payment=kind == PAYMENT)
            add_up(periods, [((Account(agency, currency), self._periods[period]), totals)])
            if currency == NO_CURRENCY:
                continue
            if terms == BY_DEFAULT:
                default_rate_events += totals.events
            if kind != PAYMENT:
                sold = ProductFigures(totals, one.amounts() if kind == SALE else None)
                add_products(products, [((agency, currency, category, product), sold)])
        add_up(periods, ((charged, Totals(charges=charges)) for charged, charges in self._charges.items()))
        locations = {sold_at: one.totals() for sold_at, one in self._locations.items()}
        return PartTotals(periods, locations, default_rate_events, products)


def _no_numbers(line: Line) -> ValueError:
    return ValueError(f"the amount {line['amount']!r} or the commission {line['commission']!r} is not a number")


def tally_lines(lines: Iterable[Line]) -> PartTotals:
    """Return the totals of lines."""
    tallier = Tallier()
    for line in lines:
        tallier.add(line)
    return tallier.totals()
