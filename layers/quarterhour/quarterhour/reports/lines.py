"""The sealed lines of a quarter-hour: one CSV line an event, in the order of their positions, always the same bytes."""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from hashlib import sha256
from tempfile import TemporaryFile
from typing import IO, Final, cast

from quarterhour.aws import Item
from quarterhour.ledger.event import REFUND
from quarterhour.ledger.keys import Account, Partition
from quarterhour.money import NO_CURRENCY
from quarterhour.reports.plan import SCHEMA, Content, Sealed
from quarterhour.totals import Totals

_AT: Final = ("quarter_hour", "position", "recorded_at")
_WHAT: Final = ("source", "id", "type", "agency", "currency")
_MONEY: Final = ("amount", "commission_rate", "commission")
_SENT: Final = (
    *("time", "product", "quantity", "unit_price", "customer", "order_id", "line", "location", "refers_to", "extra"),
)
_FLAG: Final = "flag"
_FIRST: Final = (*_AT, *_WHAT, *_MONEY, *_SENT, _FLAG)
COLUMNS: Final[Mapping[int, tuple[str, ...]]] = {1: _FIRST, 2: (*_FIRST, "category", "terms", "arithmetic")}
"""The columns by schema; what is sealed stays as it is, so a newer schema only adds."""

UNLINKED: Final = "unlinked refund"
"""The flag of a refund that names no sale, so that no sale bounds it."""

# Numbers and what we make ourselves begin with nothing that a spreadsheet would run; the rest is the senders' text.
_TEXT: Final = frozenset({"source", "id", "agency", *_SENT, "category"} - {"time", "quantity", "unit_price"})
# Their wide forms too, as Japanese input methods write them.
_RUN_BY_SPREADSHEETS: Final = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
_MARK: Final = "'"
_MARKED: Final = (*_RUN_BY_SPREADSHEETS, _MARK)


def harmless(text: str) -> str:
    """Write a text cell so that no spreadsheet runs it; ``original`` undoes it."""
    return _MARK + text if text.startswith(_MARKED) else text


def original(cell: str) -> str:
    """Return the text that ``harmless`` was given."""
    return cell.removeprefix(_MARK)


class SealedFile:
    """A gzipped CSV file on disk, with what was written to it added up."""

    def __init__(
        self, items: Iterable[Item], schema: int = SCHEMA, tell: Callable[[Mapping[str, str]], None] | None = None
    ) -> None:
        """Write the items, which come in the order of their positions, with the columns of a schema.

        ``tell`` hears of each event when it is written.
        """
        self._columns = COLUMNS[schema]
        self.file: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed by close()
        try:
            self.sealed, self.content = self._write(items, tell or _untold)
        except BaseException:
            self.close()
            raise

    def _write(self, items: Iterable[Item], tell: Callable[[Mapping[str, str]], None]) -> tuple[Sealed, Content]:
        tallying = _Tallying()
        # No name and no time in the header: the same lines give the same bytes.
        with (
            gzip.GzipFile(filename="", mode="wb", fileobj=self.file, compresslevel=6, mtime=0) as packed,
            io.TextIOWrapper(cast("IO[bytes]", packed), encoding="utf-8", newline="") as text,
        ):
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(self._columns)
            for item in items:
                values = {name: value["S"] for name, value in item.items()}
                if values["type"] == REFUND and "refers_to" not in values:
                    values[_FLAG] = UNLINKED
                writer.writerow([_cell(name, values[name]) if name in values else "" for name in self._columns])
                tallying.add(values)
                tell(values)
        sealed = Sealed(tallying.lines, *_digest(self.file)) if tallying.lines else Sealed(0)
        return sealed, tallying.content()

    def close(self) -> None:
        """Delete the file."""
        self.file.close()


def read_lines(file: IO[bytes], schema: int | None = None) -> Iterator[dict[str, str]]:
    """Yield the values of each line of a sealed file, of one schema or (``None``) of any.

    Raises ``ValueError`` where it is none.
    """
    try:
        yield from _read_rows(file, COLUMNS.values() if schema is None else [COLUMNS[schema]])
    except (gzip.BadGzipFile, zlib.error, EOFError, csv.Error) as error:
        raise ValueError(str(error)) from error


def _read_rows(file: IO[bytes], known: Collection[tuple[str, ...]]) -> Iterator[dict[str, str]]:
    with (
        gzip.GzipFile(fileobj=file, mode="rb") as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        reader = csv.reader(text, strict=True)
        columns = tuple(next(reader, []))
        if columns not in known:
            raise ValueError(f"the columns are {columns}")
        for row in reader:
            if len(row) != len(columns):
                raise ValueError(f"line {reader.line_num} has {len(row)} cells, not {len(columns)}")
            yield {name: original(cell) if name in _TEXT else cell for name, cell in zip(columns, row, strict=True)}


class _Tallying:
    """Adds up lines as the counters do; keys are parsed once each, not once a line."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, str, str], Totals] = {}
        self._places: dict[tuple[str, str], Totals] = {}
        self.lines = 0

    def add(self, values: Mapping[str, str]) -> None:
        key = values["agency"], values["currency"], values["quarter_hour"]
        amount, commission = Decimal(values["amount"]), Decimal(values["commission"])
        self._totals[key] = self._totals.get(key, _NOTHING).plus(amount, commission)
        if (location := values.get("location")) and values["currency"] != NO_CURRENCY:
            place = location, values["currency"]
            self._places[place] = self._places.get(place, _NOTHING).plus(amount, commission)
        self.lines += 1

    def content(self) -> Content:
        accounts = {
            (Account(agency, currency), Partition.parse(partition)): totals
            for (agency, currency, partition), totals in self._totals.items()
        }
        return Content(self.lines, accounts, self._places)


def tally_lines(lines: Iterable[Mapping[str, str]]) -> Content:
    """Count lines, and add them up as the counters do, and by their places."""
    tallying = _Tallying()
    for line in lines:
        tallying.add(line)
    return tallying.content()


def _cell(name: str, value: str) -> str:
    return harmless(value) if name in _TEXT else value


def _digest(file: IO[bytes]) -> tuple[str, int]:
    size = file.tell()
    file.seek(0)
    digest = sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    file.seek(0)
    return digest.hexdigest(), size


def _untold(_: Mapping[str, str]) -> None:
    """Hear of an event and do nothing."""


_NOTHING: Final = Totals()
